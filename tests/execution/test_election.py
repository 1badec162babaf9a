import hashlib
import json
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import all_sends_of, parts_of, tasks_of
from tests.simulation.test_replay import ADDING, COPYING, draw_faults, of_any_collective
from tests.strategies import arbitrary, examples
from treecast.cli import main
from treecast.errors import FaultError, PlanError, TreecastError
from treecast.files import formats
from treecast.plans import plan
from treecast.running.execution.election import elect
from treecast.simulation.faults import Faults
from treecast.simulation.lies import replay_lies, verdicts
from treecast.simulation.sweeps import sweep

pytestmark = pytest.mark.each(3)

NOTHING = Faults()


def plain_election(schedule, data, liars, faults=NOTHING):
    """Elect in plain loops, with a dictionary of copies: what each node believes of each chunk (None: nothing)."""
    where, parts = schedule.collective, parts_of(schedule, data)
    tasks, _ = tasks_of(where.kind, where.nodes, where.messages, where.root)
    copies, first, by_step = {}, {}, defaultdict(list)
    for send in all_sends_of(schedule):
        by_step[send[0]].append(send)
    for step in sorted(by_step):
        new = []
        # of several copies that come in one step, the first row's is first
        for _, src, dst, port, tree, chunk, *_ in sorted(by_step[step], key=lambda send: (send[7], send[6])):
            otherwise = first.get((src, chunk)) if schedule.copies == 1 else None
            content = parts[chunk] if src == tasks[chunk][0] else copies.get((src, chunk, tree), otherwise)
            if content is None or step >= faults.nodes.get(src, step + 1):
                continue
            node_lies = src != tasks[chunk][0] and step >= liars.nodes.get(src, step + 1)
            if node_lies or step >= liars.arcs.get((src, port), step + 1):
                content = bytes(255 - b for b in parts[chunk])
            if step < faults.arcs.get((src, port), step + 1) and step < faults.nodes.get(dst, step + 1):
                new.append((dst, chunk, tree, content))
        for dst, chunk, tree, content in new:
            copies.setdefault((dst, chunk, tree), content)
            first.setdefault((dst, chunk), content)
    votes = defaultdict(Counter)
    for (v, chunk, _), content in copies.items():
        votes[v, chunk][content] += 1
    believed = {}
    for chunk, (start, wanting) in tasks.items():
        for v in wanting if faults.nodes.get(start) != 0 else ():
            if v in faults.nodes:
                continue
            (most, count), (_, next_count) = (votes[v, chunk].most_common(2) + [(None, 0)] * 2)[:2]
            believed[v, chunk] = parts[chunk] if v == start else most if count > next_count else None
    return believed


@examples(100)
@given(of_any_collective(COPYING), st.binary(max_size=300), st.data())
def test_elections_against_plain_loops(schedule, data, draws):
    liars = draw_faults(draws, schedule, root_too=schedule.collective.all_source)
    done = check_election(schedule, data, liars)
    assert (done.steps, done.transmissions) == (schedule.steps, schedule.transmissions)
    check_election(schedule, data, liars, draw_faults(draws, schedule))


@examples(100)
@given(arbitrary(), st.binary(max_size=50), st.data())
def test_elections_of_any_schedule_against_plain_loops(schedule, data, draws):
    """Copies may be missing, or more than claimed, of no tree, or not where they are to be sent on."""
    liars = draw_faults(draws, schedule, root_too=schedule.collective.all_source)
    faults = draw_faults(draws, schedule)
    check_election(schedule, data, liars, faults)
    whole, found = (
        elect(schedule, bytes(schedule.collective.chunks), liars, faults),
        replay_lies(schedule, liars, faults),
    )
    assert (found.fooled, found.undecided) == (whole.fooled, whole.undecided)


def check_election(schedule, data, liars, faults=NOTHING):
    done, parts = elect(schedule, data, liars, faults), parts_of(schedule, data)
    believed = plain_election(schedule, data, liars, faults)
    expected = np.zeros_like(done.elected)
    for (v, chunk), content in believed.items():
        expected[v, chunk] = 2 if content is None else 1 if content == parts[chunk] else 3
    assert (done.elected == expected).all()
    for v in range(schedule.network.nodes):
        if v in faults.nodes:
            assert done.digests[v] is None
            continue
        mine = {chunk: content for (u, chunk), content in sorted(believed.items()) if u == v}
        whole = b"".join(bytes(len(parts[c])) if content is None else content for c, content in mine.items())
        assert done.digests[v] == hashlib.sha256(whole).hexdigest()
        assert done.true_digests[v] == hashlib.sha256(b"".join(parts[c] for c in mine)).hexdigest()
    groups = [set(done.right), set(done.fooled), set(done.undecided)]
    assert sorted(v for group in groups for v in group) == done.honest
    assert all(done.digests[v] == done.true_digests[v] for v in done.right)
    marked = [(v, c) for v in range(schedule.network.nodes) for a, b in done.fooled_chunks(v) for c in range(a, b)]
    assert marked == [(v, c) for v, c in np.argwhere(expected == 3).tolist()]
    return done


def all_arcs(schedule):
    table = schedule.network.neighbor_table()
    return [(u, port) for u, port in np.argwhere(table >= 0).tolist()]


def harmed(schedule, sets):
    return [
        (liars, fooled, undecided)
        for liars, (fooled, undecided) in zip(
            sets, verdicts(schedule, [(liars, Faults()) for liars in sets]), strict=True
        )
        if fooled or undecided
    ]


def sets_of(schedule, size, nodes=True, arcs=True):
    """Every set of so many lying nodes and arcs, from the start."""
    rooted = {schedule.collective.root} if not schedule.collective.all_source else set()
    names = [("node", u) for u in range(schedule.network.nodes) if u not in rooted] if nodes else []
    names += [("arc", a) for a in all_arcs(schedule)] if arcs else []
    return [
        Faults({u: 0 for what, u in some if what == "node"}, {a: 0 for what, a in some if what == "arc"})
        for some in combinations(names, size)
    ]


@pytest.mark.parametrize("kind", COPYING)
@pytest.mark.parametrize(("spec", "copies"), [("star:4", 3), ("hypercube:3", 3), ("hypercube:4", 4)])
def test_fewer_liars_than_half_the_copies_fool_nobody(kind, spec, copies):
    for messages in (1, 3) if kind not in ("allgather", "alltoall") else (1,):
        schedule = plan(kind, spec, messages=messages, copies=copies)
        assert (copies - 1) // 2 == 1
        assert not harmed(schedule, sets_of(schedule, 1))
        beyond = harmed(schedule, sets_of(schedule, 2, arcs=False))
        assert beyond
        # an even number of copies: two liars can make a tie, never a majority
        assert any(fooled for _, fooled, _ in beyond) == (copies % 2 == 1)
        assert all(bool(undecided) == (copies % 2 == 0) for _, _, undecided in beyond)


@pytest.mark.parametrize("kind", COPYING)
@pytest.mark.parametrize(("spec", "copies", "dead", "lying"), [("star:4", 3, 0, 1), ("hypercube:4", 4, 1, 1)])
def test_dead_and_lying_ones_do_no_harm_while_c_plus_2l_is_below_x(kind, spec, copies, dead, lying):
    """All sets of so many of each; one dead one more, and there is a set that does harm."""
    messages = 1 if kind in ("allgather", "alltoall") else 3
    schedule = plan(kind, spec, messages=messages, copies=copies)
    held = sweep(schedule, liars=lying) if messages > 1 else sweep(schedule, liars=lying, sample=300)
    assert held.holds
    assert (held.most, held.exhaustive) == (dead, messages > 1)
    beyond = sweep(schedule, dead + 1, liars=lying)
    assert not beyond.holds
    done = elect(schedule, bytes(range(1, 256)), beyond.lying, beyond.counterexample)
    assert beyond.node in {*done.fooled, *done.undecided}


def test_a_dead_way_is_not_filled_with_what_came_by_another():
    """A node must not pass on in one tree what a liar altered in another, or one dead node would double the lie."""
    schedule = plan("broadcast", "hypercube:4", copies=4)
    shared = [(u, v) for u in range(1, 16) for v in range(1, 16) if u != v]
    cases = [(Faults({u: 0}), Faults({v: 0})) for u, v in shared]
    assert not any(fooled or undecided for fooled, undecided in verdicts(schedule, cases))


@pytest.mark.parametrize("messages", [1, 4, 9])
def test_larger_broadcasts_are_fooled_by_none_they_tolerate(messages):
    star = plan("broadcast", "star:5", messages=messages, copies=4)
    assert not harmed(star, sets_of(star, 1))
    cube = plan("broadcast", "hypercube:5", messages=messages, copies=5)
    assert not harmed(cube, sets_of(cube, 2, arcs=False))
    arcs, random = all_arcs(cube), np.random.default_rng(messages)
    pairs = [random.choice(len(arcs), 2, replace=False).tolist() for _ in range(2000)]
    assert not harmed(cube, [Faults({}, {arcs[i]: 0, arcs[j]: 0}) for i, j in pairs])
    mixed = [Faults({1 + i % 31: 0}, {arcs[j]: 0}) for i, j in pairs]
    assert not harmed(cube, mixed)
    liars, fooled, _ = harmed(cube, sets_of(cube, 3, arcs=False))[0]
    assert len(liars) == 3
    assert elect(cube, bytes(range(90)), liars).fooled == fooled


def test_a_lying_link_is_one_liar():
    """Both its arcs lie; but no two disjoint paths go over one link."""
    for spec in ("star:4", "hypercube:3"):
        for kind in COPYING:
            schedule = plan(kind, spec, messages=2, copies=3)
            network = schedule.network
            links = [(u, p, int(network.neighbor(u, p))) for u, p in all_arcs(schedule)]
            sets = [Faults({}, {(u, p): 0, (v, int(network.port_between(v, u))): 0}) for u, p, v in links if u < v]
            assert not harmed(schedule, sets)


def test_liars_who_change_their_mind_late_do_less():
    schedule = plan("broadcast", "star:4", messages=12, copies=3)
    early, late = (elect(schedule, bytes(range(120)), Faults({2: step, 6: step})) for step in (0, schedule.steps))
    assert early.fooled
    assert early.altered > late.altered == 0
    assert len(late.right) == 22
    assert early.tolerates == late.tolerates == 1


def test_one_copy_is_believed_whatever_it_says():
    schedule = plan("broadcast", "path:4", messages=2)
    done = elect(schedule, b"abcd", Faults({1: 0, 2: 0}))
    assert done.tolerates == 0
    assert done.fooled == [3]  # the second liar does not undo what the first did
    assert done.fooled_chunks(3) == [(0, 2)]
    assert (done.right, done.honest, done.undecided) == ([0], [0, 3], [])
    assert done.digests[3] == hashlib.sha256(bytes(255 - b for b in b"abcd")).hexdigest()


@pytest.mark.parametrize("size", [0, 1, 2, 7, 101])
def test_any_size_of_file_is_elected(size):
    data = np.random.default_rng(size).bytes(size)
    for kind in COPYING:
        done = elect(plan(kind, "star:3", messages=2, copies=2), data, Faults())
        assert done.right == list(range(6))
        assert done.digests == done.true_digests
        assert done.digest == hashlib.sha256(data).hexdigest()


def test_no_bytes_cannot_be_altered():
    schedule = plan("broadcast", "path:4", messages=2)
    assert elect(schedule, b"", Faults({1: 0})).right == [0, 2, 3]
    assert replay_lies(schedule, Faults({1: 0})).fooled == [2, 3]


def test_what_cannot_be_elected_is_refused_in_one_line():
    for kind in ADDING:
        for judge in (lambda s, f: elect(s, b"x", f), replay_lies):
            with pytest.raises(FaultError, match=r"^[^\n]* a sum has one copy[^\n]*$"):
                judge(plan(kind, "star:3"), Faults({1: 0}))
    schedule = plan("broadcast", "star:4", messages=3, copies=3)
    for liars in (Faults({24: 0}), Faults({1: -1}), Faults({}, {(0, 3): 0})):
        for judge in (lambda s, f: elect(s, b"x", f), replay_lies):
            with pytest.raises(TreecastError, match=r"^[^\n]+$"):
                judge(schedule, liars)
    with pytest.raises(PlanError, match=r"^72 buffers of [^\n]* do not fit"):
        elect(schedule, memoryview(np.zeros(2**28, np.uint8)), Faults({1: 0}))


def test_progress_goes_to_the_end():
    told = []
    schedule = plan("broadcast", "star:4", messages=3, copies=3)
    elect(schedule, b"abc", Faults({1: 0}), progress=lambda *report: told.append(report))
    assert told == [(step + 1, schedule.steps, "steps") for step in range(schedule.steps)]


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Run a command where there are plans and data; return its exit status, its standard output and its standard error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_bytes(bytes(range(256)) * 3)
    formats.save(plan("broadcast", "star:4", messages=6, copies=3), "three.tc")
    formats.save(plan("broadcast", "hypercube:3", messages=6, copies=2), "two.tc")
    formats.save(plan("broadcast", "star:4", messages=6), "one.tc")
    for kind in (*COPYING, *ADDING):
        formats.save(plan(kind, "star:3", messages=2), f"{kind}.tc")

    def run(*arguments):
        status = main(list(arguments))
        return status, *capsys.readouterr()

    return run


def test_the_command_line_tells_who_is_fooled(ask):
    status, out, _ = ask("run", "three.tc", "--input", "data", "--lying-nodes", "2134")
    assert status == 0
    assert "the right data at all 23 honest nodes" in out
    assert "any c dead and l lying ones while c + 2 l < 3, but for data of their own: most copies decide" in out
    status, out, _ = ask("run", "three.tc", "--input", "data", "--lying-nodes", "2134", "3214@2", "--json")
    found = json.loads(out)
    assert status == 1
    assert (found["tolerates"], found["honest"], found["liars"]) == (1, 22, ["2134", "3214@2"])
    assert found["fooled"]
    assert found["right"] + len(found["fooled"]) + len(found["undecided"]) == 22
    told = {node["node"]: node for node in found["node_reports"]}
    assert told["2134"]["verdict"] == "lies"
    assert [node for node, it in told.items() if it["verdict"] == "WRONG"] == found["fooled"]
    assert all(it["fooled"] and it["sha256"] != it["true_sha256"] for it in told.values() if it["verdict"] == "WRONG")
    status, out, _ = ask("run", "two.tc", "--input", "data", "--lying-links", "0b000-0b001@1")
    assert status == 1
    assert "0 elected wrong data" in out
    assert "no liar: 2 copies cannot outvote one" in out
    status, out, _ = ask("run", "one.tc", "--input", "data", "--lying-nodes", "2134")
    assert status == 1
    assert "WRONG" in out
    assert "no liar: 1 copy cannot outvote one" in out


def test_the_command_line_has_dead_and_lying_ones_at_once(ask):
    formats.save(plan("broadcast", "hypercube:4", copies=4), "four.tc")
    faults = ["--dead-nodes", "0b0001", "--lying-nodes", "0b0010"]
    for verb, *more in (("run", "--input", "data"), ("simulate",)):
        status, out, _ = ask(verb, "four.tc", *more, *faults)
        assert status == 0
        assert "the right data at all 14 honest nodes" in out
        status, out, _ = ask(verb, "four.tc", *more, *faults, "0b0100", "--json")
        assert (status, json.loads(out)["faults"]) == (1, ["0b0001"])
    status, out, _ = ask("verify", "four.tc", "--sweep", "nodes", "--liars", "1")
    assert status == 0
    assert "survives every set of at most 1 node that fails and 1 that lies: 241 sets" in out
    status, out, _ = ask("verify", "four.tc", "--sweep", "nodes", "--liars", "2")
    assert status == 1
    assert "does not elect everything as it is" in out


@pytest.mark.parametrize("kind", [*COPYING, *ADDING])
def test_the_command_line_runs_and_simulates_every_collective(ask, kind):
    for verb, *more in (("run", "--input", "data"), ("simulate",)):
        status, out, err = ask(verb, f"{kind}.tc", *more, "--json")
        found = json.loads(out)
        assert (status, err, found["lost"], found["delivered"]) == (0, "", [], 6)
        status, out, _ = ask(verb, f"{kind}.tc", *more)
        assert status == 0
        assert "everything to all 6 living nodes" in out
        status, out, _ = ask(verb, f"{kind}.tc", *more, "--dead-nodes", "213@1")
        assert status == (0 if kind == "reduce" and "lacks" not in out else 1)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("allreduce", ["--lying-nodes", "213"], "a sum has one copy"),
        ("three", ["--lying-nodes", "2134", "--dead-nodes", "1234"], "the root 1234 cannot be dead from the start"),
        ("three", ["--lying-links", "1234-4321"], "is no link of star:4"),
        ("three", ["--lying-nodes", "9999"], "9999"),
    ],
)
def test_what_the_command_line_refuses_about_liars(ask, name, arguments, said):
    status, out, err = ask("run", f"{name}.tc", "--input", "data", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.slow
@examples(60)
@given(of_any_collective(COPYING), st.data())
def test_verdicts_without_bytes_are_those_of_elections(schedule, draws):
    cases = [
        (draw_faults(draws, schedule, root_too=schedule.collective.all_source), draw_faults(draws, schedule))
        for _ in range(3)
    ]
    data = bytes(schedule.collective.chunks)  # a byte for each chunk
    for case, verdict in zip(cases, verdicts(schedule, cases), strict=True):
        done = elect(schedule, data, *case)
        assert verdict == (done.fooled, done.undecided)
