"""Errors of handlers as a user sees them, and connections in the child of a fork."""

import os

from tests.transport.test_laws import two_ends
from treecast.running.transport.base import FrameKind, Key


def test_an_error_of_a_handler_is_one_traceback_on_standard_error(capfd):
    with two_ends()(2, None) as (one, other), other.lock:

        def fail(source, key, body):
            raise KeyError("of its own")

        other.on(FrameKind.STATE, fail)
        one.send(1, Key(FrameKind.STATE), b"")
        raised = []
        while not raised:
            try:
                other.wait(lambda: False, 0)
            except KeyError as error:
                raised.append(error)
        other.wait(lambda: False, 0)
        assert not other.lost
    said = capfd.readouterr().err
    assert said.count("Traceback") == 1
    assert said.endswith("KeyError: 'of its own'\n")


def test_a_child_of_a_fork_keeps_no_connection_open():
    with two_ends()(2, None) as (one, other):
        ends = os.pipe()
        child = os.fork()
        if not child:
            os.close(ends[1])
            os.read(ends[0], 1)  # until the parent has closed its end
            os._exit(0)
        one.close()
        with other.lock:
            other.wait(lambda: bool(other.lost), 20)
        assert (other.lost, other.whys) == ({0: True}, {0: "eof"})
        assert os.waitpid(child, os.WNOHANG) == (0, 0)  # it lives
        for end in ends:
            os.close(end)
        os.waitpid(child, 0)
