from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests import statements
from treecast.errors import PlanError
from treecast.networks import Star
from treecast.papers.hypercube import statements as hypercube
from treecast.papers.star import collectives as star_collectives
from treecast.papers.star import statements as star
from treecast.papers.theorems import PAPERS, check_theorems
from treecast.plans import plan
from treecast.plans.ways.trees import star as star_trees
from treecast.schedule.trees import TreeSet


def verdict(name, n, paper="star"):
    return statements.verdict(paper, name, n)


def test_trees_that_share_an_arc_are_found_out(monkeypatch):
    trees = star_trees.disjoint_trees(Star(4), paper=True)
    parent, port = trees.parent.copy(), trees.port.copy()
    parent[1], port[1] = parent[0], port[0]
    monkeypatch.setattr(star, "_disjoint", lambda n: TreeSet(Star(4), 0, parent, port))
    assert not verdict("Lemma 6.3", 4).holds
    assert not verdict("Lemma 6.2", 4).holds


def test_ways_of_spg_that_are_no_part_of_it_are_found_out(monkeypatch):
    graph, said = star_trees.shortest_path_graph(Star(4)), []
    for wrong in ("leaf moved", "leaf missing", "a way round"):
        parent, port = graph.parent.copy(), graph.port.copy()
        leaf = int(Star(4).node("1342"))
        if wrong == "leaf moved":
            parent[0, leaf] = parent[1, leaf]
        elif wrong == "leaf missing":
            parent[0, leaf] = -1
        else:
            parent[0, leaf] = Star(4).node("2143")
        monkeypatch.setattr(star_trees, "shortest_path_graph", lambda s: TreeSet(Star(4), 0, parent, port))  # noqa: B023
        said.append(verdict("Lemma 5", 4))
    assert [found.holds for found in said] == [False] * 3, said


def test_a_constant_that_is_none_is_found_out(monkeypatch):
    assert verdict("near optimal", 4).detail == "+3"
    monkeypatch.setattr(star_trees, "exact_depth", lambda n, paper=False: 3 * n // 2)
    assert not verdict("near optimal", 4).holds


@pytest.mark.parametrize("name", ["survives", "… arcs, links", "election", "Table 2"])
def test_broadcasts_that_lack_a_row_are_found_out(monkeypatch, name):
    def lacking(*args, **options):
        schedule = plan(*args, **options)
        far = schedule.rows.dst != (schedule.network.nodes - 1 if schedule.collective.root == 0 else 0)
        return schedule.select(far) if schedule.collective.kind == "broadcast" else schedule

    assert verdict(name, 3).holds
    for module in (star, star_collectives):
        monkeypatch.setattr(module, "plan", lacking)
    assert not verdict(name, 3).holds


def test_the_formulas_of_the_star_paper():
    assert [verdict("t_n", n).detail for n in (3, 4, 5)] == ["9", "62", "442"]
    assert verdict("election", 4).detail == "x = 1: 0, x = 2: 0, x = 3: 1"
    assert verdict("erratum: walk", 4).detail == "46 steps for M = 1, not 23"
    assert verdict("erratum: acks", 4).detail == "1243 dead, 1342 never hears 1234"
    assert not verdict("erratum: acks", 3).holds  # on a ring both ways round lead on
    assert verdict("Table 4", 4).holds


def test_statements_by_name():
    def names(*only):
        return [f.name for f in check_theorems("hypercube", up_to=2, only=only)]

    assert names("section 4") == ["section 4"]
    assert names("tight", "erratum") == [
        "erratum", "tight, links", "tight, nodes", "erratum: phases", "erratum: shouting"
    ]  # fmt: skip
    assert names() == [statement.name for statement in PAPERS["hypercube"]]
    with pytest.raises(PlanError, match=r"^no statement of hypercube has 'Theorem 2' in its name[^\n]+'Theorem 1'\?$"):
        names("erratum", "Theorem 2")


def test_a_walk_is_the_paper_s_send_by_send():
    """Every arc down M steps and up one; with a dead node it ends in front of it."""
    for tree in star_trees.disjoint_trees(Star(4), paper=True):
        order, stack = [], [0]
        while stack:  # the order of a walk: a node before its children, each with all below it
            order.append(stack.pop())
            stack += tree.children(order[-1])[::-1]
        for dead in range(1, 24):
            steps, reached = star_collectives._walk(tree, 3, dead)
            place = order.index(dead)
            assert reached == set(order[:place])
            back = place - 1 - len(tree.way(dead)[1:-1])  # those that were left again, each with an acknowledgement
            assert steps == 3 * place + back


def test_steps_that_use_a_dimension_twice_are_found_out(monkeypatch):
    monkeypatch.setattr(star_collectives, "_step_sets", lambda s: iter([(np.array([0, 5]), np.array([1, 1]))]))
    assert not verdict("Lemma 7", 4).holds


@pytest.mark.parametrize(
    ("paper", "up_to"), [("hamlet", None), ("star", 2), ("star", 16), ("hypercube", 0), ("hypercube", 15)]
)
def test_papers_and_sizes_that_are_not_there(paper, up_to):
    with pytest.raises(PlanError, match=r"^[^\n]+$"):
        check_theorems(paper, up_to)


def test_the_first_sets_of_faults_that_do_harm_with_a_unit_less():
    assert verdict("tight, links", 2, "hypercube").detail == "k = 1: links {0-1} cut off node 1"
    assert verdict("tight, nodes", 3, "hypercube").detail == "k = 2: nodes {1, 2} cut off node 3"
    assert hypercube._one_unit_less(2, 1, "nodes").holds


def test_faults_make_messages_longer():
    found = verdict("propagation", 2, "hypercube")
    assert found == (True, "whispering 5 to 7, at least 6; shouting 2 to 3, at least 3")


def test_the_erratum_of_the_hypercube_paper():
    assert verdict("erratum", 6, "hypercube") == (True, "321, not 315")
    assert verdict("payloads", 3, "hypercube").detail == "1, 2, 4, 6, 4, 0"


@pytest.mark.parametrize(
    ("name", "d"),
    [
        ("Theorem 1", 3), ("messages", 3), ("payloads", 3), ("erratum", 3), ("time units", 3), ("fault-free", 3), ("survives", 3),
        ("gossip", 3), ("shouting", 3), ("Fraigniaud", 3),
    ],
)  # fmt: skip
def test_schedules_that_leave_out_the_call_of_a_unit_are_found_out(monkeypatch, name, d):
    def lacking(*args, **options):
        schedule = plan(*args, **options)
        return schedule.select(
            (schedule.rows.step != 2) | (schedule.rows.src != 1) & (schedule.rows.step < schedule.steps)
        )

    def short(*args, **options):
        schedule = plan(*args, **options)
        return schedule.select(schedule.rows.step < schedule.steps - 1)

    assert verdict(name, d, "hypercube").holds
    verdicts = []
    for worse in (lacking, short):
        monkeypatch.setattr(hypercube, "plan", worse)
        verdicts.append(verdict(name, d, "hypercube").holds)
    assert not all(verdicts)


def test_costs_of_the_hypercube_paper():
    assert verdict("cost", 4, "hypercube").detail == "8 β + 7 Fτ without faults"
    assert verdict("erratum: phases", 4, "hypercube").detail == "16 β + 56 Fτ, not 53 Fτ"
    assert verdict("erratum: shouting", 4, "hypercube").detail == "15 Fτ, not 30; fault-free 14"
    assert verdict("… four phases", 4, "hypercube").detail == "10 β + 20 Fτ, not 35 Fτ"
    assert verdict("k < d-1, shout", 4, "hypercube").detail == "k = 2: 4 β + 8 Fτ, 5 β + 15 Fτ"


@pytest.mark.parametrize("name", ["cost", "erratum: phases", "erratum: shouting", "… four phases", "k < d-1, shout"])
def test_other_costs_are_found_out(monkeypatch, name):
    said = hypercube.measured
    monkeypatch.setattr(hypercube, "measured", lambda *job: said(*job)._replace(chunks=said(*job).chunks + 1))
    assert not verdict(name, 3, "hypercube").holds


def test_nodes_that_send_though_nobody_started_them_are_found_out(monkeypatch):
    assert verdict("initiator", 3, "hypercube").holds
    monkeypatch.setattr(hypercube, "plan", lambda *args, **options: replace(plan(*args, **options), initiator=None))
    assert not verdict("initiator", 3, "hypercube").holds


def test_calling_paths_that_meet_are_found_out(monkeypatch):
    trees = hypercube.calling_trees(hypercube.Hypercube(3))
    parent, port = trees.parent.copy(), trees.port.copy()
    parent[1], port[1] = parent[0], port[0]
    monkeypatch.setattr(hypercube, "calling_trees", lambda cube, *more: TreeSet(cube, 0, parent, port))
    assert not verdict("Theorem 1", 3, "hypercube").holds
    assert not verdict("any order", 3, "hypercube").holds


def test_two_units_less_are_no_better_and_a_full_schedule_is_not_tight(monkeypatch):
    def whole(d, k, kind):
        return hypercube.sweep(plan("broadcast", hypercube.Hypercube(d), survive=k, model="whispering"), k, kind)

    monkeypatch.setattr(hypercube, "_one_unit_less", whole)
    assert not verdict("tight, links", 3, "hypercube").holds
    assert not verdict("tight, nodes", 3, "hypercube").holds


@pytest.mark.slow
@pytest.mark.parametrize("up_to", [4, pytest.param(6, marks=pytest.mark.long)])
def test_every_statement_of_the_star_paper_holds(up_to):
    told = []
    found = check_theorems("star", up_to=up_to, progress=lambda *args: told.append(args))
    assert all(f.as_known for f in found), [f for f in found if not f.as_known]
    assert [f.name for f in found] == [s.name for s in PAPERS["star"]]
    assert {f.name for f in found if not f.holds} == {"section 4.4", "… tolerance"}
    assert {"Lemma 1", "Lemma 2", "Lemma 3", "Lemma 4", "Lemma 5", "Lemma 6.1", "Lemma 6.4"} <= {f.name for f in found}
    assert {"Lemma 7", "allgather", "scatter", "alltoall"} <= {f.name for f in found}
    assert {f.checked for f in found} >= {f"n = 3 … {up_to}"}
    assert {what for _, _, what in told} >= {f"Lemma 6.1, n = {up_to}"}


@pytest.mark.slow
def test_translates_collide_exactly_when_two_arcs_share_a_dimension():
    """Lemma 7, and that its condition is needed: one by one, over every pair of arcs of S_4."""
    s4 = Star(4)
    arcs = list(product(range(s4.nodes), range(s4.ports)))
    for (u, p), (v, q) in product(arcs[:3], arcs):
        translates = [(int(s4.translate(h, node)), port) for h in range(s4.nodes) for node, port in {(u, p), (v, q)}]
        collide = len(set(translates)) < len(translates)
        assert collide == (p == q and u != v)
        twice = star_collectives._used_twice(s4, np.array([u, v]), np.array([p, q]))
        assert twice == (s4.nodes if p == q else 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["allgather", "full use", "one chunk", "scatter", "alltoall", "one message"])
def test_collectives_that_dawdle_are_found_out(monkeypatch, name):
    """One idle step before everything else: still right, but not what the paper says."""

    def late(*args, **options):
        schedule = plan(*args, **options)
        columns = schedule.rows.columns() | {"step": schedule.rows.step + 1}
        rows = replace(schedule.rows, **columns)
        return replace(schedule, rows=rows, claims=None)

    assert verdict(name, 4).holds
    monkeypatch.setattr(star_collectives, "plan", late)
    # a paper that only claims steps where n - 1 divides Mx, and x = n - 1, is held to it there
    assert not verdict(name, 4).holds


@pytest.mark.slow
def test_remarks_say_how_far_from_the_bound_a_collective_can_be():
    assert verdict("allgather", 5).detail == "else at most 1.000 x the bound, x = 4, M = 5"
    assert verdict("alltoall", 4).detail.startswith("at most 1.095 x the bound, x = 1")
    assert verdict("scatter", 4).detail == "transmissions at most 1.021 x the bound, x = 3"
    assert [verdict("one message", n).detail for n in (3, 4, 5)] == ["5", "21", "111"]
    assert [verdict("one chunk", n).detail for n in (3, 4, 5)] == ["3", "8", "30"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("up_to", "sizes"),
    [
        (4, ("1 … 4", "3 … 4", "2 … 3")),
        pytest.param(7, ("1 … 7", "1 … 5", "1 … 4", "3 … 5", "2 … 3"), marks=pytest.mark.long),
    ],
)
def test_every_statement_of_the_hypercube_paper_holds(up_to, sizes):
    told = []
    found = check_theorems("hypercube", up_to=up_to, progress=lambda *args: told.append(args))
    assert all(f.as_known for f in found), [f for f in found if not f.as_known]
    assert [f.name for f in found] == [s.name for s in PAPERS["hypercube"]]
    assert {f.name for f in found if not f.holds} == {"section 4", "… sends", "… shouting"}
    assert {f.checked for f in found} >= {f"d = {size}" for size in sizes}
    assert {what for _, _, what in told} >= {f"Theorem 1, d = {up_to}"}


@pytest.mark.long
def test_a_false_statement_is_found_out(monkeypatch):
    monkeypatch.setattr(star_trees, "exact_depth", lambda n, paper=False: 3 * n // 2 + (1 if n < 5 else 2))
    found = {f.name: f for f in check_theorems("star", up_to=5)}
    assert not found["Lemma 6.4"].holds
    assert found["Lemma 6.4"].checked == "n = 5"
    assert not found["broadcast"].holds
    assert found["Lemma 6.1"].holds


@pytest.mark.long
def test_every_statement_of_the_hypercube_paper_as_far_as_each_check_goes():
    assert all(f.as_known for f in check_theorems("hypercube", up_to=14))


@pytest.mark.long
def test_every_statement_as_far_as_each_check_goes():
    assert all(f.as_known for f in check_theorems("star", up_to=10))
