"""Laws of frames of control, and of who sends some that make no sense."""

from treecast.running.laws.rank import Rank, data_of, key_of, law, over, place_of, still_talk
from treecast.running.transport.base import SMALL, FrameError, FrameKind, Key, Steps
from treecast.verification.laws.expecting import expect

_ERRORS = (ValueError, KeyError, IndexError)


@law()
def words_come_in_order_and_overtake(me: Rank) -> Steps[None]:
    """Frames of control come in their order, whole, and before messages that nobody has asked for."""
    bodies = [data_of(length, k) for k, length in enumerate((0, 1, 100, SMALL, 7))]
    if me.rank == 0:
        ticket = me.send(key_of(1), data_of(3 << 20))
        for number, body in enumerate(bodies):
            me.say(number, body)
        yield lambda: me.transport.has_said([1])
        yield over(ticket)
    else:
        yield me.hears(len(bodies) - 1)
        expect(me.words == list(enumerate(bodies)), True, "words come in their order")
        yield over(me.receive(key_of(1), place_of(3 << 20)))


@law()
def frames_that_make_no_sense_are_silence(me: Rank) -> Steps[None]:
    """Whoever sends a frame that a handler refuses, or of a kind that nobody handles, is lost, by the word "frame"."""

    def refuse(source: int, key: Key, body: bytes) -> None:
        raise FrameError("no rank sends that")

    me.transport.on(FrameKind.FETCH, refuse)
    if me.rank == 0:
        me.transport.send(1, Key(FrameKind.FETCH), b"")
        return
    ticket = me.receive(key_of(1), place_of(1))
    yield lambda: bool(me.losses)
    expect((me.losses, ticket.lost), ([(0, False, "frame")], True), "the sender is lost")


@law()
def kinds_that_nobody_handles_are_silence(me: Rank) -> Steps[None]:
    """A frame of a kind that has no handler makes no sense."""
    if me.rank == 0:
        me.transport.send(1, Key(FrameKind.FETCH), b"")
        return
    yield lambda: bool(me.losses)
    expect(me.losses, [(0, False, "frame")], "the sender is lost")


@law()
def errors_of_handlers_are_this_ranks_own(me: Rank) -> Steps[None]:
    """An error of a handler is told, and raised in the wait; the sender is not lost, and its next frames are handled."""
    told, raised = _fail(me), list[Exception]()
    # Each wait may raise one error; the frames behind it have to be heard all the same.
    while me.rank and not me.hears(1)():
        try:
            yield me.hears(1)
        except _ERRORS as error:
            raised.append(error)
    yield from _outlived(me, told)
    expect(
        all(error in told for error in raised) and bool(raised) == bool(me.rank), True, "the wait raises what was told"
    )


@law(optional=True)
def the_side_thread_outlives_errors(me: Rank) -> Steps[None]:
    """So it is where nobody waits: the side thread tells the error, and answers on."""
    told = _fail(me)
    me.transport.start()
    me.stops = bool(me.rank)
    if me.rank:
        yield me.hears(1)
    me.stops = False
    yield from _outlived(me, told)


def _fail(me: Rank) -> list[Exception]:
    """Have handlers of one rank fail, and frames sent to it; return the errors that it is told, as they come."""
    told = list[Exception]()

    def fail(source: int, key: Key, body: bytes) -> None:
        raise _ERRORS[key.call]("of its own")

    me.transport.on_error = told.append
    me.transport.on(FrameKind.FETCH, fail)
    if me.rank == 0:
        for call in range(len(_ERRORS)):
            me.transport.send(1, Key(FrameKind.FETCH, call), b"")
        me.say(1)
    return told


def _outlived(me: Rank, told: list[Exception]) -> Steps[None]:
    """Check that each error was told, and that both ranks hear each other after it."""
    if me.rank:
        expect(tuple(map(type, told)), _ERRORS, "each error is told")
        me.say(2)
    else:
        yield me.hears(2)
    yield from still_talk(me)
    expect((len(me.losses), len(me.transport.lost)), (0, 0), "nobody is lost")
