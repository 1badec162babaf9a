"""Laws of messages: each comes to the place of its key, is dropped, cancelled, lent or forgotten."""

from collections.abc import Sequence
from itertools import product

from treecast.running.laws.rank import Rank, data_of, key_of, law, over, place_of, still_talk
from treecast.running.transport.base import DIRECT, SMALL, Key, Steps
from treecast.verification.laws.expecting import expect

LENGTHS = (0, 1, SMALL, SMALL + 1, 3 << 20)  # a void, the least, the two sides of what is buffered, several frames
"""Bytes of messages."""


@law()
def bytes_come_to_their_places(me: Rank) -> Steps[None]:
    """Messages of all lengths come to their places, asked for before they are sent, or after; ``waits`` tells of those."""
    for number, (length, asked_first) in enumerate(product(LENGTHS, (True, False)), 1):
        key, data = key_of(number), data_of(length, number)
        if me.rank == 0:
            if asked_first:
                yield me.hears(number)
            ticket = me.send(key, data)
            yield over(ticket)
            expect(ticket.lost, False, f"a message of {length} bytes was sent")
            continue
        if not asked_first:
            yield me.sees(key)
            expect(me.transport.waits(0, key), length, "waits tells the length")
        place = place_of(length)
        ticket = me.receive(key, place)
        me.say(number)
        yield over(ticket)
        expect(
            (ticket.lost, ticket.length, bytes(place) == data), (False, length, True), f"a message of {length} bytes"
        )
        expect(me.transport.waits(0, key), None, "a message that was received waits no more")


@law()
def messages_go_by_their_keys(me: Rank) -> Steps[None]:
    """Messages that are under way at once come to the places of their keys, in whatever order they are asked for."""
    yield from _mixed(
        me, [key_of(call, stage=stage, group=group) for call, stage, group in product((1, 2), (0, 3), (0, 1))]
    )


@law(optional=True)
def messages_go_by_all_of_their_keys(me: Rank) -> Steps[None]:
    """So do those whose keys differ in ``about`` alone."""
    yield from _mixed(me, [key_of(1, about=about) for about in range(8)])


def _mixed(me: Rank, keys: Sequence[Key]) -> Steps[None]:
    """Send messages of these keys, and receive them in the opposite order."""
    # buffered and long ones in turn
    lengths = [(5, SMALL + 9)[k % 2] for k in range(len(keys))]
    if me.rank == 0:
        sent = [me.send(key, data_of(length, k)) for k, (key, length) in enumerate(zip(keys, lengths, strict=True))]
        yield over(*sent)
        return
    places = [place_of(length) for length in lengths]
    backward = [me.receive(key, place) for key, place in reversed(list(zip(keys, places, strict=True)))]
    yield over(*backward)
    found = [bytes(place) == data_of(length, k) for k, (place, length) in enumerate(zip(places, lengths, strict=True))]
    expect(found, [True] * len(keys), "each message is in its place")


@law()
def another_length_is_told_and_dropped(me: Rank) -> Steps[None]:
    """A message of another length than its place is dropped; its ticket tells the length, and later messages come."""
    yield from _other_lengths(me, [(10, 20), (20, 10), (10, 2 * SMALL), (2 * SMALL, 3 * SMALL), (0, 8)])


@law(optional=True)
def a_longer_message_is_told_and_dropped(me: Rank) -> Steps[None]:
    """So is a long message that is longer than its place; nothing is written behind it."""
    yield from _other_lengths(me, [(2 * SMALL, 10), (3 * SMALL, 2 * SMALL)])


def _other_lengths(me: Rank, cases: Sequence[tuple[int, int]]) -> Steps[None]:
    for number, (sent, room) in enumerate(cases, 1):
        key = key_of(number)
        if me.rank == 0:
            yield over(me.send(key, data_of(sent, 1)))
            continue
        place = place_of(room)
        ticket = me.receive(key, place)
        yield over(ticket)
        found = ticket.lost, ticket.length, any(place)
        expect(found, (False, sent, False), f"{sent} bytes where {room} are received")


@law()
def what_is_direct_waits_until_it_is_asked_for(me: Rank) -> Steps[None]:
    """Long messages, and all of ``DIRECT``, are over only when the other rank has asked for them."""
    keys = {key_of(1, instance=DIRECT): 4, key_of(2): 3 << 20}
    if me.rank == 0:
        tickets = [me.send(key, data_of(length)) for key, length in keys.items()]
        me.say(1)
        # an answer to later words: what is buffered would be over by now
        yield me.hears(1)
        expect([ticket.over for ticket in tickets], [False, False], "they wait")
        me.say(2)
        yield over(*tickets)
        return
    yield me.hears(1)
    me.say(1)
    yield me.hears(2)
    yield over(*[me.receive(key, place_of(length)) for key, length in keys.items()])


@law(optional=True)
def what_is_small_is_buffered(me: Rank) -> Steps[None]:
    """Messages up to ``SMALL`` are over though nobody has asked for them."""
    if me.rank == 0:
        yield over(*[me.send(key_of(number), data_of(length)) for number, length in enumerate((0, 1, SMALL))])
        me.say(1)
    else:
        yield me.hears(1)
        yield over(*[me.receive(key_of(number), place_of(length)) for number, length in enumerate((0, 1, SMALL))])


@law()
def what_is_lent_is_taken_back(me: Rank) -> Steps[None]:
    """The memory of a message that was lent is its sender's again when that takes it back, and is not read any more."""
    for number, is_read in ((1, True), (2, False)):
        key, data, place = key_of(number), bytearray(data_of(3 << 20)), place_of(3 << 20)
        if me.rank == 0:
            ticket = me.send(key, memoryview(data), lent=True)
            # A carrier need not lend: then the message goes as any.
            if is_read or ticket.lent is None:
                me.say(number, b"read")
                yield me.hears(number)
            if ticket.lent is None:
                yield over(ticket)
            else:
                ticket.lent(is_read)
                expect((ticket.over, ticket.lost), (True, not is_read), "what was lent is taken back")
                # whoever reads it from now on has other bytes
                data[:] = bytes(len(data))
                me.say(number, b"read" if is_read else b"gone")
            continue
        yield me.hears(number)
        ticket = me.receive(key, place)
        if (number, b"read") in me.words:
            yield over(ticket)
            expect((ticket.lost, bytes(place) == data_of(3 << 20)), (False, True), "what is lent was read")
            me.say(number)
        else:
            yield from still_talk(me)
            expect(ticket.over and not ticket.lost, False, "what was taken back comes all the same")
            return
    if me.rank == 0 and ticket.lent is not None:
        yield from still_talk(me)


@law()
def a_message_is_cancelled(me: Rank) -> Steps[None]:
    """A message that is awaited no more is over, as lost; it touches no memory when it comes, and others come."""
    places = [place_of(length) for length in (4, SMALL + 1, 4)]
    if me.rank == 0:
        yield me.hears(1)
        sent = [me.send(key_of(number), data_of(len(place), 1)) for number, place in enumerate(places)]
        yield over(sent[-1])
        return
    tickets = [me.receive(key_of(number), place) for number, place in enumerate(places)]
    for number in (0, 1):
        me.transport.cancel(0, key_of(number))
        me.transport.cancel(0, key_of(9 + number))  # which nobody awaits
    expect([(each.over, each.lost) for each in tickets[:2]], [(True, True)] * 2, "what is cancelled is over")
    me.say(1)
    yield over(tickets[2])
    expect([any(place) for place in places], [False, False, True], "only the third place was written")


@law()
def all_of_a_rank_is_cancelled(me: Rank) -> Steps[None]:
    """All messages from a rank, and to it, are over, as lost; the rank is not."""
    if me.rank == 0:
        yield me.hears(1)
        me.say(2)
        return
    tickets = [me.receive(key_of(1), place_of(SMALL + 1)), me.send(key_of(3), data_of(SMALL + 1))]
    me.transport.cancel(0)
    expect([(each.over, each.lost) for each in tickets], [(True, True)] * 2, "they are over")
    me.say(1)
    yield me.hears(2)
    expect(len(me.losses), 0, "the rank is not lost")


@law()
def old_messages_are_forgotten(me: Rank) -> Steps[None]:
    """Messages of later calls, and of other groups, come though those before them were forgotten."""
    keys = [key_of(1, group=1), key_of(2), key_of(3)]
    if me.rank == 0:
        for key in (key_of(1), *keys):
            me.send(key, data_of(9, key.call))
        long = me.send(key_of(2, stage=1), data_of(SMALL + 1))
        me.say(1)
        yield over(long)
        return
    yield me.hears(1)
    me.transport.forget(2, 0)
    places = [place_of(9) for _ in keys]
    tickets = [me.receive(key, place) for key, place in zip(keys, places, strict=True)]
    tickets.append(me.receive(key_of(2, stage=1), place_of(SMALL + 1)))
    yield over(*tickets)
    expect(
        [bytes(place) == data_of(9, key.call) for key, place in zip(keys, places, strict=True)], [True] * 3, "they come"
    )
