"""Events and counts: what can happen happens, and an order is known only where no run can do without it."""

import pytest

from treecast.errors import FormatError
from treecast.programs import events as module
from treecast.programs.events import ORDERED, RELAXED, TOLD, TURNS, Change, Events

SIGNAL = (0, "memory", 1)


def counted(raised, lowered, begins=0):
    """Return events of which lane r raises a count and lane l lowers it, each so often, and their numbers."""
    found = Events({SIGNAL: begins})
    ends = [], []
    for lane, (count, table, own) in enumerate(
        zip((raised, lowered), (found.raised, found.lowered), ends, strict=True)
    ):
        for _ in range(count):
            own.append(found.add(*own[-1:]))
            table[SIGNAL].append(Change(own[-1], lane, plain=True))
    return found, *ends


def reaches(events, before, after, level):
    """Whether one event comes after another, where nothing else is asked."""
    return events.reach([after]).reaches(before, after, level)


def test_the_nth_wait_comes_after_the_nth_signal():
    found, signals, waits = counted(3, 3)
    assert len(found.run()) == 6
    for k, signal in enumerate(signals):
        assert [reaches(found, signal, wait, TOLD) for wait in waits] == [j >= k for j in range(3)]
    found, signals, waits = counted(2, 3, begins=1)
    assert len(found.run()) == 5
    assert not reaches(found, signals[0], waits[0], TURNS)
    assert reaches(found, signals[0], waits[1], TOLD)


def test_a_wait_for_what_nobody_signals_never_happens():
    found, signals, waits = counted(1, 2)
    after = found.add(waits[-1])
    assert sorted(found.run()) == sorted([*signals, waits[0]])
    blocked, free = Events({}), Events({})
    for one in (blocked, free):
        one.add(one.add())
    blocked.block(0)
    assert (blocked.run(), free.run()) == ([], [0, 1])
    assert after not in found.run()


def test_a_circle_never_happens():
    found = Events({})
    first = found.add()
    second = found.add(first)
    found.link(second, first, TURNS)
    assert found.run() == []


@pytest.mark.parametrize("level", [TOLD, RELAXED, ORDERED, TURNS])
def test_a_way_is_as_strong_as_its_weakest_part(level):
    found = Events({})
    first, second, third = found.add(), found.add(), found.add()
    found.link(first, second, level)
    found.link(second, third)
    found.run()
    assert [reaches(found, first, third, asked) for asked in range(4)] == [asked >= level for asked in range(4)]


def test_relaxed_signals_and_waits_publish_nothing():
    for plain in ((True, False), (False, True)):
        found = Events({})
        signal, wait = found.add(), found.add()
        found.raised[SIGNAL].append(Change(signal, 0, plain[0]))
        found.lowered[SIGNAL].append(Change(wait, 1, plain[1]))
        assert found.run() == [signal, wait]
        assert not reaches(found, signal, wait, TOLD)
        assert reaches(found, signal, wait, RELAXED)


def test_with_two_who_signal_neither_is_needed():
    """One wait, and two lanes that signal: it passes with either."""
    found = Events({})
    signals, wait = [found.add(), found.add()], found.add()
    for lane, signal in enumerate(signals):
        found.raised[SIGNAL].append(Change(signal, lane, plain=True))
    found.lowered[SIGNAL].append(Change(wait, 2, plain=True))
    assert len(found.run()) == 3
    assert not any(reaches(found, signal, wait, TURNS) for signal in signals)


def test_too_many_events_are_refused(monkeypatch):
    monkeypatch.setattr(module, "_MOST_EVENTS", 2)
    found = Events({})
    found.add(found.add())
    with pytest.raises(FormatError, match="more than 2 parts to order"):
        found.add()


def test_targets_are_numbered_as_they_are_given():
    found = Events({})
    first, second, third = found.add(), found.add(), found.add()
    found.link(first, third)
    found.run()
    reach = found.reach([third, second, third])
    assert [reach.follow(event, TOLD) for event in (first, second, third)] == [1, 2, 1]
    assert (reach.bits([second]), reach.bits([second, third, second])) == (2, 3)


def test_too_many_targets_are_refused(monkeypatch):
    monkeypatch.setattr(module, "_MOST_BITS", 5)
    found = Events({})
    found.add(found.add(found.add()))
    assert found.reach([0]).place == {0: 0}
    with pytest.raises(FormatError, match="too large to judge: 2 of 3 parts are of one buffer"):
        found.reach([0, 1])
