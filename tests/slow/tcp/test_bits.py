"""One pattern of bits on 16 ranks, by size, offset and network, when two die in the calls too."""

import numpy as np
import pytest

from tests.tcp.test_bits import RIGHT, given
from tests.tcp.threads import DeathError, die_at, run_ranks

RANKS, SIZES = 16, (200, 1_000, 20_000, 100_000)
NETWORKS = (None, "ring:16", "torus:4x4", "hypercube:4")


def patterns(comm, sizes=SIZES):
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


@pytest.mark.parametrize("sums", RIGHT)
@pytest.mark.parametrize("spec", ["torus:4x2", "hypercube:3"])
@pytest.mark.parametrize("frames", [{2: 4, 5: 4}, {2: 9, 5: 40}, {6: 15, 7: 80}])
def test_two_deaths_leave_patterns_of_sets_of_ranks(monkeypatch, sums, spec, frames):
    monkeypatch.setenv("TREECAST_RATE", "1e9")
    found = run_ranks(8, dying(frames), spec=spec, sums=sums, survive=2)
    dead = [rank for rank in range(8) if isinstance(found[rank], DeathError)]
    assert set(dead) == set(frames), found
    judge(sums, found, dead)
