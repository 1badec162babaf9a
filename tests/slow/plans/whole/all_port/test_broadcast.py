import pytest

from tests.oracles.plain import graph_of, is_right, sends_of
from tests.plans.whole.all_port.test_broadcast import agree, no_builder_is_better
from treecast.networks import Star, network
from treecast.plans import plan, program


@pytest.mark.parametrize("n", range(3, 7))
def test_the_papers_own_trees_have_its_closed_form(n):
    for copies in range(1, n):
        for messages in (1, n, 400):
            agree(n, messages, copies, 1, trees="paper")


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


@pytest.mark.parametrize("spec", ["star:4", "star:5", "hypercube:4", "torus:3x3"])
@pytest.mark.parametrize("messages", [1, 2, 3, 5, 9, 40])
def test_the_default_builder_takes_the_fewest_steps(spec, messages):
    no_builder_is_better(spec, messages)
