"""The laws of a transport, as programs of its ranks. Whatever keeps them carries every collective, and survives as sockets do.

A law is a generator for each rank, which yields the events that the rank waits for. ``check_law`` has all ranks of a law in one
process, and moves them by turns; ``check_rank`` carries out the part of one rank, where each is a process. A few laws are
``OPTIONAL``: a carrier that has no such thing leaves them out.

Examples
--------
>>> import contextlib, socket
>>> from treecast.testing import transports
>>> from treecast.transport.sockets import Sockets
>>> @contextlib.contextmanager
... def make(size, deadline):
...     with socket.create_server(("127.0.0.1", 0)) as server:
...         ends = socket.create_connection(server.getsockname()), server.accept()[0]
...     both = [Sockets(rank, size, {1 - rank: ends[rank]}, deadline) for rank in range(size)]
...     try:
...         yield both
...     finally:
...         for transport in both:
...             transport.close()
>>> transports.check_law("bytes_come_to_their_places", make)

With pytest, one test is all of it: ``@pytest.mark.parametrize("name", transports.LAWS)`` above a function that calls
``check_law(name, make)``.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import product
from threading import Event, Thread
from time import monotonic
from typing import Any, NamedTuple

from treecast.errors import PlanError
from treecast.transport.base import DIRECT, SMALL, FrameError, Key, Kind, Steps, Ticket, Transport, Until

LENGTHS = (0, 1, SMALL, SMALL + 1, 3 << 20)
"""Bytes of messages that the laws send."""

_LIMIT = 30.0  # seconds that a law may take
_LOOK = 1e-3
_DEADLINE = 0.15

Make = Callable[[int, float | None], AbstractContextManager[Sequence[Transport]]]
"""Makes the transports of so many ranks, with a deadline, none of which has been used; and ends them."""


class Rank:
    """A rank that carries out its part of a law.

    ``words``: the numbers and bytes of frames that it has heard, in their order. ``losses``: what its watcher was told.
    ``stops``: nothing moves it any more.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport, self.rank, self.stops = transport, transport.rank, False
        self.words: list[tuple[int, bytes]] = []
        self.losses: list[tuple[int, bool, str]] = []
        transport.on(Kind.STATE, lambda source, key, body: self.words.append((key.call, body)))
        transport.watch(lambda *said: self.losses.append(said))

    @property
    def other(self) -> int:
        """The other rank of two."""
        return 1 - self.rank

    def say(self, number: int, body: bytes = b"") -> None:
        """Say a word to the other rank."""
        ticket = self.transport.send(self.other, Key(Kind.STATE, number), body)
        _expect(ticket.over, True, "a frame of control is over at once")

    def hears(self, number: int) -> Until:
        """Return whether a word has come, as an event."""
        return lambda: any(word == number for word, _ in self.words)

    def sees(self, key: Key) -> Until:
        """Return whether a message waits to be asked for, as an event."""
        return lambda: self.transport.waits(self.other, key) is not None

    def send(self, key: Key, data: Any, lent: bool = False) -> Ticket:
        """Send a message to the other rank."""
        return self.transport.send(self.other, key, data, lent)

    def receive(self, key: Key, place: Any) -> Ticket:
        """Receive a message from the other rank."""
        return self.transport.receive(self.other, key, place)


class Law(NamedTuple):
    """The part of each rank, and the deadline of the transports."""

    part: Callable[[Rank], Steps[None]]
    deadline: float | None


LAWS: dict[str, Law] = {}
"""All laws by name."""

OPTIONAL = set[str]()
"""The names of laws that a carrier may leave out."""


def _law(optional: bool = False, deadline: float | None = None) -> Callable[[Callable[[Rank], Steps[None]]], None]:
    def enter(part: Callable[[Rank], Steps[None]]) -> None:
        LAWS[part.__name__] = Law(part, deadline)
        if optional:
            OPTIONAL.add(part.__name__)

    return enter


def check_transport(make: Make, without: Sequence[str] = ()) -> None:
    """Check all laws but some optional ones. Raises AssertionError for a law that is broken, PlanError for a name that is none.

    ``make(size, deadline)``: a context that yields the transports of so many ranks, all in this process.
    """
    for name in without:
        if name not in OPTIONAL:
            raise PlanError(f"{name} is no optional law: those are {', '.join(sorted(OPTIONAL))}")
    for name in LAWS:
        if name not in without:
            check_law(name, make)


def check_law(name: str, make: Make) -> None:
    """Check one law by its name. Raises AssertionError when it is broken, or has not ended in 30 seconds."""
    law = LAWS[name]
    with make(2, law.deadline) as transports:
        ranks = [Rank(transport) for transport in transports]
        parts = {rank.rank: law.part(rank) for rank in ranks}
        untils: dict[int, Until] = dict.fromkeys(parts, lambda: True)
        end = monotonic() + _LIMIT
        while untils:
            if monotonic() > end:
                raise AssertionError(f"{name}: ranks {sorted(untils)} still wait after {_LIMIT:g} seconds")
            for rank in ranks:
                with rank.transport.lock:
                    _go_on(rank, parts[rank.rank], untils)


def check_rank(name: str, transport: Transport) -> None:
    """Carry out the part of one rank of a law, where each is a process; all ranks do so. Raises as ``check_law`` does.

    ``transport``: one that has not been used, of two ranks, with the deadline that ``LAWS`` tells.
    """
    rank = Rank(transport)
    part, untils, end = LAWS[name].part(rank), dict[int, Until]({rank.rank: lambda: True}), monotonic() + _LIMIT
    while untils:
        if monotonic() > end:
            raise AssertionError(f"{name}: rank {rank.rank} still waits after {_LIMIT:g} seconds")
        with transport.lock:
            _go_on(rank, part, untils)


def _go_on(rank: Rank, part: Steps[None], untils: dict[int, Until]) -> None:
    """Go on with a part as far as it comes, and move bytes; errors of the wait are raised where the part waits."""
    here = rank.rank
    try:
        while here in untils and untils[here]():
            untils[here] = next(part)
        if not (rank.stops or rank.transport.is_closed):
            try:
                rank.transport.wait(lambda: False, _LOOK)
            except Exception as error:
                untils[here] = part.throw(error)
    except StopIteration:
        untils.pop(here, None)


def _expect(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise AssertionError(f"{what}: there is {found!r}, not {wanted!r}")


def _data(length: int, seed: int = 0) -> bytes:
    return (bytes(range(251)) * (length // 251 + 2))[seed % 251 :][:length]


def _place(length: int) -> memoryview:
    return memoryview(bytearray(length))


def _key(call: int, **more: int) -> Key:
    return Key(Kind.DATA, call)._replace(**more)


def _over(*tickets: Ticket) -> Until:
    return lambda: all(ticket.over for ticket in tickets)


# -- messages ------------------------------------------------------------------------------------------------------------


@_law()
def bytes_come_to_their_places(me: Rank) -> Steps[None]:
    """Messages of all lengths come to their places, asked for before they are sent, or after; ``waits`` tells of those."""
    for number, (length, asked_first) in enumerate(product(LENGTHS, (True, False)), 1):
        key, data = _key(number), _data(length, number)
        if me.rank == 0:
            if asked_first:
                yield me.hears(number)
            ticket = me.send(key, data)
            yield _over(ticket)
            _expect(ticket.lost, False, f"a message of {length} bytes was sent")
            continue
        if not asked_first:
            yield me.sees(key)
            _expect(me.transport.waits(0, key), length, "waits tells the length")
        place = _place(length)
        ticket = me.receive(key, place)
        me.say(number)
        yield _over(ticket)
        _expect((ticket.lost, ticket.length, place == data), (False, length, True), f"a message of {length} bytes")
        _expect(me.transport.waits(0, key), None, "a message that was received waits no more")


@_law()
def messages_go_by_their_keys(me: Rank) -> Steps[None]:
    """Messages that are under way at once come to the places of their keys, in whatever order they are asked for."""
    yield from _mixed(
        me, [_key(call, stage=stage, group=group) for call, stage, group in product((1, 2), (0, 3), (0, 1))]
    )


@_law(optional=True)
def messages_go_by_all_of_their_keys(me: Rank) -> Steps[None]:
    """So do those whose keys differ in ``about`` alone."""
    yield from _mixed(me, [_key(1, about=about) for about in range(8)])


def _mixed(me: Rank, keys: Sequence[Key]) -> Steps[None]:
    """Send messages of these keys, and receive them in the opposite order."""
    lengths = [(5, SMALL + 9)[k % 2] for k in range(len(keys))]
    if me.rank == 0:
        sent = [me.send(key, _data(length, k)) for k, (key, length) in enumerate(zip(keys, lengths, strict=True))]
        yield _over(*sent)
        return
    places = [_place(length) for length in lengths]
    backward = [me.receive(key, place) for key, place in reversed(list(zip(keys, places, strict=True)))]
    yield _over(*backward)
    found = [place == _data(length, k) for k, (place, length) in enumerate(zip(places, lengths, strict=True))]
    _expect(found, [True] * len(keys), "each message is in its place")


@_law()
def another_length_is_told_and_dropped(me: Rank) -> Steps[None]:
    """A message of another length than its place is dropped; its ticket tells the length, and later messages come."""
    yield from _other_lengths(me, [(10, 20), (20, 10), (10, 2 * SMALL), (2 * SMALL, 3 * SMALL), (0, 8)])


@_law(optional=True)
def a_longer_message_is_told_and_dropped(me: Rank) -> Steps[None]:
    """So is a long message that is longer than its place; nothing is written behind it."""
    yield from _other_lengths(me, [(2 * SMALL, 10), (3 * SMALL, 2 * SMALL)])


def _other_lengths(me: Rank, cases: Sequence[tuple[int, int]]) -> Steps[None]:
    for number, (sent, room) in enumerate(cases, 1):
        key = _key(number)
        if me.rank == 0:
            yield _over(me.send(key, _data(sent, 1)))
            continue
        place = _place(room)
        ticket = me.receive(key, place)
        yield _over(ticket)
        found = ticket.lost, ticket.length, any(place)
        _expect(found, (False, sent, False), f"{sent} bytes where {room} are received")


@_law()
def nowhere_drops_a_message(me: Rank) -> Steps[None]:
    """A message that is received into None is dropped, whatever its length; its ticket is over, and later messages come."""
    for number, length in enumerate(LENGTHS, 1):
        if me.rank == 0:
            yield _over(me.send(_key(number), _data(length)))
        else:
            ticket = me.receive(_key(number), None)
            yield _over(ticket)
            _expect(ticket.lost, False, "a message was dropped")
    yield from _still_talk(me)


@_law()
def what_is_direct_waits_until_it_is_asked_for(me: Rank) -> Steps[None]:
    """Long messages, and all of ``DIRECT``, are over only when the other rank has asked for them."""
    keys = {_key(1, instance=DIRECT): 4, _key(2): 3 << 20}
    if me.rank == 0:
        tickets = [me.send(key, _data(length)) for key, length in keys.items()]
        me.say(1)
        yield me.hears(1)
        _expect([ticket.over for ticket in tickets], [False, False], "they wait")
        me.say(2)
        yield _over(*tickets)
        return
    yield me.hears(1)
    me.say(1)
    yield me.hears(2)
    yield _over(*[me.receive(key, _place(length)) for key, length in keys.items()])


@_law(optional=True)
def what_is_small_is_buffered(me: Rank) -> Steps[None]:
    """Messages up to ``SMALL`` are over though nobody has asked for them."""
    if me.rank == 0:
        yield _over(*[me.send(_key(number), _data(length)) for number, length in enumerate((0, 1, SMALL))])
        me.say(1)
    else:
        yield me.hears(1)
        yield _over(*[me.receive(_key(number), _place(length)) for number, length in enumerate((0, 1, SMALL))])


@_law()
def what_is_lent_is_taken_back(me: Rank) -> Steps[None]:
    """The memory of a message that was lent is its sender's again when that takes it back, and is not read any more."""
    for number, is_read in ((1, True), (2, False)):
        key, data, place = _key(number), bytearray(_data(3 << 20)), _place(3 << 20)
        if me.rank == 0:
            ticket = me.send(key, memoryview(data), lent=True)
            if is_read or ticket.lent is None:
                me.say(number, b"read")
                yield me.hears(number)
            if ticket.lent is None:
                yield _over(ticket)
            else:
                ticket.lent(is_read)
                _expect((ticket.over, ticket.lost), (True, not is_read), "what was lent is taken back")
                data[:] = bytes(len(data))
                me.say(number, b"read" if is_read else b"gone")
            continue
        yield me.hears(number)
        ticket = me.receive(key, place)
        if (number, b"read") in me.words:
            yield _over(ticket)
            _expect((ticket.lost, place == _data(3 << 20)), (False, True), "what is lent was read")
            me.say(number)
        else:
            yield from _still_talk(me)
            _expect(ticket.over and not ticket.lost, False, "what was taken back comes all the same")
            return
    if me.rank == 0 and ticket.lent is not None:
        yield from _still_talk(me)


@_law()
def a_message_is_cancelled(me: Rank) -> Steps[None]:
    """A message that is awaited no more is over, as lost; it touches no memory when it comes, and others come."""
    places = [_place(length) for length in (4, SMALL + 1, 4)]
    if me.rank == 0:
        yield me.hears(1)
        for number, place in enumerate(places):
            sent = me.send(_key(number), _data(len(place), 1))
        yield _over(sent)
        return
    tickets = [me.receive(_key(number), place) for number, place in enumerate(places)]
    for number in (0, 1):
        me.transport.cancel(0, _key(number))
        me.transport.cancel(0, _key(9 + number))  # which nobody awaits
    _expect([(each.over, each.lost) for each in tickets[:2]], [(True, True)] * 2, "what is cancelled is over")
    me.say(1)
    yield _over(tickets[2])
    _expect([any(place) for place in places], [False, False, True], "only the third place was written")


@_law()
def all_of_a_rank_is_cancelled(me: Rank) -> Steps[None]:
    """All messages from a rank, and to it, are over, as lost; the rank is not."""
    if me.rank == 0:
        yield me.hears(1)
        me.say(2)
        return
    tickets = [me.receive(_key(1), _place(SMALL + 1)), me.receive(_key(2), None), me.send(_key(3), _data(SMALL + 1))]
    me.transport.cancel(0)
    _expect([(each.over, each.lost) for each in (tickets[0], tickets[2])], [(True, True)] * 2, "they are over")
    me.say(1)
    yield me.hears(2)
    _expect(me.losses, [], "the rank is not lost")


@_law()
def old_messages_are_forgotten(me: Rank) -> Steps[None]:
    """Messages of later calls, and of other groups, come though those before them were forgotten."""
    keys = [_key(1, group=1), _key(2), _key(3)]
    if me.rank == 0:
        for key in (_key(1), *keys):
            me.send(key, _data(9, key.call))
        long = me.send(_key(2, stage=1), _data(SMALL + 1))
        me.say(1)
        yield _over(long)
        return
    yield me.hears(1)
    me.transport.forget(2, 0)
    places = [_place(9) for _ in keys]
    tickets = [me.receive(key, place) for key, place in zip(keys, places, strict=True)]
    tickets.append(me.receive(_key(2, stage=1), _place(SMALL + 1)))
    yield _over(*tickets)
    _expect([place == _data(9, key.call) for key, place in zip(keys, places, strict=True)], [True] * 3, "they come")


# -- frames --------------------------------------------------------------------------------------------------------------


@_law()
def words_come_in_order_and_overtake(me: Rank) -> Steps[None]:
    """Frames of control come in their order, whole, and before messages that nobody has asked for."""
    bodies = [_data(length, k) for k, length in enumerate((0, 1, 100, SMALL, 7))]
    if me.rank == 0:
        ticket = me.send(_key(1), _data(3 << 20))
        for number, body in enumerate(bodies):
            me.say(number, body)
        yield lambda: me.transport.has_said([1])
        yield _over(ticket)
    else:
        yield me.hears(len(bodies) - 1)
        _expect(me.words == list(enumerate(bodies)), True, "words come in their order")
        yield _over(me.receive(_key(1), _place(3 << 20)))


@_law()
def frames_that_make_no_sense_are_silence(me: Rank) -> Steps[None]:
    """Whoever sends a frame that a handler refuses, or of a kind that nobody handles, is lost, by the word "frame"."""

    def refuse(source: int, key: Key, body: bytes) -> None:
        raise FrameError("no rank sends that")

    me.transport.on(Kind.FETCH, refuse)
    if me.rank == 0:
        me.transport.send(1, Key(Kind.FETCH), b"")
        return
    ticket = me.receive(_key(1), _place(1))
    yield lambda: bool(me.losses)
    _expect((me.losses, ticket.lost), ([(0, False, "frame")], True), "the sender is lost")


@_law()
def kinds_that_nobody_handles_are_silence(me: Rank) -> Steps[None]:
    """A frame of a kind that has no handler makes no sense."""
    if me.rank == 0:
        me.transport.send(1, Key(Kind.FETCH), b"")
        return
    yield lambda: bool(me.losses)
    _expect(me.losses, [(0, False, "frame")], "the sender is lost")


@_law()
def errors_of_handlers_are_this_ranks_own(me: Rank) -> Steps[None]:
    """An error of a handler is told, and raised in the wait; the sender is not lost, and its next frames are handled."""
    kinds, told, raised = (ValueError, KeyError, IndexError), list[Exception](), list[Exception]()

    def fail(source: int, key: Key, body: bytes) -> None:
        raise kinds[key.call]("of its own")

    me.transport.on_error = told.append
    me.transport.on(Kind.FETCH, fail)
    if me.rank == 0:
        for call in range(len(kinds)):
            me.transport.send(1, Key(Kind.FETCH, call), b"")
        me.say(1)
        yield me.hears(2)
        return
    while not me.hears(1)():
        try:
            yield me.hears(1)
        except kinds as error:
            raised.append(error)
    _expect(tuple(map(type, told)), kinds, "each error is told")
    _expect(bool(raised) and all(error in told for error in raised), True, "the wait raises what was told")
    _expect((me.losses, me.transport.lost), ([], {}), "nobody is lost")
    me.say(2)


# -- ends ----------------------------------------------------------------------------------------------------------------


@_law()
def who_is_shut_is_heard_no_more(me: Rank) -> Steps[None]:
    """Of a rank that was shut all tickets are over, as lost; its messages touch no memory, and watchers learn so once."""
    transport, places = me.transport, [_place(length) for length in (4, SMALL + 1)]
    if me.rank == 0:
        yield me.hears(1)
        for number, place in enumerate(places):
            me.send(_key(number), _data(len(place), 1))
            me.send(_key(10 + number), _data(len(place), 1))
        me.say(2)
        yield lambda: me.hears(3)() or 1 in transport.lost
        return
    me.say(1)
    tickets = [me.receive(_key(number), place) for number, place in enumerate(places)]
    transport.shut(0, "put out")
    transport.shut(0)
    _expect([(each.over, each.lost) for each in tickets], [(True, True)] * 2, "its tickets are over")
    found = me.losses, transport.lost, transport.whys
    _expect(found, ([(0, False, "put out")], {0: False}, {0: "put out"}), "it is lost, once")
    _expect(
        [me.send(_key(1), b"x").lost, me.receive(_key(5), places[0]).lost],
        [True, True],
        "it is lost for later messages",
    )
    end = monotonic() + _DEADLINE
    yield lambda: monotonic() > end
    _expect([transport.waits(0, _key(number)) for number in (10, 11)], [None, None], "nothing of it waits")
    _expect([any(place) for place in places], [False, False], "nothing of it comes")
    me.say(3)


@_law(optional=True)
def ends_are_proved(me: Rank) -> Steps[None]:
    """The end of a rank is a proof, after all that it sent before: tickets are over, as lost, and watchers learn so once."""
    if me.rank == 1:
        me.send(_key(1), b"the last")
        me.say(1, b"words")
        yield me.hears(2)
        me.transport.close()
        return
    yield me.hears(1)
    yield me.sees(_key(1))
    ticket, held = me.receive(_key(2), _place(4)), me.send(_key(3), _data(SMALL + 1))
    me.say(2)
    yield lambda: bool(me.losses)
    _expect((me.losses[0][:2], len(me.losses), me.transport.lost), ((1, True), 1, {1: True}), "its end is proved")
    _expect((ticket.over, ticket.lost, held.over, held.lost), (True,) * 4, "its tickets are over")
    place = _place(8)
    _expect((me.receive(_key(1), place).lost, bytes(place)), (False, b"the last"), "what came before is there")
    _expect(
        (me.receive(_key(4), place).lost, me.send(_key(5), b"x").lost), (True, True), "it is lost for later messages"
    )


@_law(optional=True, deadline=_DEADLINE)
def silence_is_judged(me: Rank) -> Steps[None]:
    """Who says nothing within the deadline is lost, by the word "silent"; who only waits is not."""
    if me.rank == 1:
        yield me.hears(1)
        me.stops = True
        return
    end = monotonic() + 2 * _DEADLINE
    yield lambda: monotonic() > end
    _expect(me.losses, [], "who only waits is alive")
    me.say(1)
    yield lambda: bool(me.losses)
    _expect(me.losses, [(1, False, "silent")], "who says nothing is silent")


@_law(optional=True, deadline=_DEADLINE)
def who_is_spared_is_not_lost(me: Rank) -> Steps[None]:
    """Where the silent are spared, their messages are over, as lost, and they are not."""
    if me.rank == 1:
        me.stops = True
        yield lambda: True
        return
    me.transport.spares = True
    ticket = me.receive(_key(1), _place(1))
    yield _over(ticket)
    _expect((ticket.lost, me.losses), (True, []), "only the message is lost")


@_law()
def a_wait_ends_in_time(me: Rank) -> Steps[None]:
    """A wait ends when its time is up, and at once when what it waits for is there."""
    began = monotonic()
    me.transport.wait(lambda: False, 0.02)
    me.transport.wait(lambda: True)
    _expect(monotonic() - began < _LIMIT / 2, True, "waits end in time")
    yield lambda: True


@_law(optional=True)
def threads_wait_at_once(me: Rank) -> Steps[None]:
    """Several threads wait at once, each under the lock, for messages that come in any order."""
    if me.rank == 0:
        yield me.hears(1)
        yield _over(*[me.send(_key(number), _data(SMALL + number)) for number in (3, 2, 1)])
        return
    places = {number: _place(SMALL + number) for number in (1, 2, 3)}

    def receive(number: int) -> None:
        with me.transport.lock:
            ticket = me.receive(_key(number), places[number])
            me.transport.wait(_over(ticket), _LIMIT)

    threads = [Thread(target=receive, args=[number], daemon=True) for number in places]
    for thread in threads:
        thread.start()
    me.say(1)
    yield lambda: not any(thread.is_alive() for thread in threads)
    _expect([place == _data(len(place)) for place in places.values()], [True] * 3, "each thread has its message")


@_law(optional=True, deadline=_DEADLINE)
def close_ends_waits(me: Rank) -> Steps[None]:
    """A wait of another thread ends by PlanError when the transport is closed."""
    if me.rank == 0:
        yield lambda: bool(me.losses)
        return
    begins, errors = Event(), list[Exception]()

    def wait() -> None:
        with me.transport.lock:
            begins.set()
            try:
                me.transport.wait(lambda: False, _LIMIT)
            except PlanError as error:
                errors.append(error)

    thread = Thread(target=wait, daemon=True)
    thread.start()
    yield begins.is_set
    me.transport.close()
    yield lambda: not thread.is_alive()
    _expect(len(errors), 1, "the wait ends by an error")


def _still_talk(me: Rank) -> Steps[None]:
    """Say something to each other, so all that was under way before it has come."""
    me.say(1000)
    yield me.hears(1000)
