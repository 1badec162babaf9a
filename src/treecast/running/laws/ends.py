"""Laws of ranks that are shut, end or fall silent, and of waits."""

from threading import Event, Thread
from time import monotonic

from treecast.errors import PlanError
from treecast.running.laws.rank import DEADLINE, Rank, data_of, key_of, law, over, place_of
from treecast.running.transport.base import SMALL, Steps
from treecast.verification.laws.expecting import expect

_LIMIT = 30.0  # seconds


@law()
def who_is_shut_is_heard_no_more(me: Rank) -> Steps[None]:
    """Of a rank that was shut all tickets are over, as lost; its messages touch no memory, and watchers learn so once."""
    transport, places = me.transport, [place_of(length) for length in (4, SMALL + 1)]
    if me.rank == 0:
        yield me.hears(1)
        for number, place in enumerate(places):
            me.send(key_of(number), data_of(len(place), 1))
            me.send(key_of(10 + number), data_of(len(place), 1))  # nobody asks for these
        me.say(2)
        yield lambda: me.hears(3)() or 1 in transport.lost
        return
    me.say(1)
    tickets = [me.receive(key_of(number), place) for number, place in enumerate(places)]
    transport.shut(0, "put out")
    transport.shut(0)
    expect([(each.over, each.lost) for each in tickets], [(True, True)] * 2, "its tickets are over")
    found = me.losses, transport.lost, transport.whys
    expect(found, ([(0, False, "put out")], {0: False}, {0: "put out"}), "it is lost, once")
    expect(
        [me.send(key_of(1), b"x").lost, me.receive(key_of(5), places[0]).lost],
        [True, True],
        "it is lost for later messages",
    )
    # Nothing happens: it takes a moment to be sure of that.
    end = monotonic() + DEADLINE
    yield lambda: monotonic() > end
    expect([transport.waits(0, key_of(number)) for number in (10, 11)], [None, None], "nothing of it waits")
    expect([any(place) for place in places], [False, False], "nothing of it comes")
    me.say(3)


@law(optional=True)
def ends_are_proved(me: Rank) -> Steps[None]:
    """The end of a rank is a proof, after all that it sent before: tickets are over, as lost, and watchers learn so once."""
    if me.rank == 1:
        me.send(key_of(1), b"the last")
        me.say(1, b"words")
        yield me.hears(2)
        me.transport.close()
        return
    yield me.hears(1)
    yield me.sees(key_of(1))
    ticket, held = me.receive(key_of(2), place_of(4)), me.send(key_of(3), data_of(SMALL + 1))
    me.say(2)
    yield lambda: bool(me.losses)
    expect((me.losses[0][:2], len(me.losses), me.transport.lost), ((1, True), 1, {1: True}), "its end is proved")
    expect((ticket.over, ticket.lost, held.over, held.lost), (True,) * 4, "its tickets are over")
    place = place_of(8)
    expect((me.receive(key_of(1), place).lost, bytes(place)), (False, b"the last"), "what came before is there")
    expect(
        (me.receive(key_of(4), place).lost, me.send(key_of(5), b"x").lost),
        (True, True),
        "it is lost for later messages",
    )


@law(optional=True, deadline=DEADLINE)
def silence_is_judged(me: Rank) -> Steps[None]:
    """Who says nothing within the deadline is lost, by the word "silent"; who only waits is not."""
    if me.rank == 1:
        yield me.hears(1)
        me.stops = True
        return
    # Twice the deadline: the other waits, and must say by itself that it is alive.
    end = monotonic() + 2 * DEADLINE
    yield lambda: monotonic() > end
    expect(len(me.losses), 0, "who only waits is alive")
    me.say(1)
    yield lambda: bool(me.losses)
    expect(me.losses, [(1, False, "silent")], "who says nothing is silent")


@law(optional=True, deadline=DEADLINE)
def who_is_spared_is_not_lost(me: Rank) -> Steps[None]:
    """Where the silent are spared, their messages are over, as lost, and they are not."""
    if me.rank == 1:
        me.stops = True
        yield lambda: True
        return
    me.transport.spares = True
    ticket = me.receive(key_of(1), place_of(1))
    yield over(ticket)
    expect((ticket.lost, len(me.losses)), (True, 0), "only the message is lost")


@law()
def a_wait_ends_in_time(me: Rank) -> Steps[None]:
    """A wait ends when its time is up, and at once when what it waits for is there."""
    began = monotonic()
    me.transport.wait(lambda: False, 0.02)
    me.transport.wait(lambda: True)
    expect(monotonic() - began < _LIMIT / 2, True, "waits end in time")
    yield lambda: True


@law()
def a_wait_of_no_seconds_keeps_the_lock(me: Rank) -> Steps[None]:
    """Who looks only whether something has come keeps the lock: else who closes would wait for the side thread for ever."""
    got = Event()

    def take() -> None:
        with me.transport.lock:
            got.set()

    Thread(target=take, daemon=True).start()
    # Often enough that another thread, which only waits for the lock, would have got it.
    for _ in range(50):
        me.transport.wait(lambda: False, 0)
    expect(got.is_set(), False, "another thread has the lock")
    yield got.is_set


@law(optional=True)
def threads_wait_at_once(me: Rank) -> Steps[None]:
    """Several threads wait at once, each under the lock, for messages that come in any order."""
    if me.rank == 0:
        yield me.hears(1)
        yield over(*[me.send(key_of(number), data_of(SMALL + number)) for number in (3, 2, 1)])
        return
    places = {number: place_of(SMALL + number) for number in (1, 2, 3)}

    def receive(number: int) -> None:
        with me.transport.lock:
            ticket = me.receive(key_of(number), places[number])
            me.transport.wait(over(ticket), _LIMIT)

    threads = [Thread(target=receive, args=[number], daemon=True) for number in places]
    for thread in threads:
        thread.start()
    me.say(1)
    yield lambda: not any(thread.is_alive() for thread in threads)
    expect(
        [bytes(place) == data_of(len(place)) for place in places.values()], [True] * 3, "each thread has its message"
    )


@law(optional=True, deadline=DEADLINE)
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
    expect(len(errors), 1, "the wait ends by an error")
