import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.oracles.plain import graph_of, is_right, sends_of
from treecast.errors import PlanError, TreecastError
from treecast.networks import Star, network
from treecast.plans import builders, plan, program, single_tree_steps
from treecast.plans.entries import fitting
from treecast.plans.times.pipelines import streams
from treecast.plans.ways.trees import star as star_trees
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.simulation.replay import simulate
from treecast.verification.verifier import verify


def closed_form(n, messages, copies, paper):
    depth = 3 * n // 2 + 1 if paper else 3 * (n - 1) // 2 + 2
    nodes = int(np.prod(np.arange(1, n + 1)))
    return -(-messages * copies // (n - 1)) + depth - 1, messages * copies * (nodes - 1)


def agree(n, messages, copies, root, **trees):
    schedule = plan(
        "broadcast", f"star:{n}", root=root, messages=messages, copies=copies, builder="disjoint-trees", **trees
    )
    report, trace = verify(schedule), simulate(schedule)
    assert report.holds, report.violations
    expected = closed_form(n, messages, copies, bool(trees))
    assert (schedule.claims.steps, schedule.claims.transmissions) == expected
    assert (report.steps, report.transmissions) == expected
    assert (trace.steps, trace.transmissions) == expected
    assert not trace.lost
    return schedule


@pytest.mark.parametrize("n", [*range(3, 6), *(pytest.param(n, marks=pytest.mark.long) for n in (6, 7))])
def test_claimed_is_verified_is_simulated_is_the_closed_form(n):
    nodes = Star(n).nodes
    for copies in range(1, n):
        for messages in (1, 2, n - 2, n - 1, n, 3 * n + 1, 400):
            for root in (0, nodes // 2 + 1) if messages < n else (nodes - 1,):
                agree(n, messages, copies, root)


def test_the_example_of_the_issue():
    schedule = plan("broadcast", "star:5", messages=400, survive=2)
    report = verify(schedule)
    assert (report.steps, report.transmissions, report.depth) == (307, 142800, 8)
    assert (schedule.copies, schedule.trees) == (3, 4)
    assert max(b.value for b in report.bounds if b.of == "steps") == 305


def test_two_symbols():
    schedule = plan("broadcast", "star:2", messages=3)
    assert verify(schedule).holds
    assert (schedule.steps, schedule.transmissions) == (3, 3)


@pytest.mark.parametrize("n", range(3, 8))
def test_speed_up_over_a_single_tree_tends_to_the_number_of_trees(n):
    ratios = []
    for messages in (10, 1000, 100_000, 10_000_000):
        many = plan("broadcast", f"star:{n}", messages=messages)
        single = plan("broadcast", f"star:{n}", messages=messages, builder="breadth-first-tree")
        assert verify(single).holds
        assert single.steps == messages + Star(n).diameter - 1 == single_tree_steps(single.network, single.collective)
        ratios.append(single.steps / many.steps)
    assert ratios == sorted(ratios)
    assert n - 1 - ratios[-1] < 1e-4 * (n - 1)


@given(st.integers(1, 2000), st.integers(1, 14), st.data())
def test_streams_carry_every_chunk_over_the_right_number_of_trees(messages, trees, data):
    copies = data.draw(st.integers(1, trees))
    carried = streams(messages, trees, copies)
    count = np.zeros(messages, int)
    for ranges in carried:
        assert len(ranges) <= 2
        for a, b in ranges:
            assert 0 <= a < b <= messages
            count[a:b] += 1
    assert (count == copies).all()
    assert max(sum(b - a for a, b in ranges) for ranges in carried) == -(-messages * copies // trees)


def test_where_no_rule_gives_a_program_it_is_said_what_has_one():
    with pytest.raises(
        PlanError,
        match=r"^on petersen there is no rule by which .* of broadcast .*; on other networks .*disjoint-trees.* have one$",
    ):
        program("broadcast", "petersen", 0)
    with pytest.raises(PlanError, match=r"^packed-trees has no rule by which .*: use plan\(\)$"):
        program("broadcast", "petersen", 0, messages=9, builder="packed-trees")


def test_a_program_takes_no_schedule():
    node = 1_234_567_890_123 % Star(15).nodes
    rows = program("broadcast", "star:15", node, messages=1000, survive=13).rows
    heard = rows.take(rows.dst == node)
    assert sorted(heard.tree.tolist()) == list(range(14))
    assert (heard.chunks_sent == 1000).all()
    assert len(rows.take(rows.src == node)) == sum(
        len(star_trees.RULE.children(Star(15), node, tree)) for tree in range(14)
    )


@pytest.mark.parametrize(
    "spec",
    [
        "mesh:3x4",
        "torus:3x3",
        "path:5",
        "ring:6",
        "tree:2,3",
        "hypercube:4",
        "mesh:1",
        "hypercube:0",
        "star:4",
        "path:1",
    ],
)
def test_one_breadth_first_tree_serves_every_network(spec):
    where = network(spec)
    for root in {0, where.nodes - 1, where.nodes // 2}:
        schedule = plan("broadcast", where, root=root, messages=5, builder="breadth-first-tree")
        assert verify(schedule).holds
        assert is_right(schedule, graph_of(where))
        assert breadth_first(where, root).height == where.eccentricity(root)


def test_builders_come_default_first():
    assert [b.name for b in builders("broadcast", Star(4))] == [
        "disjoint-trees",
        "breadth-first-tree",
        "without-waiting",
        "hamiltonian",
        "priced-trees",
        "spread",
        "list-schedule",
        "periods",
        "spg",
        "spt",
    ]
    assert plan("broadcast", "star:4", model="shouting", messages=9).steps == 4  # all go together


@pytest.mark.parametrize("spec", ["star:3", "hypercube:3", "complete:6", "tree:2,3"])
@pytest.mark.parametrize("messages", [1, 2, 3, 5, 9])
def test_the_default_builder_takes_the_fewest_steps(spec, messages):
    no_builder_is_better(spec, messages)


def no_builder_is_better(spec, messages):
    job = treecast.job("broadcast", spec, messages=messages)
    every = [replace(job, builder=entry.name) for entry in fitting(builders("broadcast", spec), job)]
    chosen = plan(job)
    assert (chosen.steps, chosen.transmissions) == min((s.steps, s.transmissions) for s in map(plan, every))


def test_one_message_takes_the_diameter_on_a_star_network():
    assert [plan("broadcast", f"star:{n}").steps for n in range(3, 8)] == [3, 4, 6, 7, 9]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"copies": 0}, "at least one copy"),
        ({"copies": 5}, "^5 copies, to survive 4 dead nodes, need 5 node-disjoint paths; .* has 4 "),
        ({"survive": 4}, "Possible here: dead nodes 3, dead links 3, dead arcs 3$"),
        ({"survive": 1, "builder": "breadth-first-tree"}, "^survive 1 dead node needs 2 copies; .* sends one copy"),
        ({"survive": 1, "against": "lonks"}, "against nodes, links, arcs, not 'lonks'; did you mean 'links'"),
        ({"against": "links"}, "one copy survives no dead links"),
        (
            {"search": "2"},
            r"^no builder of broadcast on star:5 takes search \(label-sets .*; there is: disjoint-trees, ",
        ),
        ({"survive": -1}, "at least one copy"),
        ({"copies": 2, "survive": 2}, "give one of the two"),
        ({"messages": 0}, "0 messages"),
        ({"messages": 2**31}, "messages"),
        ({"root": 120}, "nodes go from 0 to 119"),
        ({"root": "12344"}, "no node"),
        ({"model": "wormhole"}, "under model wormhole"),
        ({"model": "telepathy"}, "no model"),
        ({"builder": "magic"}, "no builder"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_line(asked, said):
    with pytest.raises(TreecastError, match=said) as error:
        plan("broadcast", "star:5", **asked)
    assert "\n" not in str(error.value)


def test_unknown_collectives_and_networks_too_large_for_memory():
    with pytest.raises(PlanError, match="no collective"):
        plan("shout", "star:4")
    with pytest.raises(PlanError, match="no plan of scatterv"):
        plan("scatterv", "mesh:2x3", lengths=1, model="wormhole")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if memory < 2**45:
        with pytest.raises(PlanError, match="too many for this machine's memory"):
            plan("broadcast", "star:14")


@pytest.mark.parametrize(
    "asked",
    [
        ("broadcast", "hypercube:40"),
        ("broadcast", "star:15"),
        ("scatter", "star:15"),
        ("broadcast", "mesh:1000000x1000000"),
        ("broadcast", "mesh:1000000x1000000", "wormhole"),
        ("broadcast", "tree:2,38"),
        ("reduce", "star:15"),
    ],
)
def test_program_is_named_only_where_it_works(asked):
    kind, network, *model = asked
    with pytest.raises(PlanError, match="too many for this machine's memory") as error:
        plan(kind, network, model=model[0] if model else None)
    try:
        program(kind, network, 5, model=model[0] if model else None)
        works = True
    except PlanError:
        works = False
    assert works == ("'program' still gives one node's rows" in str(error.value))


@pytest.mark.parametrize(
    "asked", [("broadcast", "complete:32770"), ("scatterv", "tree:32768,1"), ("broadcast", "tree:40000,1")]
)
def test_more_ports_than_a_schedule_can_name_are_refused_at_the_network(asked):
    lengths = {"lengths": 1} if asked[0] == "scatterv" else {}
    with pytest.raises(
        PlanError, match=r"^\S+ has \d\d,\d\d\d ports: a schedule can name 32,768; take a network of less degree$"
    ):
        plan(*asked, **lengths)


def test_as_many_ports_as_a_schedule_can_name():
    assert plan("scatterv", "tree:32767,1", lengths=1).rows.port.max() == 32766


@pytest.mark.slow
@pytest.mark.parametrize("n", range(3, 7))
def test_the_papers_own_trees_have_its_closed_form(n):
    for copies in range(1, n):
        for messages in (1, n, 400):
            agree(n, messages, copies, 1, trees="paper")


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 4])
def test_every_root_and_every_number_of_copies_against_plain_loops(n):
    star = Star(n)
    graph = graph_of(star)
    for root in range(star.nodes):
        for copies in range(1, n):
            schedule = agree(n, 2 * n + 1, copies, root)
            assert is_right(schedule, graph)
            heard = {}
            for _, _, dst, _, tree, chunk, _ in sends_of(schedule):
                heard.setdefault((dst, chunk), set()).add(tree)
            assert all(len(trees) == copies for trees in heard.values())
            assert len(heard) == (star.nodes - 1) * schedule.collective.messages


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize("spec", ["star:3", "star:4", "star:5"])
@pytest.mark.parametrize("copies", [1, 2])
def test_a_node_knows_its_program_from_its_label(spec, copies):
    where = network(spec)
    for root in (0, where.nodes - 1):
        name = program("broadcast", where, 0, root=root, messages=7, copies=copies).builder
        schedule = plan("broadcast", where, root=root, messages=7, copies=copies, builder=name)
        for node in range(where.nodes):
            rows = schedule.select((schedule.rows.src == node) | (schedule.rows.dst == node)).rows
            assert schedule.at(node).rows == rows
            assert program("broadcast", spec, node, root=root, messages=7, copies=copies).rows == rows


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["star:4", "star:5", "hypercube:4", "torus:3x3"])
@pytest.mark.parametrize("messages", [1, 2, 3, 5, 9, 40])
def test_the_default_builder_takes_the_fewest_steps_at_length(spec, messages):
    no_builder_is_better(spec, messages)
