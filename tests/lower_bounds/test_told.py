"""Gathers whose nodes have to be told when to begin: their own bounds of steps, and what reports say of their trees."""

from itertools import permutations, product

import networkx as nx
import numpy as np
import pytest

from treecast.collectives import Collective, Lengths
from treecast.description import describe
from treecast.lower_bounds import best, bounds, schedule_bounds
from treecast.models import model
from treecast.networks import network
from treecast.papers.trees.gatherings import begins_earlier
from treecast.plans import plan
from treecast.plans.times.certificates import certificates
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.verification.gap import find_gap
from treecast.verification.verifier import verify


def clocks(where, lengths, under="bufferless", root=0):
    job = Collective("gatherv", where.nodes, 1, root, lengths=Lengths.of(np.array(lengths)))
    found = bounds(job, where, 1, model(under))
    return best(found, "steps").value, best(found, "told").value


def test_one_message_at_the_end_of_a_path():
    """The wake-up takes 5 steps, the flit comes back in 5."""
    assert clocks(network("path:6"), [0, 0, 0, 0, 0, 1]) == (5, 10)
    assert clocks(network("path:6"), [0, 0, 0, 0, 0, 7]) == (11, 16)
    for builder, steps in (("nearest-first", 5), ("shoulder-tap", 10), ("transmission-certificate", 20)):
        schedule = plan("gatherv", "path:6", lengths=[0, 0, 0, 0, 0, 1], builder=builder, model="bufferless")
        assert schedule.steps == steps
        assert best(schedule_bounds(schedule), "steps").value == (5 if builder == "nearest-first" else 10)
        assert {b.of for b in verify(schedule).bounds} == {"steps", "transmissions"}


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_no_told_gather_on_a_path_beats_the_bound(nodes):
    """Against all steps in which nodes can call and begin."""
    met = 0
    cases = [lengths for lengths in product(range(3), repeat=nodes - 1) if any(lengths)]
    for lengths in cases:
        ideal, told = clocks(network(f"path:{nodes}"), [0, *lengths])
        assert ideal < told
        assert not begins_earlier(lengths, told, waiting=True)
        met += begins_earlier(lengths, told + 1, waiting=True)
    assert met >= len(cases) // 2


def fewest(children, lengths, node, depth):
    """The least steps from when a node is told until all below it have sent to the root, over all orders of its calls."""
    own = lengths[node] + depth - 1 if lengths[node] else 0
    times = [fewest(children, lengths, child, depth + 1) for child in children.get(node, [])]
    orders = permutations([time for time in times if time])
    return max(own, min(max((i + time for i, time in enumerate(order, 1)), default=0) for order in orders))


@pytest.mark.parametrize("seed", range(12))
def test_calls_come_in_the_best_order(seed):
    """One-port trees: what all orders of calls give; and no plan is faster than that."""
    random = np.random.default_rng(seed)
    nodes = 9
    parents = [int(random.integers(max(0, v - 5), v)) for v in range(1, nodes)]
    tree = nx.empty_graph(nodes)  # nodes in order
    tree.add_edges_from(enumerate(parents, 1))
    where = network(tree)
    lengths = [0, *(random.integers(0, 4, nodes - 1) * random.integers(0, 2, nodes - 1)).tolist()]
    children: dict[int, list[int]] = {}
    for v, above in enumerate(parents, 1):
        children.setdefault(above, []).append(v)
    _, told = clocks(where, lengths)
    assert told >= fewest(children, lengths, 0, 0)
    for under in ("bufferless", "bufferless-multiport"):
        schedule = plan("gatherv", where, lengths=lengths, model=under)
        assert schedule.steps >= clocks(where, lengths, under)[1]


def test_orders_of_calls_count():
    """A root with a long branch and three short ones, one flit each at the ends: the long branch is called first."""
    tree = nx.empty_graph(7)
    tree.add_edges_from([(0, 1), (1, 2), (2, 3), (0, 4), (0, 5), (0, 6)])
    where = network(tree)
    lengths = [0, 0, 0, 1, 1, 1, 1]
    found = bounds(Collective("gatherv", 7, 1, 0, lengths=Lengths.of(np.array(lengths))), where, 1, model("bufferless"))
    assert [b.value for b in found if b.of == "told" and b.formula.startswith("calls")] == [6]
    wide = network("tree:5,1")
    assert clocks(wide, [0, 1, 1, 1, 1, 1]) == (5, 6)


@pytest.mark.parametrize("spec", ["path:6", "tree:3,2", "star:4", "tree:2,3"])
@pytest.mark.parametrize("collect", ["slots", "walk"])
def test_reports_say_what_the_tree_takes(spec, collect):
    lengths = [0, *np.random.default_rng(5).integers(0, 6, network(spec).nodes - 1).tolist()]
    schedule = plan("gatherv", spec, lengths=lengths, collect=collect, model="bufferless")
    tree = breadth_first(network(spec), 0)
    when = certificates(tree, np.array(lengths), "one", collect)
    shown = describe(verify(schedule))
    figures = {"broadcast": when.tokens, "collection": when.collection, "flits": sum(lengths), "height": tree.height}
    assert shown.figures["waking"] == figures
    b, c, m, h = figures.values()
    assert f"B = {b}, C = {c}, M = {m}, H = {h}" in str(shown)
    assert schedule.steps <= 2 * b + c + m + h - 1


def test_who_is_not_told_has_no_such_figures():
    ideal = plan("gatherv", "tree:2,2", lengths=2, builder="nearest-first", model="bufferless")
    for schedule in (ideal, plan("scatterv", "tree:2,2", lengths=2), plan("broadcast", "path:4")):
        assert "waking" not in describe(verify(schedule)).figures


def test_both_clocks_are_shown():
    job = Collective("gatherv", 6, 1, 0, lengths=Lengths.of(np.array([0, 0, 0, 0, 0, 1])))
    shown = describe(find_gap(network("path:6"), job, 1, model("bufferless")))
    assert (shown.figures["steps_lower_bound"], shown.figures["told_lower_bound"]) == (5, 10)
    assert "steps, if told" in str(shown)
    known = bounds(job, network("path:6"), 1, model("bufferless"))
    assert any(str(bound).startswith("steps, told when to begin, at least 10") for bound in known)
