"""Text pictures: against golden ones, and against a replay send by send."""

import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import sends_of
from tests.strategies import arbitrary, examples, planned
from treecast.collectives import Collective
from treecast.drawing.passages import find_received
from treecast.drawing.shapes import trees_of
from treecast.drawing.text import TREE_SIGNS, completion_text, space_time_text, tree_text
from treecast.errors import ScheduleError, TreecastError
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.schedule import Payloads, Rows, Schedule
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate
from treecast.steps import NEVER


def heard(schedule, faults):
    """What arrives, as (row, step, chunk), in a replay of a plain schedule by plain loops over single sends."""
    forever = schedule.steps + 1
    holds, given_ = {}, schedule.collective.given()
    for node, first, stop in zip(given_.node.tolist(), given_.first.tolist(), given_.stop.tolist(), strict=True):
        holds.update({(node, chunk): 0 for chunk in range(first, stop) if faults.nodes.get(node, 1) > 0})
    found, by_step = [], defaultdict(list)
    for send in sends_of(schedule):
        by_step[send[0]].append(send)
    for step in sorted(by_step):
        for _, src, dst, port, _, chunk, row in by_step[step]:
            up = step < min(
                faults.nodes.get(src, forever), faults.nodes.get(dst, forever), faults.arcs.get((src, port), forever)
            )
            if up and holds.get((src, chunk), forever) <= step:
                holds.setdefault((dst, chunk), step + 1)
                found.append((row, step, chunk))
    return found


def by_hand(spec, messages, table, rows):
    """A broadcast from node 0, from rows (step, steps, src, dst, port, tree, payload)."""
    where = network(spec)
    columns = dict(
        zip(("step", "steps", "src", "dst", "port", "tree", "payload"), zip(*rows, strict=True), strict=True)
    )
    return Schedule(
        where, Collective("broadcast", where.nodes, messages), model("all-port"), Rows.of(Payloads.of(table), **columns)
    )


@st.composite
def failing(draw, schedule):
    """Faults of a schedule's network, timed ones too; the root lives in the first step at least."""
    where, root = schedule.network, schedule.collective.root
    times = st.integers(0, schedule.steps + 2)
    nodes = draw(st.dictionaries(st.integers(0, where.nodes - 1), times, max_size=3))
    if root in nodes and not schedule.collective.all_source:
        nodes[root] += 1
    arcs = [(u, port) for u in range(where.nodes) for port in range(where.ports) if int(where.neighbor(u, port)) >= 0]
    return Faults(nodes, draw(st.dictionaries(st.sampled_from(arcs), times, max_size=3)))


S3 = """\
123 (root)
└─2─ 213 @1
     └─3─ 312 @2
          └─2─ 132 @3
               └─3─ 231 @4
                    └─2─ 321 @5"""

S4_TREE_1_ASCII = """\
1234 (root)
`-3- 3214 @1
     |-4- 4213 @2
     |    |-3- 1243 @3
     |    |    `-4- 3241 @4
     |    |         `-3- 4231 @5
     |    `-2- 2413 @3
     |         |-3- 1423 @4
     |         |    `-4- 3421 @5
     |         |         `-3- 2431 @6
     |         `-4- 3412 @4
     |              `-3- 1432 @5
     `-2- 2314 @2
          |-3- 1324 @3
          |    |-4- 4321 @4
          |    |    `-3- 2341 @5
          |    `-2- 3124 @4
          |         `-3- 2134 @5
          `-4- 4312 @3
               `-3- 1342 @4
                    `-2- 3142 @5
                         |-3- 4132 @6
                         `-4- 2143 @6
                              `-3- 4123 @7"""


def test_a_tree_by_eye():
    assert tree_text(plan("broadcast", "star:3", messages=3, builder="disjoint-trees"), 0) == S3
    assert tree_text(plan("broadcast", "star:4", messages=6, copies=2, trees="paper"), 1, ascii=True) == S4_TREE_1_ASCII


def test_a_large_tree_is_cut_and_says_so():
    text = tree_text(plan("broadcast", "star:4", messages=6, trees="paper"), 1, ascii=True, max_nodes=5)
    assert text == "\n".join([*S4_TREE_1_ASCII.splitlines()[:5], "left out: 19 nodes"])


def test_ports_that_are_words_and_ports_that_are_none():
    assert tree_text(plan("broadcast", "tree:2,2"), 0) == "\n".join(
        ["0 (root)", "├─child 0─ 1 @1", "│          ├─child 0─ 3 @2", "│          └─child 1─ 4 @2",
         "└─child 1─ 2 @1", "           ├─child 0─ 5 @2", "           └─child 1─ 6 @2"]
    )  # fmt: skip
    far = by_hand("path:4", 1, [[(0, 1)]], [(0, 1, 0, 3, -1, 0, 0), (0, 1, 0, 1, -1, 0, 0)])
    assert tree_text(far, 0, ascii=True) == "0 (root)\n|- 1 @1\n`- 3 @1"


def test_rows_that_are_no_tree():
    schedule = plan("broadcast", "star:3", messages=2, builder="disjoint-trees")
    with pytest.raises(ScheduleError, match="tree 7 carries nothing; the trees that carry something: 0, 1"):
        tree_text(schedule, 7)
    rows = [(0, 1, 0, 1, 0, 0, 0), (1, 1, 2, 1, 0, 0, 0)]
    with pytest.raises(ScheduleError, match="form no tree: 1 hears from both 0 and 2"):
        tree_text(by_hand("ring:4", 1, [[(0, 1)]], rows), 0)
    rows = [(0, 1, 0, 1, 0, 0, 0), (1, 1, 2, 3, 0, 0, 0), (2, 1, 3, 2, 0, 0, 0)]
    with pytest.raises(ScheduleError, match="form no tree: 2 nodes hear in a circle"):
        tree_text(by_hand("ring:4", 1, [[(0, 1)]], rows), 0)


@examples(40)
@given(planned())
def test_every_node_is_in_every_tree_once_with_its_step(schedule):
    rows, label = schedule.rows, schedule.network.label
    for tree in trees_of(schedule):
        lines = tree_text(schedule, tree).splitlines()
        found = {words[-2]: words[-1] for words in map(str.split, lines)}
        mine = np.flatnonzero(rows.tree == tree)
        expected = {label(int(rows.dst[r])): f"@{int(rows.step[r]) + 1}" for r in mine}
        assert len(lines) == schedule.network.nodes
        assert found == {**expected, label(schedule.collective.root): "(root)"}


@examples(50)
@given(arbitrary())
def test_any_rows_are_a_drawn_tree_or_an_error(schedule):
    for tree in (-1, 0, 1):
        try:
            lines = tree_text(schedule, tree).splitlines()
        except TreecastError:
            continue
        mine = schedule.rows.tree == tree
        assert len(lines) == len({*schedule.rows.src[mine].tolist(), *schedule.rows.dst[mine].tolist()})


@examples(60)
@given(st.data(), st.one_of(planned(), arbitrary(), arbitrary(orbit=True)))
def test_received_is_what_arrives_send_by_send(data, schedule):
    faults = data.draw(failing(schedule))
    trace = simulate(schedule, faults)
    truth = heard(trace.schedule, faults)
    runs = find_received(trace)
    cells = [
        (r, s)
        for r, a, b in zip(runs.row.tolist(), runs.start.tolist(), runs.stop.tolist(), strict=True)
        for s in range(a, b, max(int(trace.schedule.rows.pace[r]), 1))
    ]
    assert sorted(cells) == sorted({(row, step) for row, step, _ in truth})
    assert int(runs.chunks.sum()) == len(truth)
    assert np.all((runs.row[1:] > runs.row[:-1]) | (runs.start[1:] > runs.stop[:-1]))


@examples(60)
@given(st.data(), st.one_of(planned(), arbitrary(), arbitrary(orbit=True)), st.booleans())
def test_space_time_shows_what_arrives_send_by_send(data, schedule, ascii_only):
    faults = data.draw(failing(schedule))
    trace = simulate(schedule, faults)
    rows, where = trace.schedule.rows, trace.schedule.network
    cells = defaultdict(set)
    for row, step, _ in heard(trace.schedule, faults):
        cells[int(rows.dst[row]), step].add(row)
    lines = space_time_text(trace, ascii=ascii_only).splitlines()
    lines = lines[2 if schedule.steps > 10 else 1 :]
    width = max(4, *(len(where.label(u)) for u in range(where.nodes)))
    for u, line in zip(range(where.nodes), lines, strict=False):
        assert line.startswith(where.label(u).ljust(width) + " ")
        signs, ending = line[width + 1 :][: schedule.steps], line[width + 1 + schedule.steps + 2 :]
        for step, sign in enumerate(signs):
            arrived = cells[u, step]
            if step >= faults.nodes.get(u, NEVER):
                assert (sign, arrived) == ("x", set())
            elif len(arrived) > 1:
                assert sign == ("+" if ascii_only or len(arrived) > 9 else "⁰¹²³⁴⁵⁶⁷⁸⁹"[len(arrived)])
            elif arrived:
                tree = int(rows.tree[arrived.pop()])
                assert sign == ("*" if tree < 0 else TREE_SIGNS[tree])
            else:
                assert sign == ("." if ascii_only else "·")
        if u in faults.nodes:
            assert ending == f"dead @{faults.nodes[u]}"
        else:
            steps = [trace.arrival_step(u, c) for c in range(trace.schedule.collective.chunks)]
            source = trace.schedule.collective.source_of(range(len(steps))).tolist()
            missing = [c for c, step in enumerate(steps) if step is None and faults.nodes.get(source[c]) != 0]
            last = max((step for step in steps if step is not None), default=0)
            assert ending == f"complete @{last}" if not missing else numbers(ending, len(missing)) <= set(missing)


def numbers(ending, count):
    """The chunks that ``lacks 0-2,7`` names; when some are cut off, the count must be there."""
    assert ending.startswith("lacks ")
    if not ending.endswith("chunks)"):
        spans = [part.split("-") for part in ending[6:].split(",")]
        found = {c for span in spans for c in range(int(span[0]), int(span[-1]) + 1)}
        assert len(found) == count
        return found
    assert f"({count} chunks)" in ending
    return {int(n) for n in re.findall(r"\d+", ending.partition("(")[0])}


S3_RUN = """\
step 012345
123  ······  complete @0
132  ··²1··  complete @4
213  0···11  complete @6
231  ·110··  complete @4
312  ·0·11·  complete @5
321  11··0·  complete @5

0 1: a chunk over that tree   ²: so many at once   ·: nothing   @t: from the beginning of step t"""

# 2134, the root's child in tree 0, dies at 3: it passed on chunks 4 and 5 (steps 1 and 2), not 0 and 1. So 1432 gets 4
# and 5 at steps 2 and 3 over tree 0, 2 … 5 at steps 2 … 5 over tree 2, and nothing from 3412, dead, over tree 1:
# it lacks 0 and 1. The arc 1234>3214 is cut at 2: 3214 gets chunks 0 and 1 over tree 1.
S4_RUN = """\
step 0123456789
1234 ··········  complete @0
1243 ··²²³³00··  complete @6
1324 ··²²²²22··  complete @6
1342 ···³³³³···  complete @5
1423 ···³³³³···  complete @5
1432 ··²²22····  lacks 0-1
2134 000xxxxxxx  dead @3
2143 ···²²³³11·  complete @7
2314 ·1100²²22·  complete @7
2341 ··22³³²²··  complete @6
2413 ··11²²00··  complete @6
2431 ·22²²1111·  complete @7
3124 ·0011²²22·  complete @7
3142 ··00²²²²··  complete @6
3214 11··²²²²··  complete @6
3241 ·22²²²²00·  complete @5
3412 xxxxxxxxxx  dead @0
3421 ··22²²²²00  complete @6
4123 ··00²²²²11  complete @6
4132 ·0022²²11·  complete @7
4213 ·1122²²00·  complete @7
4231 2222²²²²··  complete @6
4312 ··112222··  complete @8
4321 ···²²³³00·  complete @7

0 1 2: a chunk over that tree   ² ³: so many at once   ·: nothing   x: dead   @t: from the beginning of step t
faults: 2134@3, 3412, 1234>3214@2"""

S4_DONE = """\
from step  complete, of 22 living nodes
        0  █▊                                       1
        5  ███████▎                                 4
        6  ███████████████████████▋                 13
        7  ████████████████████████████████████▎    20
        8  ██████████████████████████████████████▏  21
    never                                           1"""


def s4_with_faults():
    schedule = plan("broadcast", "star:4", messages=6, copies=2, trees="paper")
    node = schedule.network.node
    return simulate(schedule, Faults({node("2134"): 3, node("3412"): 0}, {(0, 1): 2}))


def test_runs_by_eye():
    assert space_time_text(simulate(plan("broadcast", "star:3", messages=3, builder="disjoint-trees"))) == S3_RUN
    assert space_time_text(s4_with_faults()) == S4_RUN
    assert completion_text(s4_with_faults()) == S4_DONE


def test_ascii_is_ascii():
    trace = s4_with_faults()
    assert space_time_text(trace, ascii=True).isascii()
    assert completion_text(trace, ascii=True).isascii()
    assert completion_text(trace, ascii=True).splitlines()[3].split() == ["6", "#" * 23, "13"]
    assert tree_text(trace.schedule, 0, ascii=True).isascii()


def test_what_is_left_out_is_said():
    lines = space_time_text(s4_with_faults(), max_nodes=3, max_steps=6).splitlines()
    assert lines[:4] == ["step 012345", *(line[:11] + line[15:] for line in S4_RUN.splitlines()[1:4])]
    assert lines[-2:] == [
        "left out: the last 21 nodes, of which 2 dead and 1 lacking chunks", "left out: the last 4 steps"
    ]  # fmt: skip


def test_tens_of_steps_have_a_line_of_their_own():
    lines = space_time_text(simulate(plan("broadcast", "path:3", messages=118)), max_steps=115).splitlines()
    assert lines[0] == "step           1         2         3         4         5         6         7         8         " \
        "9         10        11"  # fmt: skip
    assert lines[1] == "     " + "0123456789" * 11 + "01234"
    assert lines[-1] == "left out: the last 4 steps"


def test_long_runs_of_lacks_are_cut():
    table = [[(c, c + 1)] for c in range(0, 12, 2)]
    rows = [(i, 1, 0, 1, 0, 0, i) for i in range(6)]
    schedule = by_hand("path:2", 12, table, rows)
    assert "lacks 1,3,5,7,… (6 chunks)" in space_time_text(simulate(schedule))
    assert "lacks 1,3,5,7,... (6 chunks)" in space_time_text(simulate(schedule), ascii=True)


def test_many_trees_and_no_tree_have_signs():
    rows = [(0, 1, 0, 1, 0, 34, 0), (1, 1, 0, 1, 0, 35, 0), (2, 1, 0, 1, 0, -1, 0)]
    lines = space_time_text(simulate(by_hand("path:2", 1, [[(0, 1)]], rows))).splitlines()
    assert lines[2] == "1    z#*  complete @1"
    assert lines[4].startswith("z: a chunk over that tree   #: over a tree above 34   *: over no tree   ·: nothing")


def test_one_node_alone():
    trace = simulate(plan("broadcast", "path:1", messages=3))
    assert space_time_text(trace).splitlines()[:2] == ["step", "0      complete @0"]
    assert completion_text(trace).splitlines()[1].split() == ["0", "█" * 40, "1"]


@examples(40)
@given(st.data(), planned())
def test_completion_counts_living_nodes(data, schedule):
    trace = simulate(schedule, data.draw(failing(schedule)))
    steps = {int(step) for step in trace.completion if step < NEVER}
    lines = completion_text(trace, ascii=True).splitlines()[1:]
    shown = {line.split()[0]: int(line.split()[-1]) for line in lines}
    never = shown.pop("never", 0)
    assert shown == {str(step): int((trace.completion <= step).sum()) for step in steps}
    assert (
        never == int(trace.living.sum()) - int((trace.completion < NEVER).sum()) == len({v for v, _, _ in trace.lost})
    )


def test_completion_of_many_steps_shows_some_of_them():
    lines = completion_text(simulate(plan("broadcast", "path:90")), max_lines=10).splitlines()
    assert len(lines) == 12
    assert lines[1].split()[0] == "0"
    assert lines[-2].split()[::2] == ["89", "90"]
    assert lines[-1] == "left out: 80 steps between those shown"


def test_an_orbit_schedule_draws_the_tree_of_node_0():
    schedule = plan("broadcast", "star:3", messages=1)
    orbit = replace(schedule, collective=Collective("allgather", 6, 1), orbit=True, claims=None)
    used = int(schedule.rows.tree[0])
    assert tree_text(orbit, used) == tree_text(schedule, used)
    with pytest.raises(ScheduleError, match="form no tree"):
        tree_text(orbit.plain(), used)
