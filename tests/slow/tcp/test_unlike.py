"""Many pairs of unlike calls over sockets, over links and with several sizes, and programs of which one call is altered."""

import random

import pytest

from tests.tcp.threads import run_ranks
from tests.tcp.unlike import check_pair, make, random_program, table


def pairs(seed, count, size):
    rng, names = random.Random(seed), sorted(table(size))
    return [tuple(rng.sample(names, 2)) for _ in range(count)]


def run_pair(one, other, size, **terms):
    calls = table(size)

    def program(comm):
        ends = [lambda c: c.allreduce(1)] * 2
        return make(comm, [calls[one if comm.rank == 0 else other], *ends])

    return check_pair(run_ranks(size, program, **terms), one != other)


@pytest.mark.parametrize("seed", range(8))
def test_pairs_of_unlike_calls(seed):
    size, survive = 3 + seed % 2, seed // 2 % 2
    for one, other in pairs(seed, 30, size):
        assert run_pair(one, other, size, survive=survive) == "", (one, other)


@pytest.mark.parametrize("seed", range(2))
def test_pairs_over_the_links_of_a_network(seed):
    for one, other in pairs(seed, 12, 4):
        assert run_pair(one, other, 4, spec="ring:4") == "", (one, other)


@pytest.mark.parametrize("seed", range(0, 240, 40))
def test_a_program_of_which_one_call_is_altered_left_out_or_doubled_is_never_silent(seed, capfd):
    for each in range(seed, seed + 40):
        size = 2 + each % 3
        calls, (program, odd, how, rank) = table(size), random_program(each, size)

        def run(comm, program=program, odd=odd, rank=rank, calls=calls):
            names = odd if comm.rank == rank else program
            return make(comm, [calls[name] for name in names]), len(comm.members)

        found = run_ranks(size, run, on_failed="warn")
        errors = [result for results, _ in found for result in results if not result[0]]
        told = capfd.readouterr().err
        assert (not errors and not told) if odd == program else (errors or told), (each, how, program, odd, found)
