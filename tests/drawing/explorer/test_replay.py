"""The page's replay against ``simulate``: arrival by arrival, under random faults and liars, run by node."""

from itertools import pairwise

import numpy as np
import pytest

import treecast
from tests.drawing.explorer.cases import MODULES, SORTS, planned, random_faults, run_in_node, spelled
from treecast.drawing.explorer.page import columns_of, facts_of, packed
from treecast.schedule.atoms import cut_into_atoms
from treecast.simulation.faults import Faults
from treecast.simulation.lies import replay_lies
from treecast.simulation.replay import replay
from treecast.steps import NEVER

TRIALS = 6
REPLAY = f"""
import {{ unpack }} from "{MODULES}/data.js";
import {{ replay }} from "{MODULES}/replay.js";
import {{ partOf }} from "{MODULES}/orbit.js";
import {{ judgeLies }} from "{MODULES}/lies.js";
import {{ singleFaults }} from "{MODULES}/trials.js";
import fs from "node:fs";
const found = [];
for (const {{ data, cases, single }} of JSON.parse(fs.readFileSync(0, "utf8"))) {{
  const job = await unpack(data);
  if (single) found.push(singleFaults(job).faults.map((fault) => replay(job, fault).lacking));
  else found.push(cases.map(([nodes, arcs, h, liars]) => {{
    const part = partOf(job, h);
    const run = replay(part, {{ nodes: new Map(nodes), arcs: new Map(arcs) }});
    const {{ base, offset, length, lacking }} = run;
    const lies = liars && judgeLies(part, new Map(liars), run);
    return {{ base, offset, length, lacking, lies, living: run.living, arrival: [...run.arrival], done: [...run.done] }};
  }}));
}}
console.log(JSON.stringify(found));
"""


def page_data(schedule):
    return packed(facts_of(schedule), columns_of(schedule))


def expected_arrivals(trace, source, found):
    """Return the arrivals that the page must have found, and those that it did, by chunk and node."""
    nodes = trace.schedule.network.nodes
    original = source[0]
    atoms = cut_into_atoms(original.of_node_zero())
    mine, theirs = [], []
    arrival = np.array(found["arrival"], np.int64).reshape(-1, nodes)
    for piece, (base, offset, length) in enumerate(zip(found["base"], found["offset"], found["length"], strict=True)):
        for place in range(length):
            chunk = int(atoms.bounds[base]) + offset + place
            if original.orbit:
                chunk = int(original.collective.of_source(source[1], chunk, original.network.translate))
            first = arrival[piece]
            later = first + place * int(atoms.shift[base])
            theirs.append(np.where((first == 0) | (first == NEVER), first, later).tolist())
            steps = [trace.arrival_step(node, chunk) for node in range(nodes)]
            mine.append([NEVER if step is None else step for step in steps])
    return mine, theirs


def compare(sorts, seeds):
    work, meant = [], []
    for sort in sorts:
        schedule = planned(sort)
        cases = []
        for seed in seeds:
            faults = random_faults(schedule, seed)
            source = seed * 5 % schedule.network.nodes if schedule.orbit else 0
            cases.append([*spelled(schedule.network, faults), source, None])
            meant.append((sort, schedule, faults, source))
        work.append({"data": page_data(schedule), "cases": cases})
    answers = [one for many in run_in_node(REPLAY, work) for one in many]
    for (sort, schedule, faults, source), found in zip(meant, answers, strict=True):
        trace = replay(schedule, faults)
        mine, theirs = expected_arrivals(trace, (schedule, source), found)
        assert mine == theirs, (sort, faults)
        assert found["living"] == trace.living.sum(), (sort, faults)
        if not schedule.orbit:
            assert found["lacking"] == sorted({node for node, _, _ in trace.lost}), (sort, faults)
            assert found["done"] == trace.completion.tolist(), (sort, faults)


def test_the_way_of_a_chunk_is_the_one_by_which_it_came_first():
    """From node to node along the rows that brought it, each with the step at which the simulator has it."""
    script = f"""
        import {{ unpack }} from "{MODULES}/data.js";
        import {{ replay }} from "{MODULES}/replay.js";
        import {{ wayOfChunk }} from "{MODULES}/inspector.js";
        import fs from "node:fs";
        const {{ data, nodes }} = JSON.parse(fs.readFileSync(0, "utf8"));
        const job = await unpack(data), run = replay(job, {{ nodes: new Map(nodes), arcs: new Map() }});
        const chunks = [...Array(job.bounds[job.atoms]).keys()];
        console.log(JSON.stringify(chunks.map((c) => [...Array(job.nodes).keys()].map((u) => wayOfChunk(job, run, c, u)))));
    """
    schedule, faults = planned("streams in trees"), Faults({2: 3, 9: 0, 11: 0, 13: 1})
    trace = replay(schedule, faults)
    ways = run_in_node(script, {"data": page_data(schedule), "nodes": list(faults.nodes.items())})
    links = set(zip(schedule.rows.src.tolist(), schedule.rows.dst.tolist(), strict=True))
    for chunk, of_chunk in enumerate(ways):
        for node, way in enumerate(of_chunk):
            steps = [trace.arrival_step(u, chunk) for u, _ in way]
            assert steps == [step for _, step in way]
            assert bool(way) == (trace.arrival_step(node, chunk) is not None)
            assert not way or (way[0][0], way[-1][0]) == (0, node)
            assert all((u, v) in links for (u, _), (v, _) in pairwise(way))
            assert steps == sorted(steps)


def lying(sort, seed):
    schedule = planned(sort)
    faults = random_faults(schedule, seed)
    liars = {node: seed % 3 for node in ((seed * 7 + 3) % 23 + 1, (seed * 11 + 5) % 23 + 1) if node not in faults.nodes}
    return schedule, faults, Faults(liars)


def test_a_page_elects_as_the_simulator_does():
    """Star:4 with three copies, and with one: dead nodes, cut arcs and liars at once."""
    work, meant = [], []
    single = treecast.plan("broadcast", "star:4", messages=2)
    for schedule, seeds in ((planned("streams in trees"), range(12)), (single, range(12))):
        cases = []
        for seed in seeds:
            _, faults, liars = lying("streams in trees", seed)
            cases.append([*spelled(schedule.network, faults), 0, list(liars.nodes.items())])
            meant.append(replay_lies(schedule, liars, faults))
        work.append({"data": page_data(schedule), "cases": cases})
    answers = [one["lies"] for many in run_in_node(REPLAY, work) for one in many]
    for expected, found in zip(meant, answers, strict=True):
        assert found == {"fooled": expected.fooled, "undecided": expected.undecided, "right": expected.right}
    assert any(expected.fooled for expected in meant)
    assert any(expected.undecided for expected in meant)


def test_all_single_faults_are_those_of_a_sweep():
    """Who starves under each dead node and each dead link, of a plan that one fault harms."""
    schedule = treecast.plan("broadcast", "mesh:3x3", messages=2)
    (found,) = run_in_node(REPLAY, [{"data": page_data(schedule), "single": True}])
    network, every = schedule.network, []
    links = {}
    for u in range(network.nodes):
        for port, v in enumerate(network.neighbor(u, np.arange(network.ports)).tolist()):
            if v >= 0:
                links.setdefault(frozenset((u, v)), {})[u, port] = 0
    every = [Faults({node: 0}) for node in range(1, network.nodes)] + [Faults({}, arcs) for arcs in links.values()]
    expected = [sorted({node for node, _, _ in replay(schedule, faults).lost}) for faults in every]
    assert found == expected
    assert any(expected)


@pytest.mark.slow
def test_a_page_replays_as_the_simulator_does():
    compare(SORTS, range(TRIALS))


@pytest.mark.long
def test_a_page_replays_as_the_simulator_does_many_times():
    compare(SORTS, range(TRIALS, 150))
