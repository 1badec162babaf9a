"""Streams over links keep the laws of every carrier."""

import contextlib

import pytest

from tests.transport.test_laws import join
from treecast.running.laws import transports
from treecast.running.transport.links import Links
from treecast.running.transport.sockets import Sockets


@contextlib.contextmanager
def over_links(size, deadline):
    """Join two ranks by a third, which passes on what they say to each other."""
    (zero, two), (one, also_two) = join(), join()
    socks = [{2: zero}, {2: one}, {0: two, 1: also_two}]
    links = [Links(Sockets(rank, 3, ends, deadline)) for rank, ends in enumerate(socks)]
    every = [Sockets(rank, 3, each.streams, deadline, selector=each) for rank, each in enumerate(links)]
    every[2].start()
    try:
        yield every[:2]
    finally:
        for each in every:
            each.close()


@pytest.mark.parametrize("name", transports.LAWS)
def test_streams_over_links_keep_the_laws(name):
    transports.check_law(name, over_links)
