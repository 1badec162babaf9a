"""Every carrier keeps the laws of a transport."""

import contextlib
import socket

import pytest

from treecast.testing import transports
from treecast.transport.sockets import Sockets


def join():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return socket.create_connection(server.getsockname()), server.accept()[0]


def over_sockets(cma):
    @contextlib.contextmanager
    def make(size, deadline):
        ends = join()
        both = [Sockets(rank, size, {1 - rank: ends[rank]}, deadline, cma=cma) for rank in range(size)]
        yield both
        for each in both:
            each.close()

    return make


MAKERS = {"sockets": over_sockets(False), "memory": over_sockets(True)}


@pytest.mark.parametrize("carrier", MAKERS)
@pytest.mark.parametrize("name", transports.LAWS)
def test_carriers_keep_the_laws(name, carrier):
    transports.check_law(name, MAKERS[carrier])
