"""Every kernel does the same interpreted and compiled: on what small jobs give it, and on random input.

Those that take long to compile are held to this by the long tests.
"""

import pytest

from tests.kernels.test_interpreted import KERNELS, agree
from tests.kernels.test_interpreted import tour as tour

DEAR = 1.0  # seconds of compiling, with all that is called, beyond which a kernel is compiled for its own sake in long tests


DIRECTLY = {
    "contention.unordered_pairs",
    "cuts.worst_cut",
    "star.fill_neighbors",
    "star.walk_trees",
    "disjoint_paths.arcs_of_paths",
    "hanging.hang",
    "plain.parse",
    "plain.tabulate",
    "sums.add_all",
    "sums.add_held",
    "sums.add_narrow",
    "sums.add_row",
    "sums.begin_sums",
    "sums.end_sums",
}


def test_kernels_have_one_signature(tour):
    """For each further one a kernel would be compiled anew."""
    assert {name: kinds for name, kinds in tour[1].items() if len(kinds) > 1} == {}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if KERNELS[name].compile_seconds > DEAR else ())
        for name in sorted(set(KERNELS) - DIRECTLY)
    ],
)
def test_what_small_jobs_ask(tour, name):
    kernel, calls = KERNELS[name], tour[0]
    mine = calls.get(name, [])
    for arguments, *result in mine:
        agree(kernel, arguments, result)
    above = [KERNELS[other] for other in {*calls, *DIRECTLY} if calls.get(other) or other in DIRECTLY]
    assert mine or any(kernel.function in other._called() for other in above), f"no small job runs {name}"
