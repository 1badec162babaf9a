"""What copies claim, sweeps and plain replays confirm: every set of fewer faults than copies does no harm."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.simulation.test_sweep import CASES, found_of, over_trees
from treecast.files import formats
from treecast.plans import plan
from treecast.simulation.sweeps import sweep


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("allgather", "nodes+arcs"),
        *(pytest.param("allgather", what, marks=pytest.mark.long) for what in ("nodes", "arcs")),
        *(pytest.param("alltoall", what, marks=pytest.mark.long) for what in ("nodes", "arcs", "nodes+arcs")),
    ],
)
def test_a_sample_of_sets_of_three_faults_on_the_star_of_120_nodes(kind, what):
    found = sweep(over_trees(kind, "star:5", 4), kind=what, sample=100_000, seed=5)
    assert found.holds
    assert found.sets == 100_000


def test_processes_find_the_same():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        for kind, spec, options, how in CASES[1:2] + CASES[-1:]:
            schedule = plan(kind, spec, **options)
            assert found_of(sweep(schedule, **how, executor=executor)) == found_of(sweep(schedule, **how))


def test_what_workers_are_told_in_vain_is_refused(ask, tmp_path):
    file = str(tmp_path / "x2.tc")
    formats.save(plan("broadcast", "star:4", copies=2), file)
    status, out, err = ask("verify", file, "--workers", "2")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--workers says how to sweep" in err
    status, out, err = ask("verify", file, "--sweep", "nodes", "--workers", "0")
    assert (status, out, err.count("\n")) == (2, "", 1)
    one, two = (ask("verify", file, "--sweep", "nodes", "--most", "2", "--workers", n) for n in "12")
    assert one[0] == two[0] == 1
    assert [line for line in one[1].splitlines() if "fail" in line] == [
        line for line in two[1].splitlines() if "fail" in line
    ]
