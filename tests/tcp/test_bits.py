"""The bits of sums: one pattern by the order of ranks, or by mathematics, whatever the network, the size, and who dies."""

from math import fsum

import numpy as np
import pytest

import treecast
from tests.tcp.threads import DeathError, die_at, run_ranks
from treecast import Accumulator, network
from treecast.collectives import COLLECTIVES
from treecast.errors import PlanError
from treecast.running.engine.choose import AT_OWNERS, OVERHEAD, Operation, SumWay, chunks_in, seconds_of, way_of_sum
from treecast.tcp import library as mpi

SIZES = (1, 999, 20_001, 70_000)


def given(rank, count, dtype="f4"):
    """Numbers of widths far apart, in which the order of additions shows."""
    random = np.random.default_rng(rank)
    return (random.standard_normal(count) * 10.0 ** random.integers(-6, 1 if dtype == "f2" else 6, count)).astype(dtype)


def in_order(rows):
    total = rows[0].copy()
    for row in rows[1:]:
        total += row
    return total


def truly(rows):
    """The true sums, rounded once: to float64 and, as few are so near to a tie, to the type."""
    return np.array([fsum(column) for column in np.array(rows, float).T.tolist()]).astype(rows[0].dtype)


RIGHT = {"by-rank": in_order, "exact": truly}


def every_sum(comm):
    said = []
    for count in SIZES:
        mine, ranks = given(comm.rank, count), range(comm.size)
        total, prefix, before = np.empty_like(mine), np.empty_like(mine), mine.copy()
        comm.Allreduce(mine, total)
        said.append((total.tobytes(), comm.last.bits))
        comm.Allreduce(mpi.IN_PLACE, before)
        assert (before == total).all()
        comm.Reduce(mine, before if comm.rank == 1 else None, root=1)
        assert comm.rank != 1 or (before == total).all()
        comm.Scan(mine, prefix)
        right = RIGHT[comm.terms.sums]([given(rank, count)[:500] for rank in ranks[: comm.rank + 1]])
        assert prefix[:500].tobytes() == right.tobytes()
        counts = [count // 2, 0, *[0] * (comm.size - 3), count - count // 2]
        block, first = np.empty(counts[comm.rank], "f4"), sum(counts[: comm.rank])
        comm.Reduce_scatter(mine, block, counts)
        assert (block == total[first : first + len(block)]).all()
    return said


@pytest.mark.slow
@pytest.mark.parametrize("sums", RIGHT)
@pytest.mark.parametrize(
    ("spec", "size"), [(None, 4), ("ring:5", 5), ("torus:4x2", 8), ("complete:4", 4), ("star:3", 6)]
)
def test_one_pattern_on_every_network(sums, spec, size):
    found = run_ranks(size, every_sum, spec=spec, sums=sums)
    assert all(each == found[0] for each in found)
    for count, (total, bits) in zip(SIZES, found[0], strict=True):
        assert bits == sums
        assert total[:4000] == RIGHT[sums]([given(rank, count)[:1000] for rank in range(size)]).tobytes()


def types(comm):
    said = []
    for dtype in ("f2", "f8", ">f4", "c8", "c16"):
        mine = given(comm.rank, 40_000, dtype)
        total = np.empty_like(mine)
        comm.Allreduce(mine, total)
        said.append(total.tobytes())
    comm.Allreduce(np.arange(3), total := np.zeros(3, int))
    return [*said, comm.last.bits, total.tolist()]


@pytest.mark.parametrize("sums", RIGHT)
def test_types_have_one_pattern_with_and_without_a_network(sums):
    straight, ring = (run_ranks(4, types, spec=spec, sums=sums) for spec in (None, "ring:4"))
    assert all(each == straight[0] for each in straight + ring)
    assert straight[0][-2:] == ["exact", [0, 4, 8]]


def signs(comm, library=mpi):
    """Find the greatest and the least of zeros and nans at each place of messages of several lengths; return the signs."""
    said = set()
    for count in (1, 7, 100, 9_001):
        for value in (0.0, np.nan):
            mine, out = np.full(count, -value if comm.rank % 2 else value, "f4"), np.empty(count, "f4")
            for op in (library.MAX, library.MIN):
                comm.Allreduce(mine, out, op)
                said.add((value == 0, *np.unique(out.view("u4")).tolist()))
    return sorted(said)


@pytest.mark.parametrize("spec", [None, "ring:4"])
def test_the_greatest_of_zeros_and_nans_is_that_of_the_first_rank(spec):
    first = [np.array([value], "f4").view("u4").tolist()[0] for value in (np.nan, 0.0)]
    assert run_ranks(4, signs, spec=spec) == [[(False, first[0]), (True, first[1])]] * 4


def dies_after(frames, count=30_000):
    """Return a program in which rank 2 dies at a frame in a row of sums; it returns the patterns."""

    def program(comm):
        if comm.rank == 2:
            die_at(comm, frames)
        said = []
        for _ in range(3):
            comm.Allreduce(given(comm.rank, count), total := np.empty(count, "f4"))
            said.append(total[:500].tobytes())
        return said

    return program


@pytest.mark.parametrize("sums", RIGHT)
@pytest.mark.parametrize("frames", [3, 9, 16, 30])
def test_deaths_leave_the_pattern_of_a_set_of_ranks(monkeypatch, sums, frames):
    monkeypatch.setenv("TREECAST_RATE", "1e9")
    found = run_ranks(4, dies_after(frames), spec="ring:4", sums=sums)
    rest = [found[rank] for rank in (0, 1, 3)]
    assert all(each == rest[0] for each in rest), found
    whole, less = (
        RIGHT[sums]([given(rank, 30_000)[:500] for rank in ranks]).tobytes() for ranks in ((0, 1, 2, 3), (0, 1, 3))
    )
    assert rest[0] in ([less] * k and [whole] * (3 - k) + [less] * k for k in range(4)) or rest[0] == [whole] * 3


def far(comm):
    """Sum numbers of one width and of widths far apart, by calls on which some ranks die; return the patterns."""
    said = []
    for wide in (False, True, False):
        rows = apart(comm.rank, wide)
        for root in (None, 2):
            total = np.empty_like(rows)
            if root is None:
                comm.Allreduce(rows, total)
            else:
                comm.Reduce(rows, total if comm.rank == root else None, root=root)
            said.append((wide, root, total.tobytes()))
    return said


def apart(rank, wide, count=40_000):
    """Numbers that one float64 adds, if not ``wide``, but for a few."""
    numbers = np.random.default_rng(rank).standard_normal(count).astype("f4")
    numbers[:: 1 if wide else 999] = given(rank, len(numbers[:: 1 if wide else 999]))
    return numbers


def judge_far(found, sums, dead=()):
    """Check that each sum is that of one set of eight ranks at all that have it: of all, and then of those that live."""
    sets, came = [range(8), [rank for rank in range(8) if rank not in dead]], list[int]()
    for call in range(6):
        wide, root, _ = found[0][call]
        (pattern,) = {found[rank][call][2][:8000] for rank in sets[-1] if root in (None, rank)}
        right = [RIGHT[sums]([apart(rank, wide)[:2000] for rank in some]).tobytes() for some in sets]
        came.append(right.index(pattern))
    assert came == sorted(came)


@pytest.mark.parametrize("sums", RIGHT)
@pytest.mark.parametrize("survive", [0, 1])
def test_far_rings_have_the_pattern_of_owners(monkeypatch, sums, survive):
    """By rank along a chain, exact as partial sums, some of which are marked, few, or nearly all."""
    monkeypatch.setenv("TREECAST_RATE", "1e9")
    judge_far(run_ranks(8, far, spec="ring:8", sums=sums, survive=survive), sums)


@pytest.mark.parametrize("sums", RIGHT)
@pytest.mark.parametrize("frames", [5, 12, 20, 33, 60, 150])
def test_deaths_on_far_rings_leave_the_pattern_of_a_set_of_ranks(monkeypatch, sums, frames):
    monkeypatch.setenv("TREECAST_RATE", "1e9")

    def program(comm):
        if comm.rank == 5:
            die_at(comm, frames)
        return far(comm)

    found = run_ranks(8, program, spec="ring:8", sums=sums)
    judge_far(found, sums, (5,))


@pytest.mark.parametrize(
    ("spec", "size", "rate", "by_rank", "exact"),
    [
        ("complete:8", 16 << 20, 0.0, AT_OWNERS, False),
        ("ring:4", 1 << 20, 6e6, AT_OWNERS, False),
        ("ring:8", 1 << 20, 6e6, SumWay("allreduce", by_rank=True), False),
        ("ring:8", 1 << 16, 6e6, AT_OWNERS, False),
        ("ring:16", 1 << 20, 6e6, SumWay("allreduce", by_rank=True), True),
        ("hypercube:3", 1 << 20, 6e6, AT_OWNERS, False),
        ("torus:8x8", 1 << 24, 6e6, AT_OWNERS, True),
        ("mesh:4x4", 1 << 20, 6e6, AT_OWNERS, False),  # priced by plans that take a second, not twenty
    ],
)
def test_a_price_chooses_between_ways_of_the_same_bits(spec, size, rate, by_rank, exact):
    where, kind = network(spec), COLLECTIVES["allreduce"]
    ways = [way_of_sum(kind, where, size, rate, exact=each, model="all-port") for each in (False, True)]
    assert (ways[0], ways[1].is_partial) == (by_rank, exact)


@pytest.mark.parametrize(("kind", "by_rank"), [("allreduce", False), ("allreduce", True), ("alltoall", False)])
@pytest.mark.parametrize("size", [40_000, 300_000])
def test_prices_are_those_of_the_plans_themselves(kind, by_rank, size):
    what, rate = Operation(kind, network("ring:8"), 0, by_rank=by_rank), 6e6
    count = chunks_in(what, size, rate)
    steps = treecast.plan(kind, "ring:8", messages=count, by_rank=by_rank).steps
    assert seconds_of(what, size, rate) == pytest.approx(steps * (size / count / rate + OVERHEAD), rel=0.15)


def permuted(comm):
    said, total = [], np.empty(30_000, "f4")
    for rank in range(comm.size):
        comm.Allreduce(given((comm.rank + rank) % comm.size, len(total)), total)
        said.append(total.tobytes())
    return said


def test_exact_sums_do_not_know_who_has_what():
    found = run_ranks(4, permuted, spec="ring:4", sums="exact")
    assert {pattern for said in found for pattern in said} == {found[0][0]}


def refused(comm):
    said, out = [], np.zeros(4, "f4")
    for mine, op in ((out, mpi.PROD), (out, mpi.Op.Create(lambda one, other, _: None)), (np.zeros(4, "g"), mpi.SUM)):
        try:
            comm.Allreduce(mine, mine.copy(), op)
        except PlanError as error:
            said.append(str(error).split(":")[0])
    comm.Allreduce(out, out.copy(), mpi.MAX)
    return [*said, comm.last.bits]


def test_sums_that_are_not_exact_are_refused():
    rest = "sums='exact' has SUM and AVG of floats to 64 bits, not"
    said = [f"{rest} PROD of float32", f"{rest} of a function of float32", f"{rest} SUM of {np.dtype('g')}", "by-rank"]
    assert run_ranks(3, refused, sums="exact") == [said] * 3


def accumulated(shares):
    """Return a program in which rank r adds some of eight arrays, and all sum them up."""

    def program(comm):
        said = []
        for dtype in ("f4", "f8", "c8", "f2"):
            total = Accumulator(np.zeros((20, 1500), dtype))
            for each in shares[comm.rank]:
                total.add(given(each, 30_000, dtype).reshape(20, 1500))
            found = total.allreduce(comm)
            assert (found.dtype, found.shape) == (np.dtype(dtype), (20, 1500))
            said.append(found.tobytes())
        return said, comm.last.bits

    return program


def test_accumulators_have_the_same_bits_however_arrays_are_dealt_out():
    dealt = ([range(8)], [range(5), range(5, 8)], [(7, 2), (), (3, 1, 0), (6, 5, 4)])
    found = [each for shares in dealt for each in run_ranks(len(shares), accumulated(shares), spec=None)]
    found += run_ranks(4, accumulated(dealt[-1]), spec="ring:4")
    assert all(each == found[0] for each in found)
    (singles, *_), bits = found[0]
    assert bits == "exact"
    assert singles[:4000] == truly([given(rank, 30_000)[:1000] for rank in range(8)]).tobytes()


def test_accumulators_hold_sums_of_any_width():
    total, each = Accumulator(np.zeros(3)), [1.7e308, 5e-324, -1.7e308, 1.0, 1e-200, np.inf]
    for value in each[:5]:
        total.add(np.array([value, -0.0, value]))
    total.add(np.array([1.7e308, -0.0, np.inf]))
    total.add(np.array([-1.7e308, -0.0, 1.0]))
    copy = Accumulator(np.zeros(3))
    copy.load_state_dict(total.state_dict())
    (found,) = run_ranks(1, lambda comm: copy.allreduce(comm))
    assert found.tolist() == [1.0, 0.0, np.inf]
    assert np.signbit(found[1])


def unlike(comm):
    with pytest.raises(PlanError, match="one shape and type"):
        Accumulator(np.zeros(3 + comm.rank)).allreduce(comm)


def test_unlike_accumulators_are_refused_at_all():
    assert run_ranks(2, unlike) == [None, None]
    with pytest.raises(PlanError, match="not int64"):
        Accumulator(np.zeros(3, int))


# One pattern of bits on 16 ranks, by size, offset and network, when two die in the calls too.


RANKS, SIZES_SLOW = 16, (200, 1_000, 20_000, 100_000)


NETWORKS = (None, "ring:16", "torus:4x4", "hypercube:4")


def patterns(comm, sizes=SIZES_SLOW):
    """Sum 64 numbers of widths far apart at three offsets in messages of some sizes; return the bits of their sums."""
    found = []
    for size in sizes:
        for offset in (0, (size - 64) // 2, size - 64):
            mine, out = np.ones(size, np.float32), np.empty(size, np.float32)
            mine[offset : offset + 64] = given(comm.rank, 64)
            comm.Allreduce(mine, out)
            found.append(out[offset : offset + 64].tobytes())
    return found


def right(sums, ranks):
    return RIGHT[sums]([given(rank, 64) for rank in ranks]).tobytes()


def judge(sums, found, dead):
    """Check the patterns of eight ranks, of which at most two died: of all, then without one, then without both.

    They are the same at all that live, in one place of the row.
    """
    rest = [found[rank] for rank in range(8) if rank not in dead]
    assert all(each == rest[0] for each in rest), rest
    sets = [set(range(8)) - set(gone) for gone in ((), dead[:1], dead[1:], dead)]
    known = {right(sums, sorted(living)): len(living) for living in sets}
    sizes = [known[pattern] for pattern in rest[0]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("sums", RIGHT)
@pytest.mark.parametrize("spec", NETWORKS)
def test_sixteen_ranks_have_one_pattern(monkeypatch, sums, spec):
    monkeypatch.setenv("TREECAST_RATE", "1e9")
    found = run_ranks(RANKS, patterns, spec=spec, sums=sums)
    assert {pattern for said in found for pattern in said} == {right(sums, range(RANKS))}


def dying(frames):
    """Return a program in which two ranks die, each at a frame of data, in a row of sums."""

    def program(comm):
        if comm.rank in frames:
            die_at(comm, frames[comm.rank])
        return patterns(comm, (20_000, 20_000))

    return program


@pytest.mark.slow
@pytest.mark.parametrize("sums", RIGHT)
@pytest.mark.parametrize("spec", ["torus:4x2", "hypercube:3"])
@pytest.mark.parametrize("frames", [{2: 4, 5: 4}, {2: 9, 5: 40}, {6: 15, 7: 80}])
def test_two_deaths_leave_patterns_of_sets_of_ranks(monkeypatch, sums, spec, frames):
    monkeypatch.setenv("TREECAST_RATE", "1e9")
    found = run_ranks(8, dying(frames), spec=spec, sums=sums, survive=2)
    dead = [rank for rank in range(8) if isinstance(found[rank], DeathError)]
    assert set(dead) == set(frames), found
    judge(sums, found, dead)
