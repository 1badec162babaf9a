"""Counts of programs, and ways that are as strong as their weakest part, against a walk through every run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.errors import FormatError
from treecast.files.programs import order as module
from treecast.files.programs import races
from treecast.files.programs.order import find_order, find_pairs
from treecast.files.programs.program import ORDERED, RELAXED, TOLD, TURNS, Counts, Program
from treecast.files.programs.races import Reachability, Use, Uses
from treecast.files.programs.verdict import Findings


def program(lanes, waits=(), begins=(0, 0), relaxed=()):
    """Return a program of one rank a lane, whose operations raise (+k) or lower (-k) count k - 1, or do nothing (0)."""
    changes = np.array([change for lane in lanes for change in lane], np.int64)
    lane = np.repeat(np.arange(len(lanes)), [len(each) for each in lanes])
    tied = np.array(sorted(waits), np.int64).reshape(-1, 3).T
    return Program(
        ranks=len(lanes),
        **dict.fromkeys(("rank", "lane"), lane),
        **dict(zip(("waiting", "wait", "strength"), tied, strict=True)),
        counts=Counts(
            np.where(changes > 0, changes - 1, -1),
            np.where(changes < 0, -changes - 1, -1),
            np.isin(np.arange(len(changes)), list(relaxed)),
            np.array(begins),
        ),
        where=lambda one: (f"operation {one}", (one,)),
    )


def ordered(given, **more):
    found = program(given, **more)
    return find_order(found, find_pairs(found))


def every_run(lanes, begins):
    """Yield what has ended, as numbers, at the end of each run, and which operation ended while which had."""
    firsts = np.cumsum([0, *(len(lane) for lane in lanes)]).tolist()
    seen, todo, stops, before = set(), [tuple(0 for _ in lanes)], [], set()
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        done = [(k, j) for k, stop in enumerate(at) for j in range(stop)]
        counts = list(begins)
        for k, j in done:
            if lanes[k][j]:
                counts[abs(lanes[k][j]) - 1] += 1 if lanes[k][j] > 0 else -1
        able = [
            k
            for k, stop in enumerate(at)
            if stop < len(lanes[k]) and (lanes[k][stop] >= 0 or counts[-lanes[k][stop] - 1] > 0)
        ]
        ended = {firsts[k] + j for k, j in done}
        before |= {(firsts[k] + at[k], frozenset(ended)) for k in able}
        todo += [tuple(stop + (k == one) for k, stop in enumerate(at)) for one in able]
        stops += [ended] * (not able)
    return stops, before


LANES = st.lists(st.lists(st.integers(-2, 2), min_size=1, max_size=4), min_size=2, max_size=3)


def apart(lanes, sign):
    """Whether no count is raised, or lowered, by two lanes."""
    return all(sum(sign * k in lane for lane in lanes) <= 1 for k in (1, 2))


@given(LANES, st.tuples(st.integers(0, 1), st.integers(0, 1)))
def test_what_can_happen_happens_and_what_is_said_to_come_first_does_in_every_run(lanes, begins):
    stops, before = every_run(lanes, begins)
    n = sum(map(len, lanes))
    order = ordered(lanes, begins=begins)
    ended = {one for one in range(n) if order.ends[one] >= 0}
    assert any(ended == stop for stop in stops)
    if apart(lanes, -1):  # nobody takes what another waits for, so every run comes to the same end
        assert all(ended == stop for stop in stops)
    if len(ended) < n:
        return
    reach = Reachability(order, range(n))
    said = {(a, b) for a in range(n) for b in range(n) if reach.follows(a, b, TURNS)}
    if apart(lanes, -1):
        always = {
            (a, b) for a in range(n) for b in range(n) if a != b and all(a in had for one, had in before if one == b)
        }
        assert said <= always
        if apart(lanes, 1):
            assert said == always


def test_the_nth_wait_comes_after_the_nth_signal():
    reach = Reachability(ordered([[1, 1, 1], [-1, -1, -1]]), range(6))
    for k in range(3):
        assert [reach.follows(k, wait, TOLD) for wait in (3, 4, 5)] == [j >= k for j in range(3)]


def test_operations_of_threads_of_a_lane_go_one_after_another():
    found = program([[0, 0, 0, 0]])
    object.__setattr__(found, "thread", np.array([0, 1, 0, -1]))
    assert found.before.tolist() == [-1, -1, 0, -1]


@pytest.mark.parametrize("level", [TOLD, RELAXED, ORDERED, TURNS])
def test_a_way_is_as_strong_as_its_weakest_part(level):
    reach = Reachability(ordered([[0], [0], [0]], waits=[(1, 0, level), (2, 1, TOLD)]), [0])
    assert [reach.follows(0, 2, asked) for asked in range(4)] == [asked >= level for asked in range(4)]
    assert not reach.follows(0, 0, TURNS)


@pytest.mark.parametrize("relaxed", [[0], [1], [0, 1]])
def test_relaxed_signals_and_waits_publish_nothing(relaxed):
    reach = Reachability(ordered([[1], [-1]], relaxed=relaxed), [0])
    assert not reach.follows(0, 1, TOLD)
    assert reach.follows(0, 1, RELAXED)


def test_many_sources_need_several_words():
    n = 200
    reach = Reachability(ordered([[0] * n]), range(n))
    assert all(reach.follows(a, b, TOLD) == (a < b) for a in range(n) for b in range(n))


def used(order, *uses):
    """Return the rules that uses of one buffer break."""
    found = Findings("mscclpp")
    of = {0: [Use(one, (one, 0), writes, 0, 1) for one, writes in uses]}
    Uses(found=found, order=order, of=of, launches={}, name=str, spell=lambda *_: "here").judge()
    return {rule for rule, count in found.counts.items() if count}


def test_a_write_is_published_and_a_read_only_over_before_another_write():
    for level, broken in ((TOLD, set()), (RELAXED, {"relaxed"}), (ORDERED, {"race"}), (TURNS, {"race"})):
        assert used(ordered([[0], [0]], waits=[(1, 0, level)]), (0, True), (1, False)) == broken
    for level, broken in ((TOLD, set()), (RELAXED, set()), (ORDERED, set()), (TURNS, {"race"})):
        assert used(ordered([[0], [0]], waits=[(1, 0, level)]), (0, False), (1, True)) == broken


def test_a_write_that_is_read_and_then_written_over_is_judged_beside_the_pairs_that_follow_one_another():
    """The second write comes after the read, and that after the first, which is yet not published to the second."""
    order = ordered([[0], [0], [0]], waits=[(1, 0, TOLD), (2, 1, ORDERED)])
    assert used(order, (0, True), (1, False)) == set()
    assert used(order, (1, False), (2, True)) == set()
    assert used(order, (0, True), (1, False), (2, True)) == {"race"}


def test_what_is_too_much_is_refused(monkeypatch):
    order = ordered([[1, 1], [-1, -1]])
    monkeypatch.setattr(races, "_MOST_BITS", 5)
    assert not Reachability(order, [0]).follows(0, 0, TOLD)
    with pytest.raises(FormatError, match="too large to judge: 2 of 4 parts are of one buffer"):
        Reachability(order, [0, 1])
    monkeypatch.setattr(module, "_MOST_LINKS", 3)
    with pytest.raises(FormatError, match="2 signals to 2 waits of one count are too many"):
        ordered([[1, 1], [-1, -1]])
