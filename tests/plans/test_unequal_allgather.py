"""Allgather of blocks of unequal length: over one port on complete networks, over all ports on any, in bytes, and on files."""

from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans.whole.one_port.oracle import replay
from treecast import bounds, repair, simulate
from treecast.cli import main
from treecast.cli.lengths import parse_lengths
from treecast.errors import PlanError
from treecast.files import formats
from treecast.lower_bounds import best
from treecast.lower_bounds.seconds import bound_seconds
from treecast.networks import network
from treecast.plans import builders, plan, plan_again
from treecast.running.execution.local import run
from treecast.schedule.costs import Costs, seconds_by_events, seconds_by_steps
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


def least(spec, lengths, of="steps", **more):
    return best(list(bounds("allgatherv", spec, lengths=lengths, **more)), of).value


# --- over one port ---


@pytest.mark.parametrize("nodes", [5, 8, 9, 16, 21])
def test_steps_where_messages_combine(nodes):
    """M - 1 + ⌈log2 N⌉ of M parts, whatever the lengths; no message is longer than a part of each block."""
    dice = np.random.default_rng(nodes)
    for lengths in (dice.integers(0, 30, nodes), np.eye(1, nodes, 3, dtype=int)[0] * 17):
        for parts in (1, 2, 3, 7):
            schedule = plan("allgatherv", f"complete:{nodes}", lengths=lengths, model="one-port,combining", parts=parts)
            assert verify(schedule).holds
            assert schedule.steps == schedule.claims.steps == parts - 1 + (nodes - 1).bit_length()
            assert max(schedule.message_sizes) <= sum(-(-each // parts) for each in lengths.tolist())


def test_one_flit_more_or_less_does_not_count_as_the_longest_block_does():
    """Time by the sum of lengths: of one long block each node hears one flit a step, as of equal ones."""
    lengths = [1] * 64
    lengths[5] = 1000
    schedule = plan("allgatherv", "complete:64", lengths=lengths, model="one-port")
    assert (schedule.builder, least("complete:64", lengths, model="one-port")) == ("circulant", 1062)
    assert schedule.steps <= 1067
    assert plan("allgatherv", "complete:64", lengths=lengths, model="one-port", builder="direct").steps == 63_000


def test_equal_lengths_take_the_fewest_steps():
    for nodes, each in product((2, 3, 5, 8, 13, 32), (1, 2, 7)):
        schedule = plan("allgatherv", f"complete:{nodes}", lengths=each, model="one-port")
        assert schedule.steps == each * (nodes - 1) == least(f"complete:{nodes}", each, model="one-port")


@cache
def fewest(arcs, lengths, half, one_port):
    """The fewest steps of an allgather by looking at all that can be: from a state all that one step can lead to."""
    nodes, owner = len(lengths), [v for v, each in enumerate(lengths) for _ in range(each)]
    full = frozenset(product(range(nodes), range(len(owner))))
    states, steps = {frozenset((v, c) for c, v in enumerate(owner))}, 0
    while not any(state == full for state in states):
        states, steps = (
            {after for state in states for after in after_a_step(state, arcs, len(owner), half, one_port)},
            steps + 1,
        )
    return steps


def after_a_step(state, arcs, chunks, half, one_port):
    """All states that a step leads to in which no send could be added."""
    useful = [
        (u, v, c) for u, v in arcs for c in range(chunks) if (u, c) in state and (v, c) not in state
    ]  # fmt: skip

    def go(at, chosen):
        if at == len(useful):
            yield frozenset(state | {(v, c) for _, v, c in chosen})
            return
        u, v, _ = useful[at]
        busy = any(
            (u, v) == (a, b) or (one_port and (a == u or b == v)) or (half and {a, b} & {u, v}) for a, b, _ in chosen
        )
        if not busy:
            yield from go(at + 1, [*chosen, useful[at]])
        yield from go(at + 1, chosen)

    found = set(go(0, []))
    return [one for one in found if not any(one < other for other in found)]


@pytest.mark.parametrize("model", ["one-port", "one-port,half"])
def test_no_bound_is_above_the_fewest_steps_and_plans_are_near_them(model):
    """Against a search through all schedules of three nodes."""
    arcs = tuple((u, v) for u in range(3) for v in range(3) if u != v)
    for lengths in ((1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 1, 1), (2, 1, 0), (2, 1, 1), (3, 0, 0)):
        known = fewest(arcs, lengths, "half" in model, True)
        taken = plan("allgatherv", "complete:3", lengths=lengths, model=model).steps
        assert least("complete:3", lengths, model=model) <= known <= taken <= known + 1, (lengths, known, taken)


@pytest.mark.parametrize("spec", ["path:3", "ring:3"])
def test_no_bound_of_all_ports_is_above_the_fewest_steps(spec):
    where = network(spec)
    arcs = tuple((u, int(v)) for u in range(3) for v in where.neighbors(u))
    for lengths in ((1, 0, 0), (0, 2, 0), (1, 1, 1), (2, 0, 1), (0, 1, 2)):
        known, taken = fewest(arcs, lengths, False, False), plan("allgatherv", spec, lengths=lengths).steps
        assert least(spec, lengths) <= known <= taken <= known + 1, (lengths, known, taken)


@pytest.mark.parametrize("model", ["one-port", "one-port,combining"])
def test_copies_over_one_port_survive(model):
    lengths = [3, 0, 1, 2, 4]
    for copies in (2, 3):
        schedule = plan("allgatherv", "complete:5", lengths=lengths, copies=copies, model=model, builder="direct")
        assert verify(schedule).holds
        turns = 4 + copies if "combining" in model else copies * 4 * 4
        assert schedule.steps == schedule.claims.steps == turns
        for kind in ("nodes", "links"):
            assert sweep(schedule, copies - 1, kind).holds


# --- bytes and seconds ---


@pytest.mark.each(5)
@pytest.mark.parametrize("latency", ["0.1us", "1us", "10us", "100us"])
@pytest.mark.parametrize(("nodes", "most"), [(5, 6), (8, 40), (9, 60)])
def test_the_number_of_parts_is_nearly_the_best_of_all(nodes, most, latency):
    lengths = np.random.default_rng(most).integers(0, most, nodes)
    what = {"lengths": lengths, "model": "one-port,combining", "chunk": "4KiB", "builder": "circulant"}
    costs, spec = Costs.of(latency, "12.5GB/s"), f"complete:{nodes}"
    chosen = plan("allgatherv", spec, **what, latency=latency, rate="12.5GB/s")
    every = [seconds_by_steps(plan("allgatherv", spec, **what, parts=m), costs) for m in range(1, lengths.max() + 1)]
    assert min(every) <= seconds_by_steps(chosen, costs) <= 1.01 * min(every)
    assert seconds_by_events(chosen, costs) <= seconds_by_steps(chosen, costs) * (1 + 1e-9)


def test_one_long_block_goes_in_parts_as_the_page_says():
    """63 blocks of 64 KiB and one of 4 MiB."""
    lengths = [1] * 64
    lengths[9] = 64
    costs = {"latency": "1us", "rate": "12.5GB/s"}
    what = {"lengths": lengths, "chunk": "64KiB", "model": "one-port,combining"}
    cut, whole, straight = (
        plan("allgatherv", "complete:64", **what, **more) for more in (costs, {"parts": 1}, {"builder": "direct"})
    )
    took = [seconds_by_steps(schedule, Costs.of(**costs)) * 1e6 for schedule in (cut, whole, straight)]
    assert [round(each) for each in took[:2]] == [765, 2318]
    assert (round(took[2], -3), cut.recipe.options) == (21_000, {"parts": "21"})
    bound = bound_seconds(cut.collective, cut.network, 1, cut.model, block=1 << 16, cost=Costs.of(**costs).default)
    assert round(bound.seconds * 1e6) == 667


@pytest.mark.parametrize("model", ["one-port", "one-port,combining", "all-port"])
def test_bytes_are_those_of_all_flits(model, tmp_path):
    what = {"lengths": [1, 5, 3, 0], "model": model, "latency": "1us", "rate": "1GB/s"}
    schedule = plan("allgatherv", "complete:4", bytes=9000, **what)
    assert schedule.sizes.total(schedule.collective) == 9000
    assert plan("allgatherv", "complete:4", chunk=1000, **what) == schedule
    assert plan("allgatherv", "complete:4", bytes=9000, chunk=1000, **what) == schedule
    formats.save(schedule, tmp_path / "plan.tc")
    again = formats.read(tmp_path / "plan.tc")
    assert (again, again.sizes) == (schedule, schedule.sizes)
    assert plan_again(again).rows == schedule.rows


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"bytes": 1000, "chunk": 64}, "9 flits of 64 bytes are 576 bytes, not 1,000"),
        ({"bytes": 900, "messages": 3}, "takes lengths instead of a number of messages"),
        ({"parts": 0}, "'0' is no number of parts"),
        ({"parts": "two"}, "'two' is no number of parts"),
        ({"root": 2}, "allgatherv has no root"),
        ({"lengths": None}, "needs lengths"),
        ({"lengths": [1, -1, 0, 0]}, "from 0"),
        ({"lengths": [1, 2]}, "has 4 nodes, and needs as many lengths, not 2"),
        ({"copies": 4}, "need 4 node-disjoint paths"),
    ],
)
def test_what_cannot_be(more, words):
    with pytest.raises(PlanError, match=words):
        plan("allgatherv", "complete:4", **{"lengths": [1, 5, 3, 0], "model": "one-port,combining"} | more)


# --- on any network ---


@pytest.mark.parametrize(("spec", "copies"), [("torus:3x3", 3), ("mesh:3x3", 2), ("petersen", 3), ("hypercube:3", 2)])
def test_copies_survive_every_set_of_faults(spec, copies):
    lengths = [3 * v % 4 for v in range(network(spec).nodes)]
    schedule = plan("allgatherv", spec, lengths=lengths, copies=copies)
    assert verify(schedule).holds
    for kind in ("nodes", "links"):
        assert sweep(schedule, copies - 1, kind).holds


def test_a_wrong_plan_is_refused():
    schedule = plan("allgatherv", "complete:5", lengths=[2, 1, 0, 3, 1], model="one-port")
    for row in range(len(schedule.rows)):
        kept = np.delete(np.arange(len(schedule.rows)), row)
        columns = {name: column[kept] for name, column in schedule.rows.columns().items()}
        broken = replace(
            schedule, rows=type(schedule.rows).of_any_steps(schedule.rows.payloads, **columns), claims=None
        )
        assert "delivered" in {each.rule for each in verify(broken).violations}


def test_a_complete_graph_under_other_names_is_known():
    graph = nx.relabel_nodes(nx.complete_graph(9), {v: f"h{4 * v % 9}" for v in range(9)})
    lengths = {f"h{v}": v * v % 7 for v in range(9)}
    for model, name in (("one-port", "circulant"), ("one-port,combining", "circulant")):
        schedule = plan("allgatherv", graph, lengths=lengths, model=model, builder=name)
        assert verify(schedule).holds
        assert {schedule.network.label(v): n for v, n in enumerate(schedule.collective.lengths.flits)} == lengths


# --- files, repairs and runs ---


def test_bytes_arrive_of_one_file_and_of_a_folder(tmp_path, capsys):
    folder, plan_file = tmp_path / "in", str(tmp_path / "plan.tc")
    folder.mkdir()
    contents = [bytes([65 + v]) * (v * v * 50) for v in range(5)]
    for v, content in enumerate(contents):
        (folder / f"{v}.txt").write_bytes(content)
    args = [
        "plan",
        "allgatherv",
        "complete:5",
        "--files",
        str(folder),
        "--flit",
        "100",
        "--model",
        "one-port,combining",
    ]
    assert main([*args, "--parts", "3", "-o", plan_file]) == 0
    done = ["run", plan_file, "--input", str(folder), "--flit", "100", "--output", str(tmp_path / "out")]
    assert main(done) == 0
    assert "everything to all 5 living nodes" in capsys.readouterr().out
    assert [path.read_bytes() for path in sorted((tmp_path / "out").iterdir())] == [b"".join(contents)] * 5
    assert main(["run", plan_file, "--input", str(folder), "--flit", "99"]) == 2
    assert "plan with these files, or give --flit as then" in capsys.readouterr().err
    schedule = formats.read(plan_file)
    assert run(schedule, b"the quick brown fox").holds
    (folder / "0.txt").unlink()
    assert main(["run", plan_file, "--input", str(folder), "--flit", "100"]) == 2
    assert "node 0 has no file in" in capsys.readouterr().err


def test_what_a_dead_node_has_still_said_arrives():
    schedule = plan("allgatherv", "complete:6", lengths=[2, 0, 3, 1, 1, 2], model="one-port,combining", parts=2)
    for node, step in product(range(6), range(schedule.steps)):
        trace = simulate(schedule, [f"{node}@{step}"])
        done = run(schedule, bytes(range(90)), trace.faults)
        assert done.holds == trace.holds


# --- what a second reading found ---


@pytest.mark.parametrize("model", ["all-port", "one-port", "one-port,combining", "one-port,half"])
def test_no_bound_counts_distances_that_no_flit_goes(model):
    """All flits lie in the middle, or at one end, of a path."""
    for lengths in ([0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0, 0], [2, 0, 0, 0, 0]):
        spec, holder = f"path:{len(lengths)}", int(np.argmax(lengths))
        fewest_of_all = lengths[holder] - 1 + max(holder, len(lengths) - 1 - holder)
        if model == "all-port":
            assert plan("allgatherv", spec, lengths=lengths).steps == least(spec, lengths) == fewest_of_all
        assert least(spec, lengths, model=model) <= fewest_of_all + 2  # to one side first; a node sends or hears
    graph = nx.DiGraph(["ab", "ae", "ba", "bc", "bd", "cd", "ce", "de", "ea", "ed"])
    graph.nodes["e"]["relay"] = True
    lengths = {"a": 0, "b": 1, "c": 0, "d": 0}
    assert plan("allgatherv", graph, lengths=lengths).steps == least(graph, lengths) == 1
    assert {bound.value for bound in bounds("allgatherv", "mesh:3x3", lengths=0, model="wormhole")} == {0}
    with pytest.raises(PlanError, match="no lower bounds of allgatherv under wormhole"):
        bounds("allgatherv", "mesh:3x3", lengths=1, model="wormhole")


@pytest.mark.parametrize("spec", ["hypercube:3", "complete:6"])
@pytest.mark.parametrize("model", ["all-port", "one-port"])
def test_copies_of_bytes(spec, model):
    if model == "one-port" and not spec.startswith("complete"):
        return
    schedule = plan("allgatherv", spec, lengths=5, copies=2, chunk=1024, model=model)
    assert verify(schedule).holds
    assert verify(schedule, method="expanded").holds


@pytest.mark.parametrize("model", ["shouting", "whispering", "one-port,combining"])
def test_bounds_of_equal_blocks_are_not_above_those_of_an_allgather(model):
    spec = "complete:8" if "one-port" in model else "hypercube:3"
    for copies in (1, 2, 3):
        for of in ("steps", "transmissions"):
            whole = best(list(bounds("allgather", spec, messages=2, copies=copies, model=model)), of).value
            assert least(spec, 2, of, copies=copies, model=model) <= whole


def test_a_repair_plans_as_it_was_told():
    schedule = plan("allgatherv", "complete:8", lengths=[9, 1, 1, 2, 0, 3, 1, 1], model="one-port,combining", parts=4)
    found = repair(schedule, dead_nodes=[3])
    assert (found.schedule.steps, found.schedule.recipe.options) == (4 - 1 + 3, {"parts": "4"})
    assert verify(found.schedule).holds


def test_no_more_parts_than_flits():
    schedule = plan("allgatherv", "complete:5", lengths=[1, 5, 0, 0, 2], model="one-port,combining", parts=1000)
    assert schedule.steps == 5 - 1 + 3


def test_files_say_how_many_bytes_there_are(tmp_path, capsys):
    folder, file = tmp_path / "in", str(tmp_path / "plan.tc")
    folder.mkdir()
    for v in range(4):
        (folder / str(v)).write_bytes(bytes(v * 250))
    what = ["plan", "allgatherv", "complete:4", "--files", str(folder), "--model", "one-port,combining"]
    costs = ["--latency", "1us", "--rate", "1GB/s"]
    assert main([*what, "--flit", "100", *costs, "-o", file]) == 0
    assert "a chunk of 100 bytes" in capsys.readouterr().out
    assert main(["run", file, "--input", str(folder)]) == 0
    for more, words in (
        (["--flit", "100", "--chunk", "200"], "leave the others out"),
        (["--bytes", "1MB"], "leave the others out"),
        (["--flit", "0"], "'0' is no number of bytes"),
    ):
        assert main([*what, *more]) == 2
        assert words in capsys.readouterr().err
    for verb in (
        ["compare", "star:4", "ring:5", "--collective", "allgatherv"],
        ["advise", "allgatherv", "--nodes", "8", "--bytes", "1MB", *costs],
    ):
        assert main(verb) == 2
        assert "has blocks of different lengths: plan it on each network" in capsys.readouterr().err


@pytest.mark.parametrize("model", ["all-port", "shouting", "one-port", "one-port,combining"])
def test_one_node_needs_no_time(model):
    for kind, more in (("allgatherv", {"lengths": 3, "chunk": 64}), ("allgather", {"bytes": 64})):
        schedule = plan(kind, "complete:1", **more, model=model, latency="1us", rate="1GB/s")
        assert (schedule.steps, seconds_by_steps(schedule, Costs.of("1us", "1GB/s"))) == (0, 0)


ROOT = Path(__file__).parents[2]


ANYWHERE = ["mesh:3x4", "hypercube:4", "petersen", "ring:7", "kautz:2,2", "tree:2,2", "star:4", "dragonfly:4,2"]


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("nodes", [8, 13, 33, 64])
@pytest.mark.parametrize(("model", "most"), [("one-port", 1.03), ("one-port,half", 1.15)])
def test_how_close_to_the_bound_lengths_to_100_come(nodes, model, most):
    lengths = np.random.default_rng(nodes).integers(0, 101, nodes)
    schedule = plan("allgatherv", f"complete:{nodes}", lengths=lengths, model=model)
    assert verify(schedule).holds
    assert schedule.steps <= most * least(f"complete:{nodes}", lengths, model=model)


@pytest.mark.slow
def test_the_table_of_the_page():
    page = (ROOT / "docs/explanation/one-port.md").read_text()
    dice = parse_lengths(network("complete:64"), "random:100")
    for name, lengths in (
        ("one of 1000 flits, 63 of one", [1000] + [1] * 63),
        ("`--lengths random:100`", dice),
        ("10 flits each", [10] * 64),
    ):
        cells = list[str]()
        for model in ("one-port", "one-port,half"):
            steps = plan("allgatherv", "complete:64", lengths=lengths, model=model).steps
            cells.append(f"{steps} ({least('complete:64', lengths, model=model)})")
        straight = plan("allgatherv", "complete:64", lengths=lengths, model="one-port", builder="direct").steps
        assert f"| {name} | {' | '.join(cells)} | {straight} |" in page


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize("spec", ANYWHERE)
def test_all_ports_meet_the_bound_or_nearly(spec):
    nodes = network(spec).nodes
    dice = np.random.default_rng(nodes)
    for lengths in (dice.integers(0, 10, nodes), np.full(nodes, 3), dice.integers(0, 300, nodes)):
        schedule = plan("allgatherv", spec, lengths=lengths)
        assert verify(schedule).holds
        assert schedule.steps <= least(spec, lengths) + 5
        assert schedule.transmissions == least(spec, lengths, "transmissions")


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["fat-tree:4", "fat-tree:2"])
def test_past_relays(spec):
    where = network(spec)
    for most in (4, 40):
        lengths = np.where(where.relays, 0, np.random.default_rng(most).integers(0, most, where.nodes))
        schedule = plan("allgatherv", where, lengths=lengths)
        assert verify(schedule).holds
        assert schedule.steps <= 1.1 * least(where, lengths)
    assert plan("allgatherv", where, lengths=2).steps == least(where, 2)
    with pytest.raises(PlanError, match="is a relay, which takes no part: its length is 0"):
        plan("allgatherv", where, lengths=[1] * where.nodes)


@pytest.mark.slow
@given(st.data())
def test_any_graph_any_lengths(data):
    nodes = data.draw(st.integers(2, 9))
    tree = nx.random_labeled_tree(nodes, seed=data.draw(st.integers(0, 99))) if nodes > 2 else nx.path_graph(2)
    pairs = list(combinations(range(nodes), 2))
    tree.add_edges_from(data.draw(st.lists(st.sampled_from(pairs), max_size=nodes)))
    lengths = data.draw(st.lists(st.integers(0, 6), min_size=nodes, max_size=nodes))
    schedule = plan("allgatherv", tree, lengths=lengths)
    assert verify(schedule).holds
    assert verify(schedule, method="expanded").holds
    assert schedule.steps >= least(tree, lengths)
    assert simulate(schedule).holds


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["network", "space-time"])
def test_pictures(kind, tmp_path):
    schedule = plan("allgatherv", "mesh:3x3", lengths=[3, 0, 1, 4, 1, 5, 9, 2, 6])
    formats.save(schedule, tmp_path / "plan.tc")
    assert main(["draw", str(tmp_path / "plan.tc"), "--kind", kind, "-o", str(tmp_path / "plan.svg")]) == 0
    assert "31 flits in 9 messages, 1 of them null" in (tmp_path / "plan.svg").read_text()
    assert main(["draw", str(tmp_path / "plan.tc")]) == 0


@pytest.mark.slow
def test_very_many_flits_go_in_streams_over_one_port():
    lengths = np.random.default_rng(1).integers(0, 30_000, 16)
    schedule = plan("allgatherv", "complete:16", lengths=lengths, model="one-port", builder="circulant")
    assert verify(schedule).holds
    assert len(schedule.rows) < 2**21
    assert schedule.steps <= 1.01 * least("complete:16", lengths, model="one-port")


ONE_PORT = ["one-port", "one-port,half", "one-port,combining", "one-port,combining,half"]


def held_in_the_end(schedule, *, half=False):
    """What each node holds in the end, by plain loops; chunks are numbered node by node."""
    sends = [send for step in schedule.expand() for send in as_sends(step)]
    ends = np.cumsum([0, *schedule.collective.lengths.flits.tolist()])
    start = [range(a, b) for a, b in pairwise(ends)]
    return replay(sends, start, half=half)


def as_sends(step):
    return [
        Send(step.step, *ends) for ends in zip(*(c.tolist() for c in (step.src, step.dst, step.chunk)), strict=True)
    ]


class Send:
    def __init__(self, step, src, dst, chunk):
        self.step, self.src, self.dst, self.chunk = step, src, dst, chunk


def planned_by_all(spec, lengths, model, copies=(1,)):
    """Yield a plan by each builder, of each number of parts and copies."""
    for entry in builders("allgatherv", network(spec)):
        for x in copies if model in entry.models else ():
            for parts in (1, 2, 5) if entry.options else (None,):
                more = {} if parts is None else {"parts": parts}
                if x <= entry.most(network(spec)):
                    yield plan("allgatherv", spec, lengths=lengths, model=model, builder=entry.name, copies=x, **more)


@pytest.mark.slow
@pytest.mark.each(7)
@pytest.mark.parametrize("model", ONE_PORT)
@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
def test_all_small_lengths_by_every_builder_and_every_judge(nodes, model):
    for lengths in product(range(4 if nodes < 4 else 3), repeat=nodes):
        for schedule in planned_by_all(f"complete:{nodes}", lengths, model):
            report = verify(schedule)
            assert report.holds, (lengths, schedule.recipe, report.violations)
            assert verify(schedule, method="expanded").holds
            assert schedule.transmissions == sum(lengths) * (nodes - 1)
            assert schedule.steps >= least(f"complete:{nodes}", lengths, model=model)
            if "combining" not in model:
                every = set(range(sum(lengths)))
                assert all(held == every for held in held_in_the_end(schedule, half="half" in model))


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize(
    ("spec", "most", "ratio"),
    [("hypercube:7", 31, 1.05), ("star:5", 31, 1.05), ("torus:8x8", 301, 1.1), ("hypercube:8", 4, 1.1)],
)
def test_many_flits_of_many_nodes_go_in_streams(spec, most, ratio):
    lengths = np.random.default_rng(1).integers(0, most, network(spec).nodes)
    schedule = plan("allgatherv", spec, lengths=lengths)
    assert verify(schedule).holds
    assert (schedule.builder, schedule.steps <= ratio * least(spec, lengths)) == ("spread", True)
