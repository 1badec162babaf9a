"""The command line, mostly in this process; what needs a terminal, a pipe or a signal, in one of its own."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import tomllib
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import treecast
from tests.strategies import examples
from treecast.cli import main
from treecast.cli.app import find_verbs
from treecast.compiled import policy
from treecast.files import formats
from treecast.plans import plan

STARTING = {"lab", "launch", "warm-up"}  # they start other programs, or take a minute
VERBS = [verb for verb in find_verbs() if verb not in STARTING]
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def answer(ask):
    """Run a command with --json and return its exit status and its findings."""

    def run(*arguments):
        status, out, err = ask(*arguments, "--json")
        assert err == ""
        return status, json.loads(out)

    return run


# --- what each verb finds ---

JOB = {"collective", "network", "model", "nodes", "root", "messages", "copies", "survives"}
REPORT = JOB | {
    "degree", "diameter", "trees", "depth", "steps", "steps_lower_bound", "ratio", "transmissions",
    "transmissions_lower_bound", "holds", "method", "findings", "seconds",
}  # fmt: skip


def test_plan(answer):
    status, found = answer("plan", "broadcast", "star:5", "--messages", "400", "--survive", "2")
    assert status == 0
    assert set(found) >= REPORT | {"single_tree_steps", "speed_up"}
    expected = {
        "collective": "broadcast", "network": "star:5", "nodes": 120, "degree": 4, "diameter": 6, "root": "12345",
        "messages": 400, "copies": 3, "survives": 2, "trees": 4, "depth": 8, "steps": 307, "steps_lower_bound": 305,
        "transmissions": 142_800, "transmissions_lower_bound": 142_800, "holds": True, "findings": [],
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected


def test_what_reports_say_beside_the_lower_bound(ask):
    _, out, _ = ask("plan", "broadcast", "ring:5", "--messages", "6000")
    assert "steps          3,003, 1 above the lower bound" in out
    _, out, _ = ask("plan", "alltoall", "hypercube:4", "--copies", "3")
    assert "steps          32, 1.032 x the lower bound" in out


def test_rows_that_answer_are_no_tree(ask):
    _, out, _ = ask("plan", "broadcast", "hypercube:3", "--model", "shouting", "--builder", "answering")
    assert "\ntrees" not in out
    _, out, _ = ask("plan", "broadcast", "hypercube:3", "--copies", "3")
    assert "trees          3 of 3 that share no arc\n" in out
    assert "depth          4: the least, proved" in out


def test_plan_options(answer):
    for arguments in (
        ("--root", "21345"), ("--root", "24"), ("--copies", "4"), ("--copies", "2", "--survive", "1"),
        ("--model", "shouting"), ("--builder", "breadth-first-tree"), ("--messages", "2147483647"),
    ):  # fmt: skip
        status, found = answer("plan", "broadcast", "star:5", *arguments)
        assert (status, found["holds"]) == (0, True)
    assert answer("plan", "broadcast", "star:5", "--root", "24")[1]["root"] == "21345"


@pytest.mark.parametrize("network", ["mesh:3x4", "hypercube:3", "tree:3,2", "ring:5", "path:1", "hypercube:0"])
def test_plan_on_every_network(answer, network):
    assert answer("plan", "broadcast", network, "--messages", "3")[0] == 0


def test_verify(files, answer):
    for name in ("plan.tc", "plan.tcb", "hand.tc"):
        status, found = answer("verify", name)
        assert (status, found["holds"], set(found) >= REPORT) == (0, True, True)
    status, found = answer("verify", "plan.tc", "--expanded")
    assert (status, found["method"], found["depth"]) == (0, "expanded", 6)
    status, found = answer("verify", "plan.tc", "--model", "one-port")
    assert (status, found["holds"], found["model"]) == (1, False, "one-port")


def test_verify_says_what_is_wrong(files, answer, ask):
    status, found = answer("verify", "early.tc")
    assert (status, found["holds"]) == (1, False)
    rules = {violation["rule"] for violation in found["findings"]}
    assert rules == {"holds", "copies"} == {rule for rule, count in found["rules"].items() if count}
    for name, says in (
        ("early.tc", "holds: line 14: 2134 > 3124 at step 0"),
        ("no-arc.tc", "adjacent: line 14: 2134 > 3142"),
    ):
        status, out, err = ask("verify", name)
        assert (status, err) == (1, "")
        assert out.startswith("verified       NO: ")
        assert out.split("\n")[1].strip().startswith(says)


def test_verify_sweeps(files, answer, ask):
    status, found = answer("verify", "plan.tc", "--sweep", "nodes+links")
    assert status == 0
    assert found["sweep"] == found["sweep"] | {"kind": "nodes+links", "most": 2, "exhaustive": True, "failing": 0}
    assert "counterexample" not in found
    status, found = answer("verify", "single.tc", "--sweep", "nodes", "--most", "1", "--keep-going")
    assert status == 1
    assert found["holds"] is True
    assert found["sweep"]["failing"] > 0
    assert set(found["counterexample"]) == {"faults", "node", "chunk"}
    status, found = answer("verify", "plan.tc", "--sweep", "arcs", "--most", "5", "--sample", "50", "--seed", "3")
    assert (found["sweep"]["sets"], found["sweep"]["exhaustive"]) == (50, False)
    status, out, _ = ask("verify", "single.tc", "--sweep", "nodes", "--most", "1")
    assert status == 1
    assert re.search(r"faults +does NOT survive every set of at most 1 node: when \d{4} fails, \d{4} never gets", out)
    status, out, _ = ask("verify", "plan.tc", "--sweep", "nodes")
    assert "faults         survives every set of at most 2 nodes: 277 sets" in out
    _, out, _ = ask("verify", "plan.tc", "--sweep", "nodes", "--most", "3")
    assert "does NOT survive every set of at most 3 nodes" in out
    assert "random" not in out
    _, out, _ = ask("verify", "single.tc", "--sweep", "nodes", "--most", "2")
    assert "of the 24 sets tried fail; the others were not tried" in out
    _, out, _ = ask("verify", "plan.tc", "--sweep", "nodes", "--most", "3", "--keep-going")
    assert "random" not in out
    assert "not tried" not in out
    _, out, _ = ask("verify", "plan.tc", "--sweep", "nodes", "--most", "2", "--sample", "9")
    assert "survives random sets of 2 nodes: 9 sets" in out


@pytest.mark.parametrize("flag", [("--most", "1"), ("--liars", "1"), ("--sample", "5"), ("--keep-going",)])
def test_how_to_sweep_says_nothing_without_what_fails(files, ask, flag):
    status, out, err = ask("verify", "plan.tc", *flag)
    assert (status, out) == (2, "")
    assert err.endswith(f"{flag[0]} says how to sweep: name the parts that fail as well, as in --sweep nodes\n")


def test_simulate(files, answer):
    status, found = answer("simulate", "plan.tc", "--dead-nodes", "2134@9", "--cut-links", "1234>3214@2")
    assert status == 0
    assert set(found) >= JOB | {
        "faults", "living", "delivered", "lost", "steps", "transmissions", "verified", "complete_from_step",
    }  # fmt: skip
    assert (found["living"], found["delivered"], found["lost"]) == (23, 23, [])
    assert found["faults"] == ["2134@9", "1234>3214@2"]
    assert found["complete_from_step"]["2134"] is None
    status, found = answer("simulate", "single.tc", "--dead-nodes", "2134", "3214", "4231")
    assert status == 1
    assert found["delivered"] == 1
    assert {"node": "4321", "chunks": [0, 60]} in found["lost"]
    status, found = answer("simulate", "plan.tc", "--random-faults", "2", "--seed", "5", "--latency", "1us",
                           "--rate", "1GB/s", "--chunk", "1000")  # fmt: skip
    assert (status, len(found["faults"])) == (0, 2)
    assert found["time"] == pytest.approx(found["steps"] * 2e-6)


def test_run(files, answer):
    status, found = answer("run", "plan.tc", "--input", "data", "--dead-nodes", "2134@9", "4231@14")
    assert status == 0
    assert set(found) >= JOB | {
        "input", "bytes", "sha256", "faults", "living", "delivered", "lost", "steps", "transmissions", "seconds",
    }  # fmt: skip
    assert (found["bytes"], found["living"], found["delivered"], found["lost"]) == (5120, 22, 22, [])
    verdicts = {node["node"]: node["verdict"] for node in found["node_reports"]}
    assert {node for node, verdict in verdicts.items() if verdict == "dead"} == {"2134", "4231"}
    assert all(n["sha256"] == found["sha256"] for n in found["node_reports"] if n["verdict"] == "intact")
    status, found = answer("run", "single.tc", "--input", "data", "--dead-nodes", "2134")
    assert status == 1
    assert found["delivered"] < found["living"]
    assert found["lost"]


def test_a_file_of_no_bytes_arrives(files, answer):
    status, found = answer("run", "plan.tc", "--input", "nothing")
    assert (status, found["bytes"], found["delivered"]) == (0, 0, 24)


def test_help_and_version(ask):
    status, out, err = ask("--help")
    assert (status, err) == (0, "")
    assert all(verb in out for verb in VERBS)
    for verb in VERBS:
        status, out, err = ask(verb, "--help")
        assert (status, err) == (0, "")
        assert "Example" in out
    assert ask("--version")[:2] == (0, f"{treecast.__version__}\n")
    assert ask()[0] == 0


def test_output_is_written_whole(files, ask):
    for name in ("new.tc", "new.tcb", "folder/new.tc"):
        assert ask("plan", "broadcast", "star:3", "-o", name)[0] == 0
        assert formats.load(name).network.spec == "star:3"
    (files / "new.tc").chmod(0o600)
    assert ask("plan", "broadcast", "star:4", "-o", "new.tc")[0] == 0
    assert ((files / "new.tc").stat().st_mode & 0o777, formats.load("new.tc").network.spec) == (0o600, "star:4")


# --- what cannot be done ---

PLAN = ("plan", "broadcast", "star:5")
BAD = [
    (("plan", "broadcast", "nowhere:5"), "'nowhere:5' is no network"),
    (("plan", "broadcast", "star"), "is no network"),
    (("plan", "broadcast", ""), "is no network"),
    (("plan", "broadcast", "star:1"), "N from 2 to 15"),
    (("plan", "broadcast", "star:25"), "N from 2 to 15"),
    (("plan", "broadcast", "star:x"), "write star:N"),
    (("plan", "broadcast", "star:-3"), "write star:N"),
    (("plan", "broadcast", "file:nowhere.graphml"), "cannot read the network"),
    (("plan", "broadcast", "star:15"), "too many"),
    (("plan", "telepathy", "star:5"), "'telepathy' is no collective"),
    (("plan", "alltoall", "mesh:100x100"), "no plan of alltoall"),
    (("plan", "allreduce", "star:4", "--copies", "2"), "added twice"),
    (("plan", "alltoall", "star:4", "--root", "2134"), "has no root"),
    ((*PLAN, "--root", "11345"), "11345 is no node of star:5"),
    ((*PLAN, "--root", "120"), "120 is no node of star:5"),
    ((*PLAN, "--root=-1"), "'-1' is no node of star:5"),
    ((*PLAN, "--root", "nobody"), "'nobody' is no node of star:5"),
    ((*PLAN, "--copies", "0"), "at least one copy"),
    ((*PLAN, "--copies", "5"), "5 copies, to survive 4 dead nodes, need 5 node-disjoint paths; "),
    ((*PLAN, "--copies=-1"), "at least one copy"),
    ((*PLAN, "--survive", "4"), "Possible here: dead nodes 3, dead links 3, dead arcs 3"),
    ((*PLAN, "--survive=-1"), "at least one copy"),
    ((*PLAN, "--copies", "3", "--survive", "3"), "give one of the two"),
    ((*PLAN, "--messages", "0"), "0 messages cannot be sent"),
    ((*PLAN, "--messages=-1"), "-1 messages cannot be sent"),
    ((*PLAN, "--messages", "2147483648"), "2147483648 messages cannot be sent"),
    ((*PLAN, "--messages", "many"), "many"),
    ((*PLAN, "--messages", "9" * 5000), "messages"),
    ((*PLAN, "--model", "quantum"), "'quantum' is no model"),
    ((*PLAN, "--model", "wormhole"), "under model wormhole"),
    ((*PLAN, "--builder", "nobody"), "no builder 'nobody'"),
    ((*PLAN, "-o", "no/such/folder/plan.tc"), "cannot be written"),
    ((*PLAN, "-o", "folder"), "it is a folder"),
    ((*PLAN, "-o", ""), "is no name of a file"),
    ((*PLAN, "-o", "/proc/plan.tc"), "cannot be written"),
    ((*PLAN, "-o", "/dev/full"), "No space left"),
    ((*PLAN, "-o"), "-o"),
    ((*PLAN, "-o", "-", "--json"), "choose one"),
    ((*PLAN, "--bogus"), "--bogus"),
    ((*PLAN, "too", "much"), "too"),
    (("plan", "broadcast"), "NETWORK"),
    (("plan",), "COLLECTIVE"),
    (("verify", "missing.tc"), "'missing.tc' cannot be read"),
    (("verify", "folder"), "cannot be read"),
    (("verify", "data"), "is no treecast file"),
    (("verify", "nothing"), "is no treecast file"),
    (("verify", "tampered.tc"), "was changed or cut off"),
    (("verify", "cut.tc"), "was changed or cut off"),
    (("verify", "cut.tcb"), "was changed or cut off"),
    (("verify", "plan.tc", "--model", "quantum"), "'quantum' is no model"),
    (("verify", "plan.tc", "--sweep", "dragons"), "dragons"),
    (("verify", "plan.tc", "--sweep", "nodes", "--most", "99"), "99"),
    (("verify", "plan.tc", "--sweep", "nodes", "--most=-1"), "-1"),
    (("verify", "plan.tc", "--sweep", "nodes", "--sample", "0"), "at least 1 set"),
    (("verify", "plan.tc", "--sweep", "nodes", "--seed=-1"), "-1"),
    (("verify",), "FILE"),
    (("simulate", "early.tc"), "holds a schedule that is wrong: line 14"),
    (("simulate", "plan.tc", "--dead-nodes", "nobody"), "'nobody' is no node"),
    (("simulate", "plan.tc", "--dead-nodes", "2134@"), "names no fault"),
    (("simulate", "plan.tc", "--dead-nodes", "2134@soon"), "names no fault"),
    (("simulate", "plan.tc", "--dead-nodes", "@5"), "is no node"),
    (("simulate", "plan.tc", "--dead-nodes", "1234"), "the root 1234 cannot be dead"),
    (("simulate", "plan.tc", "--cut-links", "1234-4321"), "is no link"),
    (("simulate", "plan.tc", "--cut-links", "1234"), "names no link"),
    (("simulate", "plan.tc", "--cut-links", "1234>"), "names no link"),
    (("simulate", "plan.tc", "--random-faults", "24"), "24"),
    (("simulate", "plan.tc", "--random-faults=-1"), "-1"),
    (("simulate", "plan.tc", "--seed=-1"), "-1"),
    (("simulate", "plan.tc", "--latency", "nan", "--rate", "1GB/s"), "nan"),
    (("simulate", "plan.tc", "--bytes", "1" + "0" * 400), "no number of bytes"),
    (("simulate", "plan.tc", "--latency=1us", "--rate=-1GB/s"), "-1"),
    (("run", "plan.tc", "--input", "missing"), "'missing' cannot be read"),
    (("run", "plan.tc", "--input", "folder"), "cannot be read"),
    (("run", "plan.tc", "--input", "data", "--dead-nodes", "1234"), "the root 1234 cannot be dead"),
    (("run", "plan.tc"), "--input"),
    (("run", "missing.tc", "--input", "data"), "'missing.tc' cannot be read"),
    (("run", "-", "--input", "-"), "both be standard input"),
    (("bounds", "broadcast", "star:99"), "N from 2 to 15"),
    (("bounds", "broadcast", "star:4", "--messages", "0"), "0 messages"),
    (("bounds", "broadcast", "star:4", "--root", "nobody"), "'nobody' is no node"),
    (("show", "plan.tc", "--steps", "x"), "--steps is written A:B"),
    (("show", "plan.tc", "--steps", "²:3"), "--steps is written A:B"),
    (("show", "plan.tc", "--steps", "1:2:3"), "--steps is written A:B"),
    (("show", "plan.tc", "--node", "nobody"), "'nobody' is no node"),
    (("show", "plan.tc", "--tree", "x"), "x"),
    (("draw", "plan.tc", "--tree", "x"), "--tree x will not do: write a whole number, or all"),
    (("draw", "plan.tc", "--tree", "7"), "has no tree 7; it has 0, 1, 2"),
    (("draw", "plan.tc", "--kind", "abstract"), "abstract"),
    (("draw", "plan.tc", "-o", "picture.doc"), "doc"),
    (("draw", "plan.tc", "-o", "no/such/folder/picture.svg"), "cannot be written"),
    (("draw", "plan.tc", "-o", "folder"), "folder"),
    (("theorems", "euclid"), "no paper 'euclid'"),
    (("theorems", "star", "--up-to", "2"), "up to n = 3"),
    (("theorems", "star", "--up-to", "99"), "99"),
    (("networks", "star:0"), "N from 2 to 15"),
    (("networks", "mesh:0x4"), "mesh"),
    (("juggle",), "juggle"),
    (("--bogus",), "--bogus"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD, ids=[" ".join(a)[:60] for a, _ in BAD])
def test_bad_input_is_one_line_and_status_2(files, ask, arguments, says):
    before = sorted(os.listdir(files))
    status, out, err = ask(*arguments)
    assert status == 2
    assert json.loads(out) == {"error": err[7:-1]} if "--json" in arguments else out == ""
    assert re.fullmatch(r"error: [^\n]{1,1000}\n", err)
    assert says in err
    assert sorted(os.listdir(files)) == before
    assert os.listdir(files / "folder") == []


@pytest.mark.skipif(ROOT, reason="nothing is read-only for root")
def test_an_output_that_may_not_be_written(files, ask):
    (files / "plan.tc").chmod(0o400)
    assert ask(*PLAN, "-o", "plan.tc")[0] == 2
    assert formats.load("plan.tc").network.spec == "star:4"


def test_messages_show_no_control_characters(files, ask):
    (files / "odd.tc").write_text("treecast 1\nnetwork star:\x1b[2J\x07\u2028x\ncollective broadcast\nrows 0\n")
    for name in ("odd.tc", "\x1b[31mred\nlines\x85\u2028", "\udcff"):
        status, out, err = ask("verify", name)
        assert (status, out) == (2, "")
        assert err.startswith("error: ")
        assert err[:-1].isprintable()
        assert err.endswith("\n")


# --- any tokens at all ---

TOKENS = [
    *VERBS, "broadcast", "allgather", "star:4", "star:3", "mesh:2x2", "hypercube:2", "star:99", "tree:2,1", "plan.tc", "plan.tcb",
    "early.tc", "cut.tc", "data", "nothing", "missing", "folder", "-", "--", "-o", "--output", "--json", "--json=x", "--root",
    "--messages", "--copies", "--survive", "--model", "--builder", "--sweep", "--most", "--sample", "--seed", "--keep-going",
    "--expanded", "--dead-nodes", "--cut-links", "--random-faults", "--bytes", "--latency", "--rate", "--chunk", "--input",
    "--node", "--tree", "--steps", "--all", "--kind", "--ascii", "--up-to", "--help", "--version", "-h", "--no-json", "--=", "-5",
    "0", "1", "2", "3", "5", "1e3", "nan", "2134", "1234", "2134@3", "1234-2134", "1234>2134@2", "nodes", "links", "nodes+arcs",
    "trees", "space-time", "0:3", ":", "all-port", "whispering,half", "star", "out.tc", "out.tcb", "out.svg", "", " ", "\n", "é",
]  # fmt: skip


USUAL = [
    ["plan", "broadcast", "star:4", "--copies", "2", "--messages", "5", "-o", "out.tc"],
    ["verify", "plan.tc", "--sweep", "nodes", "--most", "1"],
    ["simulate", "plan.tc", "--dead-nodes", "2134@3", "--cut-links", "1234-2134", "--random-faults", "1"],
    ["bounds", "broadcast", "star:4", "--survive", "1"],
    ["draw", "plan.tc", "--kind", "space-time", "--tree", "1"],
    ["run", "plan.tcb", "--input", "data", "--dead-nodes", "2134"],
    ["show", "plan.tc", "--node", "2134", "--steps", "0:3"],
    ["networks", "star:4"],
    [],
]


@st.composite
def tokens_of_a_command(draw):
    """A command, with some tokens left out, put in, or replaced by others."""
    tokens = list(draw(st.sampled_from(USUAL)))
    for _ in range(draw(st.integers(0, 4))):
        i = draw(st.integers(0, len(tokens)))
        tokens[i : i + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(TOKENS), max_size=2))
    return tokens


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tokens_of_a_command())
def test_any_tokens(files, capsys, monkeypatch, tokens):
    if "theorems" in tokens:
        tokens += ["--up-to", "3"]  # the rest takes minutes
    monkeypatch.setattr(sys, "stdin", None)
    status = main(tokens)
    out, err = capsys.readouterr()
    assert status in (0, 1, 2)
    assert re.fullmatch(r"(wrote [^\n]+\n)?", err) if status < 2 else re.fullmatch(r"error: [^\n]+\n", err)
    assert status < 2 or out == "" or set(json.loads(out)) == {"error"}
    assert not [name for name in os.listdir(files) if name.startswith(".treecast")]


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([verb for verb in VERBS if verb != "theorems"]), st.lists(st.text(), max_size=4))
def test_any_words(files, capsys, monkeypatch, verb, words):
    monkeypatch.setattr(sys, "stdin", None)
    status = main([verb, *words])
    assert status in (0, 1, 2)
    assert (capsys.readouterr().err == "") is (status < 2)


# --- pipes, terminals, signals ---


# --- what is imported, and without asserts ---


TREECAST = [sys.executable, "-m", "treecast"]


def command(*arguments, **options):
    """Run a command in a process of its own."""
    return subprocess.run([*TREECAST, *arguments], capture_output=True, text=True, timeout=120, **options)


@pytest.mark.slow
def test_theorems(answer, ask):
    status, found = answer("theorems", "star", "--up-to", "3")
    assert status == 0
    assert set(found[0]) == {"name", "says", "checked", "holds", "as_known", "detail", "seconds"}
    status, out, err = ask("theorems", "star", "--up-to", "3")
    assert (status, err) == (0, "")
    assert out.count("holds  ") == sum(one["holds"] for one in found)
    assert out.count("FALSE  ") == sum(not one["holds"] for one in found) == 1
    assert all(one["as_known"] for one in found)
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.slow
def test_draw(files, ask):
    status, out, err = ask("draw", "plan.tc")
    assert (status, err, out.count("(root)")) == (0, "", 3)
    assert ask("draw", "plan.tc", "--tree", "1", "--ascii")[1].isascii()
    assert "complete @" in ask("draw", "plan.tc", "--kind", "space-time", "--dead-nodes", "2134")[1]
    for name in ("picture.svg", "picture.png"):
        assert ask("draw", "plan.tc", "-o", name) == (0, "", "")
        assert (files / name).stat().st_size > 1000


@pytest.mark.slow
def test_a_plan_through_a_pipe(files):
    first = subprocess.Popen([*TREECAST, *PLAN, "--messages", "9", "-o", "-"], stdout=subprocess.PIPE)
    done = command("verify", "-", "--json", stdin=first.stdout)
    first.stdout.close()
    assert (first.wait(60), done.returncode, done.stderr) == (0, 0, "")
    assert json.loads(done.stdout)["messages"] == 9


@pytest.mark.slow
def test_data_through_a_pipe(files):
    with open("data", "rb") as data:
        done = command("run", "plan.tcb", "--input", "-", "--json", stdin=data)
    assert (done.returncode, json.loads(done.stdout)["bytes"]) == (0, 5120)


@pytest.mark.slow
def test_whoever_stops_reading_gets_no_traceback(files):
    for arguments in (
        ["show", "plan.tc"],
        ["theorems", "hypercube", "--up-to", "1"],
        ["plan", "broadcast", "star:5", "-o", "-"],
    ):
        program = subprocess.Popen(
            [*TREECAST, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=0
        )
        program.stdout.close()
        assert program.stderr.read() == ""
        assert program.wait(60) == 0
        program.stderr.close()


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize(
    ("how", "status", "says"),
    [
        ("verify plan.tc > /dev/full", 2, "error: No space left on device\n"),
        ("verify plan.tc >&-", 0, ""),
        ("verify early.tc >&-", 1, ""),
        ("verify - <&-", 2, "error: standard input cannot be read: it is closed\n"),
        ("verify missing.tc 2>&-", 2, ""),
        ("verify plan.tc < /dev/null | head -1", 0, ""),
    ],
)
def test_odd_streams(files, how, status, says):
    done = subprocess.run(
        ["bash", "-c", f"exec 9>&2; '{sys.executable}' -m treecast {how}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (status, says)


@pytest.mark.slow
def test_signs_that_an_encoding_lacks(files):
    done = command("bounds", "broadcast", "star:4", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "?M x / degree?" in done.stdout


def in_terminal(*arguments, **environment):
    """Run a command in a terminal; return its exit status and what the terminal showed."""
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [*TREECAST, *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "80"} | environment,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            if not select.select([ours], [], [], 60)[0] or not (more := os.read(ours, 1 << 16)):
                break
        except OSError:  # the other end is closed
            break
        shown += more
    os.close(ours)
    return program.wait(60), shown.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_in_a_terminal_there_is_chatter_and_colour(files):
    status, shown = in_terminal("run", "plan.tc", "--input", "data", "--dead-nodes", "2134@9")
    assert status == 0
    assert shown.startswith("verified by streams: 69 rows\n")
    assert re.search("\x1b\\[[0-9;]*32m", shown)
    assert "━" in shown
    status, shown = in_terminal("plan", "broadcast", "star:4", "-o", "new.tc")
    assert shown.endswith("wrote new.tc, 23 rows\n")


@pytest.mark.slow
def test_no_color_is_heeded(files):
    status, shown = in_terminal("run", "plan.tc", "--input", "data", "--dead-nodes", "2134@9", NO_COLOR="1")
    assert status == 0
    assert not re.search("\x1b\\[[0-9;]*3[0-9]m", shown)


@pytest.mark.slow
def test_a_terminal_is_not_flooded(files, ask):
    formats.save(plan("scatter", "path:24"), "large.tc")
    status, shown = in_terminal("show", "large.tc")
    assert (status, shown.count("port=")) == (0, 200)
    assert shown.endswith("and 76 more rows: --all shows them\n")
    assert in_terminal("show", "large.tc", "--all")[1].count("port=") == 276
    assert ask("show", "large.tc")[1].count("port=") == 276


def compile_all():
    """Compiled functions are kept on disk; compiling them is the one thing that cannot be cut short."""
    with policy("compile"):
        assert main(["plan", "broadcast", "star:4", "--copies", "3"]) == 0
        assert main(["theorems", "star", "--up-to", "4"]) == 0


THEOREMS = "theorems star --up-to 11"


LARGE_PLAN = "plan broadcast star:9 --messages 1000 --copies 8 -o large.tc"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "after", "compiled"),
    [
        (THEOREMS, 0, False),
        (LARGE_PLAN, 1.5, False),
        *(
            pytest.param(command, after, True, marks=pytest.mark.long)
            for command, after in product((THEOREMS, LARGE_PLAN), (0, 1.5))
        ),
    ],
)
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_ctrl_c(tmp_path, command, after, compiled):
    if compiled:
        compile_all()
    program = subprocess.Popen(
        [*TREECAST, *command.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env=os.environ | ({} if compiled else {"NUMBA_DISABLE_JIT": "1"}),
    )  # fmt: skip
    while "numpy" not in Path(f"/proc/{program.pid}/maps").read_text():  # before that Python itself starts
        time.sleep(0.01)
    time.sleep(after)
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=100)
    assert (program.returncode, err) == (130, "interrupted\n")
    assert os.listdir(tmp_path) == []


INTERRUPT = """
import os, sys

imports = None

def count(event, arguments):
    global imports
    if event == "exec" and arguments[0].co_filename.endswith("treecast/__main__.py"):
        imports = 0
    elif event == "import" and imports is not None:
        imports += 1
        if imports == int(os.environ["AT"]):
            os.kill(os.getpid(), 2)

sys.addaudithook(count)
"""


ENTRY = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]["treecast"]


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize("at", [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
@pytest.mark.parametrize("how", ["-m", "installed"])
def test_ctrl_c_at_imports_from_the_first_line_on(tmp_path, how, at):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT)
    module, _, name = ENTRY.partition(":")
    script = ["-c", f"import sys; from {module} import {name}; sys.exit({name}())"]
    done = subprocess.run(
        [sys.executable, *(["-m", "treecast"] if how == "-m" else script), "theorems", "star", "--up-to", "3"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "AT": str(at)},
        capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


HEAVY = ["numba", "networkx", "matplotlib", "markdown_it"]


@pytest.mark.slow
@pytest.mark.each(7)
@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], ["numpy", *HEAVY]),
        (["--version"], ["numpy", *HEAVY]),
        ([], ["numpy", *HEAVY]),
        (["bounds", "--help"], ["numpy", *HEAVY]),
        (["show", "--help"], ["numpy", *HEAVY]),
        (["run", "--bogus"], ["numpy", *HEAVY]),
        (["plan", "--help"], HEAVY),  # what builders can be told is known to the builders alone
        (["plan", "--bogus"], HEAVY),
        (["theorems", "--help"], HEAVY),
    ],
    ids=lambda words: " ".join(words) or "nothing",
)
def test_help_imports_nothing_heavy(arguments, heavy):
    code = (
        "import sys; from treecast.cli import main; *arguments, heavy = sys.argv[1:]; main(arguments); "
        "print(*[m for m in heavy.split() if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments, " ".join(heavy)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stderr.splitlines()[-1] == ""


NEGATIVES = """
import sys
from treecast.cli import main
assert False, "python -O leaves this out"
for name in sys.argv[1:]:
    print("--", main(["verify", name]), flush=True)
"""


@pytest.mark.slow
def test_the_day_one_negatives_without_asserts(files):
    expected = (
        ("hand.tc", 0, "verified       yes"),
        ("early.tc", 1, "verified       NO: holds is broken once"),
        ("no-arc.tc", 1, "verified       NO: adjacent is broken once"),
        ("tampered.tc", 2, "error: the file was changed or cut off"),
    )
    done = subprocess.run(
        [sys.executable, "-O", "-c", NEGATIVES, *(name for name, _, _ in expected)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
        timeout=300,
    )  # fmt: skip
    *shown, rest = re.split(r"^-- (\d)\n", done.stdout, flags=re.MULTILINE)
    assert rest == ""
    assert list(map(int, shown[1::2])) == [status for _, status, _ in expected]
    for said, (_, _, says) in zip(shown[::2], expected, strict=True):
        assert says in said
