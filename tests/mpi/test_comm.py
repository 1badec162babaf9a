"""Wrapped communicators: that they are what mpi4py's are, and do what those do. One mpirun carries out many cases."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.mpi.conftest import ROOT, missing

HERE = ROOT / "tests" / "mpi"


def run(treecast, ranks, cases, *arguments, says):
    done = treecast("launch", "-n", ranks, "--timeout", 250, "--", sys.executable, HERE / cases, *arguments)
    assert (done.returncode, done.stdout.endswith(f"{says}\n")) == (0, True), done.stdout + done.stderr


def test_a_wrapped_communicator_is_one_of_mpis(treecast):
    run(treecast, 3, "comm_cases.py", says="a wrapped communicator is one of MPI's")


@pytest.mark.slow
def test_sums_have_the_bits_that_the_terms_say(treecast, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    run(treecast, 4, "bits_cases.py", says="sums have their bits")


def test_calls_that_are_read_otherwise_have_other_forms(treecast):
    run(treecast, 1, "forms_cases.py", says="forms differ as calls do")


@pytest.mark.slow
def test_messages_of_a_freed_communicator_reach_no_other(treecast):
    run(treecast, 3, "freed_cases.py", says="what comes late harms no later communicator")


LONG = pytest.mark.long


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize(
    ("ranks", "options", "examples"),
    [
        (3, {"own": True}, 60),
        (4, {"survive": 1}, 30),
        (4, {}, 80),
        pytest.param(1, {"own": True}, 400, marks=LONG),
        pytest.param(2, {"own": True}, 400, marks=LONG),
        pytest.param(5, {"survive": 2}, 400, marks=LONG),
        pytest.param(4, {"survive": 1, "deadline": 30}, 400, marks=LONG),
        pytest.param(3, {}, 400, marks=LONG),
    ],
)
def test_calls_leave_the_bytes_and_raise_the_errors_that_mpis_do(treecast, ranks, options, examples):
    """Arguments in random ways of writing them, right ones and wrong ones."""
    run(treecast, ranks, "own_cases.py", json.dumps(options), examples, says="calls agree")


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("options", [{"own": True}, {"survive": 1}])
def test_what_is_wrong_on_one_rank_is_said_there_and_the_next_call_is_right(treecast, options):
    run(treecast, 3, "api_errors.py", json.dumps(options), says="are right")


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"own": True}, {"survive": 1}])
def test_messages_of_a_call_that_all_have_left_are_of_no_later_call(treecast, options):
    run(treecast, 3, "left_cases.py", json.dumps(options), says="all are right")


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_to_survive_a_job_has_to_be_launched():
    code = "from mpi4py import MPI; import treecast.mpi; treecast.mpi.wrap(MPI.COMM_SELF, survive=1)"
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=plain, timeout=300
    )
    assert done.returncode == 1
    assert "start it by treecast launch -n RANKS -- COMMAND" in done.stderr
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", "1", "--", sys.executable, "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=plain, timeout=300)
    assert "survive=1 needs a job that outlives a rank: start it without --tcp" in done.stderr


NAMES = (
    "import json; from treecast.running.calls.collectives import FAR_FROM, OBJECTS, ROWS; "
    "planned = [name for name, row in ROWS.items() if row.planned]; "
    "print(json.dumps([{name: row.own_from for name, row in ROWS.items()}, [*OBJECTS], planned, FAR_FROM]))"
)


def spelled(count):
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_the_page_says_which_way_each_call_goes():
    found = subprocess.run(
        [sys.executable, "-c", NAMES], capture_output=True, text=True, check=True, timeout=300
    ).stdout
    own_from, objects, kinds, far_from = json.loads(found.splitlines()[-1])
    page = (ROOT / "docs/reference/mpi.md").read_text()
    for name in {*own_from} - {"Barrier"}:
        down = name in kinds
        near = f"straight from {spelled(own_from[name])}" if own_from[name] else "MPI"
        far = f"{'trees' if down else 'straight'} from {spelled(far_from)}" if own_from[name] else "MPI"
        copied = down and name != "Alltoallv"
        survives = "trees over a `network`, else straight" if copied else "straight"
        assert f"| `{name}` | {near} | {far} | {survives} |" in page
    (listed,) = [line for line in page.splitlines() if line.startswith("| lower-case:")]
    assert {*re.findall(r"`(\w+)`", listed)} == {*objects} - {"barrier"}


@pytest.mark.slow
def test_the_example_survives_because_of_one_line(treecast, tmp_path):
    example = ROOT / "examples" / "survive.py"
    run(treecast, 4, example, says="sum 7 of 4 ranks without (2,)")
    text = example.read_text()
    assert len(text.splitlines()) == 20
    (added,) = [line for line in text.splitlines() if "treecast.mpi.wrap" in line]
    for page, fence in (("docs/reference/mpi.md", "```\n"), ("README.md", "`")):
        assert f"{fence}{added.split('  #')[0]}{fence[::-1]}" in (ROOT / page).read_text()
    plain = tmp_path / "plain.py"
    plain.write_text(text.replace(added, ""))
    done = treecast("launch", "-n", 4, "--timeout", 100, "--", sys.executable, plain)
    assert (done.returncode, done.stdout) == (1, "")
    assert "MPI_ERR_PROC_FAILED" in done.stderr


DIES = """
import sys; from mpi4py import MPI; import treecast.mpi
comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1, on_error="{}", on_failed="ignore")
if comm.rank == 1:
    {}
said = comm.allgather(comm.rank)
if comm.rank == 0:
    print(said, comm.last.failed)
"""


@pytest.mark.slow
def test_an_exception_ends_the_job_or_counts_as_a_death(treecast, tmp_path):
    program = tmp_path / "program.py"
    for how, ends, status, says in (
        ("die", "raise KeyError", 0, "[0, None, 2] (1,)\n"),
        ("die", "sys.exit(4)", 0, "[0, None, 2] (1,)\n"),
        ("abort", "sys.exit(4)", 4, ""),
    ):
        program.write_text(DIES.format(how, ends))
        done = treecast("launch", "-n", 3, "--timeout", 100, "--", sys.executable, program)
        assert (done.returncode, done.stdout) == (status, says), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=LONG) for seed in range(1, 31))])
def test_all_living_ranks_have_one_outcome_whenever_one_is_killed(treecast, seed):
    run(treecast, 4, "kill_cases.py", seed, says="40 calls ended alike")


@pytest.mark.slow
@pytest.mark.parametrize("network", [None, "hypercube:3"])
@pytest.mark.parametrize(("sums", "delay"), [("by-rank", 40), ("exact", 90)])
def test_sums_have_the_bits_of_one_set_of_ranks_when_two_are_killed(treecast, monkeypatch, sums, delay, network):
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    run(treecast, 8, "bits_kill_cases.py", sums, delay, *filter(None, [network]), says="the bits of one set of ranks")


LITTLE, MUCH = 1, 6000  # numbers of a block


DEATHS = [[step % 4, step, after] for step in range(88) for after in (False, True)]


LATE = [[step % 4, step, after] for step in range(180) for after in (False, True)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("deaths", "width"),
    [
        (DEATHS[13:176:27], LITTLE),
        ([LATE[k] for k in (8, 75, 101)], MUCH),
        *(pytest.param(DEATHS[k : k + 3], LITTLE, marks=LONG) for k in range(0, len(DEATHS), 3)),
        *(pytest.param(LATE[k : k + 3], MUCH, marks=LONG) for k in range(0, len(LATE), 3)),
    ],
)
def test_so_have_they_in_quick_calls_at_each_of_which_one_dies(treecast, deaths, width, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    program = [sys.executable, HERE / "quick_cases.py", json.dumps(deaths), tmp_path, width]
    done = treecast("launch", "-n", 4 * len(deaths), "--timeout", 100, "--", *program)
    assert done.returncode != 124, done.stderr
    for group, (victim, _, after) in enumerate(deaths):
        ended = {rank for rank in range(4) if (tmp_path / str(4 * group + rank)).exists()}
        assert {*range(4)} - {victim} <= ended, done.stderr
        assert after or victim not in ended, done.stderr  # its calls go another way when one has failed elsewhere
        seen = {(tmp_path / str(4 * group + rank)).read_text() for rank in ended}
        assert len(seen) == 1, (seen, done.stderr)
        assert ["lost", False] not in json.loads(seen.pop())


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "calls"), [(0, 6), *(pytest.param(seed, 120, marks=LONG) for seed in range(1, 6))])
def test_so_have_they_when_ranks_come_late(treecast, seed, calls):
    run(treecast, 4, "late_cases.py", seed, calls, says=f"{calls} calls ended alike")


@pytest.mark.slow
@pytest.mark.parametrize("network", ["complete:4", "hypercube:2"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=LONG) for seed in range(2, 14))])
def test_so_have_they_over_a_network_that_is_named(treecast, seed, network):
    run(treecast, 4, "kill_cases.py", seed, network, says="40 calls ended alike")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "plans"), [("Bcast", 1), ("Allgather", 1), ("Allreduce", 2)])
def test_copies_spare_a_second_plan(treecast, name, plans):
    run(treecast, 4, "copies_cases.py", name, says=f"3 (True, {plans})")


@pytest.mark.slow
def test_blocks_whose_lengths_others_do_not_know_are_those_of_mpi(treecast):
    run(treecast, 3, "packed_cases.py", says="165 calls agree")


@pytest.mark.slow
def test_blocks_of_unequal_length_go_by_plans(treecast):
    ways = "trees ring:4\ndirect complete:4\ncirculant complete:4\n"
    run(treecast, 4, "unequal_cases.py", says=f"{ways}18 cases agree")


@pytest.mark.slow
@pytest.mark.parametrize("survive", [0, 1])
def test_who_keeps_quick_calls_waiting_is_told(treecast, monkeypatch, survive):
    monkeypatch.setenv("TREECAST_SLOW", "0.3")
    run(treecast, 3, "slow_cases.py", survive, says="who keeps quick calls waiting is known")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_so_have_they_between_hosts(treecast, seed):
    run(treecast, 5, "kill_cases.py", seed, "hosts", says="40 calls ended alike")
