"""Frames between two ends of a connection: of any length, in any order, and what no rank sends."""

import socket
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.running.transport import cma as reading
from treecast.running.transport.base import SMALL, FrameError, FrameKind, Key
from treecast.running.transport.cma import Mark, PeerMemory
from treecast.running.transport.sockets import Sockets
from treecast.running.transport.wire import AHEAD, FRAME, HEAD

LENGTHS = [0, 1, 4096, 4097, SMALL, SMALL + 1, FRAME, FRAME + 1, 3 * FRAME + 17]


def join():
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]


@pytest.fixture(params=[False, True], ids=["wire", "memory"])
def cma(request):
    """Whether ranks read one another's memory."""
    return request.param


@pytest.fixture
def ends(cma):
    """Return the transports of two ranks, and what came for handlers and watchers."""
    one, other = join()
    pair, heard = (Sockets(0, 2, {1: one}, cma=cma), Sockets(1, 2, {0: other}, cma=cma)), []
    for transport in pair:
        transport.on(FrameKind.STATE, lambda source, key, body: heard.append((key, body)))
        transport.watch(lambda *said: heard.append(said))
    yield *pair, heard
    for transport in pair:
        transport.close()


def move(one, other, until):
    for _ in range(10_000):
        if until():
            return
        one.progress(0)
        other.progress(0.001)
    raise AssertionError("nothing more comes")


@pytest.mark.parametrize("asked_first", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_message_of_any_length_comes_to_its_place(ends, length, asked_first):
    one, other, _ = ends
    sent = np.random.default_rng(length).integers(0, 256, length, np.uint8)
    place, key = np.zeros(length, np.uint8), Key(FrameKind.DATA, 7, 1, 2)
    if asked_first:
        received, ticket = other.receive(0, key, place.data), one.send(1, key, sent.data)
    else:
        ticket = one.send(1, key, sent.data)
        move(one, other, lambda: other.waits(0, key) == length)
        received = other.receive(0, key, place.data)
    move(one, other, lambda: received.over and ticket.over)
    assert (received.length, received.lost, ticket.lost) == (length, False, False)
    assert (place == sent).all()


@pytest.mark.parametrize("lengths", [(10, 20), (10, 2 * FRAME), (2 * FRAME, 10), (FRAME, 2 * FRAME)])
def test_a_message_of_another_length_is_told_and_drops_nothing_else(ends, lengths):
    one, other, heard = ends
    key, place = Key(FrameKind.DATA, 1), np.zeros(lengths[1], np.uint8)
    ticket = one.send(1, key, np.ones(lengths[0], np.uint8).data)
    received = other.receive(0, key, place.data)
    move(one, other, lambda: received.over and ticket.over)
    assert received.length == lengths[0]
    assert not place.any()
    one.send(1, Key(FrameKind.STATE, 3), b"then")
    move(one, other, lambda: bool(heard))
    assert heard == [(Key(FrameKind.STATE, 3), b"then")]


@pytest.mark.parametrize("cma", [False])
def test_control_overtakes_data(ends):
    one, other, heard = ends
    place, key = np.zeros(64 * FRAME, np.uint8), Key(FrameKind.DATA, 1)
    received = other.receive(0, key, place.data)
    one.send(1, key, np.ones(64 * FRAME, np.uint8).data)
    for _ in range(20):
        one.progress(0.001)
    one.send(1, Key(FrameKind.STATE, 2), b"at once")
    move(one, other, lambda: bool(heard))
    assert not received.over
    move(one, other, lambda: received.over)
    assert place.all()


@pytest.mark.parametrize("cma", [False])
def test_nothing_touches_memory_after_a_rank_is_shut(ends):
    one, other, heard = ends
    place, key = np.zeros(8 * FRAME, np.uint8), Key(FrameKind.DATA, 1)
    received = other.receive(0, key, place.data)
    ticket = one.send(1, key, np.ones(8 * FRAME, np.uint8).data)
    move(one, other, lambda: place.any())
    other.shut(0)
    assert received.lost
    assert heard == [(0, False, "shut")]
    kept = place.copy()
    move(one, other, lambda: ticket.over)
    assert (place == kept).all()


@pytest.mark.parametrize("cma", [True])
def test_what_is_read_from_memory_counts_only_while_its_owner_offers_it(ends):
    one, other, _ = ends
    key, sent, place = Key(FrameKind.DATA, 1), np.ones(2 * FRAME, np.uint8), np.zeros(2 * FRAME, np.uint8)
    move(one, other, lambda: one._wires[1]._memory is not None and other._wires[0]._memory is not None)
    ticket = one.send(1, key, sent.data)
    move(one, other, lambda: other.waits(0, key) == len(sent))
    one.shut(1)  # it goes on with its memory, and the other does not know yet
    received = other.receive(0, key, place.data)
    for _ in range(20):
        one.progress(0)
        other.progress(0.001)
    assert ticket.lost
    assert not received.over


@pytest.mark.parametrize("cma", [True])
def test_a_message_goes_by_the_wire_where_memory_cannot_be_read_any_more(ends):
    one, other, _ = ends
    key, sent, place = Key(FrameKind.DATA, 1), np.ones(2 * FRAME, np.uint8), np.zeros(2 * FRAME, np.uint8)
    move(one, other, lambda: one._wires[1]._memory is not None and other._wires[0]._memory is not None)
    other._wires[0]._memory._pid = 1 << 30
    received, ticket = other.receive(0, key, place.data), one.send(1, key, sent.data)
    move(one, other, lambda: received.over and ticket.over)
    assert (place == sent).all()


def test_a_process_lets_others_read_it_once_and_only_when_it_tells_them_where(monkeypatch):
    asked = []
    monkeypatch.setattr(reading.ctypes, "CDLL", lambda _: SimpleNamespace(prctl=lambda *words: asked.append(words[0])))
    reading._let_read.cache_clear()
    seen = []
    for reads in (False, True, True):
        one, other = join()
        transport = Sockets(0, 2, {1: one}, cma=reads)
        seen.append(len(asked))
        transport.close()
        other.close()
    assert seen == [0, 1, 1]
    assert asked == [reading._PTRACER]


def test_a_process_that_is_another_is_not_read():
    mark = Mark()
    assert PeerMemory(mark.told()).is_reached
    mark._memory[:8] = bytes(8)
    assert not PeerMemory(mark.told()).is_reached


def test_the_end_of_a_connection_is_a_proof_after_what_came_before(ends):
    one, other, heard = ends
    key = Key(FrameKind.DATA, 1)
    one.send(1, key, b"the last")
    one.close()
    move(other, other, lambda: bool(heard))
    assert heard == [(0, True, "eof")]
    place = bytearray(8)
    assert not other.receive(0, key, memoryview(place)).lost
    assert bytes(place) == b"the last"
    assert other.receive(0, key._replace(call=2), memoryview(place)).lost


def frame(kind, body=b"", length=None, **of):
    key = Key(kind, **of)
    size = len(body) if length is None else length
    return HEAD.pack(kind, key.instance, key.about, key.call, key.group, key.stage, size, 0) + body


HOSTILE = {
    "a kind that is none": frame(99),
    "control that is too long": frame(FrameKind.STATE, length=SMALL + 1),
    "data that was not asked for": frame(FrameKind.DATA, length=SMALL + 1),
    "four gigabytes": frame(FrameKind.DATA, length=(1 << 32) - 1),
    "an offer without a length": frame(FrameKind.OFFER, b"12"),
    "a process that is none": frame(FrameKind.NEAR, b"12"),
    "the same twice": frame(FrameKind.DATA, b"x") * 2,
    "more than is buffered": b"".join(frame(FrameKind.DATA, bytes(SMALL), call=k) for k in range(AHEAD // SMALL + 1)),
    "a frame that a handler refuses": frame(FrameKind.STATE, b"no state"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_rank_sends_ends_its_connection_and_counts_as_silence(name):
    one, other = join()
    heard, transport = [], Sockets(1, 2, {0: other})
    transport.watch(lambda *said: heard.append(said))

    def refuse(source, key, body):
        raise FrameError("no state")

    transport.on(FrameKind.STATE, refuse)
    one.setblocking(False)
    left = memoryview(HOSTILE[name])
    for _ in range(10_000):
        if heard:
            break
        if left:
            left = left[one.send(left[: 1 << 16]) :]
        transport.progress(0.001)
    assert heard == [(0, False, "frame")]
    one.close()
    transport.close()


@given(st.lists(st.binary(max_size=60), max_size=6), st.binary(max_size=200))
def test_any_bytes_end_in_frames_or_in_silence(bodies, noise):
    one, other = join()
    heard, transport = [], Sockets(1, 2, {0: other})
    transport.watch(lambda *said: heard.append(said))
    frames = []
    transport.on(FrameKind.STATE, lambda source, key, body: frames.append(body))
    one.sendall(b"".join(frame(FrameKind.STATE, body) for body in bodies) + noise)
    one.close()
    for _ in range(1000):
        if heard:
            break
        transport.progress(0.001)
    both = min(len(frames), len(bodies))  # noise ends the connection at once
    assert frames[:both] == bodies[:both]
    assert heard[0][0] == 0
    transport.close()


def test_the_end_waits_for_the_side_thread(monkeypatch):
    one, other = join()
    wrong, moves, transport = [], threading.Event(), Sockets(1, 2, {0: other})
    monkeypatch.setattr(threading, "excepthook", wrong.append)

    def progress(seconds, move=transport.progress):
        moves.set()
        time.sleep(0.1)
        move(seconds)

    monkeypatch.setattr(transport, "progress", progress)
    transport.start()
    assert moves.wait(10)
    transport.close()
    transport._helper.join(10)
    assert not wrong
    one.close()


def test_tickets_of_a_rank_that_nobody_knows_are_lost():
    transport = Sockets(0, 2, {})
    assert transport.send(1, Key(FrameKind.DATA), b"x").lost
    assert transport.receive(1, Key(FrameKind.DATA), memoryview(bytearray(1))).lost
    transport.close()
