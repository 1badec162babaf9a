"""Whether calls on several groups can hang: public patterns, and every run of small programs, one by one."""

import random
import tracemalloc

import pytest

import treecast
from treecast.files.programs.meetings import GroupCall, find_deadlock, read_calls


def hangs(calls, members, slots):
    """Try all runs: a state says of each rank which of its calls are over, and which have a slot."""
    ranks = range(4)
    mine = [[call for call in calls if call.rank == rank] for rank in ranks]
    nth = [[(c.group, [d.group for d in own[:i]].count(c.group)) for i, c in enumerate(own)] for own in mine]

    def may_begin(rank, call, over):
        own = mine[rank]
        return all(
            over >> early & 1 for early in range(call) if own[early].stream == own[call].stream or own[early].waits
        )

    todo = seen = {tuple((0, 0) for _ in ranks)}
    while todo:
        fresh = set()
        for state in todo:
            after = set()
            for rank, (over, under) in enumerate(state):
                for call in range(len(mine[rank])):
                    begins = not (over | under) >> call & 1 and under.bit_count() < slots
                    if begins and may_begin(rank, call, over):
                        after.add((*state[:rank], (over, under | 1 << call), *state[rank + 1 :]))
            for meeting in {meeting for own in nth for meeting in own}:
                at = {rank: nth[rank].index(meeting) if meeting in nth[rank] else -1 for rank in members[meeting[0]]}
                if all(call >= 0 and state[rank][1] >> call & 1 for rank, call in at.items()):
                    moved = [
                        (over | 1 << at[rank], under & ~(1 << at[rank])) if rank in at else (over, under)
                        for rank, (over, under) in enumerate(state)
                    ]
                    after.add(tuple(moved))
            if not after and any(over != (1 << len(own)) - 1 for (over, _), own in zip(state, mine, strict=True)):
                return True
            fresh |= after
        todo = fresh - seen
        seen = seen | todo
    return False


def make_program(rng):
    """Return calls of up to 4 ranks on up to 3 groups, up to 6 meetings, two of one rank perhaps the other way round."""
    ranks = rng.randint(2, 4)
    members = {f"g{k}": sorted(rng.sample(range(ranks), rng.randint(2, ranks))) for k in range(rng.randint(1, 3))}
    meetings, streams = rng.choices(sorted(members), k=rng.randint(1, 6)), {name: rng.choice("abc") for name in members}
    calls = []
    for rank in range(ranks):
        own = [name for name in meetings if rank in members[name]]
        if len(own) > 1 and rng.random() < 0.5:
            place = rng.randrange(len(own) - 1)
            own[place : place + 2] = own[place + 1], own[place]
        if own and rng.random() < 0.05:
            own.pop()
        calls += [GroupCall(rank, name, streams[name], rng.random() < 0.15) for name in own]
    return calls, members


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_verdicts_are_those_of_all_runs(slots):
    rng, kinds = random.Random(slots), set()
    for _ in range(120):
        calls, members = make_program(rng)
        if calls:
            found = find_deadlock(calls, members, slots)
            assert found.kind != "unknown"
            assert found.holds != hangs(calls, members, slots), (calls, members, found)
            kinds.add(found.kind)
    assert kinds >= {"cannot", "always"}


def test_what_always_hangs_does_with_any_number_of_slots():
    rng, circles = random.Random(0), 0
    for _ in range(150):
        calls, members = make_program(rng)
        if calls and find_deadlock(calls, members).kind == "always":
            circles += 1
            assert hangs(calls, members, 6)
    assert circles > 5


def test_the_safe_order_is_one_of_each_rank_on_one_stream():
    rng, tried = random.Random(1), 0
    for _ in range(100):
        calls, members = make_program(rng)
        order = find_deadlock(calls, members).order if calls else ()
        for_each = [GroupCall(rank, group) for rank in range(4) for group, _ in order if rank in members[group]]
        if order:
            tried += 1
            assert sorted((c.rank, c.group) for c in for_each) == sorted((c.rank, c.group) for c in calls)
            assert not hangs(for_each, members, 1)
    assert tried > 50


def both(*, streams="ab", order=("ab", "ab")):
    return [GroupCall(rank, group, streams["ab".index(group)]) for rank in (0, 1) for group in order[rank]]


@pytest.mark.parametrize(
    ("calls", "slots", "kind", "says"),
    [
        (both(), 1, "may", "rank 0 holds call 1 of a and waits there for rank 1"),
        (both(), 2, "cannot", ""),
        (both(streams="ss"), 1, "cannot", ""),
        (both(order=("ab", "ba")), 1, "may", "rank 1 holds call 1 of b and waits there for rank 0"),
        (both(order=("ab", "ba"), streams="ss"), 2, "always", "rank 0 ends call 1 of a before it begins call 1 of b"),
        (both(order=("ab", "bab")), 1, "always", ""),
    ],
)
def test_two_communicators_of_two_ranks(calls, slots, kind, says):
    """What bug reports tell of two communicators at once: one kernel at a time, another order, a call more."""
    found = find_deadlock(calls, slots=slots)
    assert found.kind == kind
    assert not says or says in found.lines


def test_three_groups_in_a_ring_always_hang():
    calls = [GroupCall(rank, group, "s", True) for rank, own in enumerate(("ac", "ba", "cb")) for group in own]
    found = find_deadlock(calls, slots=3)
    assert (found.kind, len(found.lines)) == ("always", 3)


def test_a_mesh_of_64_ranks_has_a_knot_of_four():
    def ask(slots):
        return treecast.deadlock("allreduce tp + allreduce dp", "tp8,dp8", times=50, slots=slots)

    assert ask(2).holds
    assert (ask(1).kind, len(ask(1).lines)) == ("may", 4)


def test_records_of_a_job_are_a_program(tmp_path):
    from tests.records.jobs import make_job, write

    dumps, _ = make_job(1, "none")
    found = treecast.deadlock(write(tmp_path / "records", dumps))
    assert found.calls == sum(len(dump["entries"]) for dump in dumps.values())
    assert found.order
    crossed = find_deadlock([GroupCall(rank, group) for rank, own in enumerate(("ab", "ba")) for group in own])
    assert crossed.kind == "always"
    del dumps[0]
    with pytest.raises(treecast.FormatError, match="rank 0 lacks calls"):
        treecast.deadlock(write(tmp_path / "some", dumps))


def test_what_has_too_many_ways_to_fill_slots_is_not_known():
    """Eleven more of 29 calls are 34,597,290 ways, of which no more are made than are looked at."""
    calls = [GroupCall(rank, f"g{k}", f"g{k}") for rank in (0, 1) for k in range(30)]
    assert find_deadlock(calls, slots=12).kind == "unknown"


def test_members_that_do_not_call_hang_the_others():
    calls, members = read_calls("g = 0-1, 2\n0: g\n1: g")
    found = find_deadlock(calls, members)
    assert (found.kind, found.text) == ("always", "rank 2 calls g 0 times, and rank 0 1 times")


def test_ranks_with_large_numbers_take_no_more_memory_than_others():
    calls = [GroupCall(rank, f"g{k}") for rank in (0, 9_999_999) for k in range(40)]
    tracemalloc.start()
    try:
        assert find_deadlock(calls).kind == "cannot"
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 tp", "line 1 is no call"),
        ("0: tp\n0: tp a b c", "line 2 is no call"),
        ("", "there are no calls"),
        ("g = 0-9999999", "line 1: all groups together have at most"),
        ("a = 0-699999\nb = 5-3, 0-699999", "line 2: all groups together have at most"),
    ],
)
def test_bad_lines_are_named(text, says):
    with pytest.raises(treecast.FormatError, match=says):
        read_calls(text)
