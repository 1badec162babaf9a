"""Shifted trees: x node-disjoint paths over one port, x(M - 1) + L steps."""

from itertools import combinations

import pytest

from tests.plans.whole.one_port.oracle import broadcast_held
from treecast import program
from treecast.lower_bounds import best, bounds
from treecast.plans import plan
from treecast.plans.whole.one_port.own_trees import arcs_of
from treecast.plans.whole.one_port.shape import shape
from treecast.verification.verifier import verify

# p, and the steps of one chunk by the first search that we had, for x = 2 and 3
FIRST = {8: (6, 6), 64: (11, 11), 128: (12, 13), 1024: (17, 17)}


def ways_of(schedule):
    """The ways to each node, a list of nodes from the root for each tree, from single sends of chunk 0."""
    root, parents = schedule.collective.root, {}
    for send in schedule:
        if send.chunk == 0:
            assert parents.setdefault((send.tree, send.dst), send.src) == send.src
    for node in range(schedule.network.nodes):
        if node != root:
            ways = []
            for tree in range(schedule.copies):
                way = [node]
                while way[-1] != root:
                    way.append(parents[tree, way[-1]])
                ways.append(way)
            yield ways


def check(nodes, copies, messages):
    schedule = plan(
        "broadcast",
        f"complete:{nodes}",
        messages=messages,
        copies=copies,
        model="one-port",
        root=nodes // 2,
        builder="disjoint-trees",
    )
    found = shape(nodes - 1, copies)
    assert schedule.steps == schedule.claims.steps == copies * (messages - 1) + found.length
    assert schedule.transmissions == messages * copies * (nodes - 1)
    assert broadcast_held(schedule)
    for ways in ways_of(schedule):
        inner = [set(way[1:-1]) for way in ways]
        assert all(not a & b for a, b in combinations(inner, 2))
        assert len({tuple(way[-2:]) for way in ways}) == copies  # different arcs of the root, too
    report = verify(schedule)
    assert report.holds
    assert best(list(report.bounds), "steps").value == copies * messages - 1 + (nodes - 1).bit_length() <= report.steps


@pytest.mark.parametrize("copies", [2, 3, 4, 5])
def test_ways_share_no_node(copies):
    for nodes in (copies + 1, copies + 2, 2 * copies + 1, 26, 33):
        check(nodes, copies, 3)


def harmed(schedule, dead=(), cut=()):
    """Return whether a node that lives lacks a chunk when some nodes are dead and some links cut."""
    held = {(schedule.collective.root, chunk) for chunk in range(schedule.collective.messages)}
    for send in schedule:  # in the order of steps
        gone = send.src in dead or send.dst in dead or frozenset((send.src, send.dst)) in cut
        if not gone and (send.src, send.chunk) in held:
            held.add((send.dst, send.chunk))
    living = set(range(schedule.network.nodes)) - set(dead)
    return any((v, c) not in held for v in living for c in range(schedule.collective.messages))


def check_all_faults(nodes, copies):
    schedule = plan("broadcast", f"complete:{nodes}", copies=copies, model="one-port")
    others = range(1, nodes)
    links = list(map(frozenset, combinations(range(nodes), 2)))
    assert not any(harmed(schedule, dead=dead) for dead in combinations(others, copies - 1))
    assert not any(harmed(schedule, cut=cut) for cut in combinations(links, copies - 1))
    assert any(harmed(schedule, dead=dead) for dead in combinations(others, copies)) or copies == nodes - 1


@pytest.mark.parametrize(("nodes", "copies"), [(3, 2), (6, 2), (9, 2), (12, 2), (4, 3), (7, 3)])
def test_any_faults_do_no_harm(nodes, copies):
    check_all_faults(nodes, copies)


def test_shapes_are_as_short_as_those_first_found_or_shorter():
    for nodes, lengths in FIRST.items():
        for copies, length in zip((2, 3), lengths, strict=True):
            assert copies - 1 + (nodes - 1).bit_length() <= shape(nodes - 1, copies).length <= length


def test_there_is_a_shape_for_any_number_of_copies():
    for nodes in (*range(3, 14), 20):
        assert all(shape(nodes - 1, copies) for copies in range(2, nodes))
        assert shape(nodes - 1, nodes) is None


def test_a_shape_takes_no_longer_than_its_steps_however_many_nodes():
    found = shape(10**15, 3)
    assert found is not None
    assert found.length == 61
    assert sum(found.inner) + sum(found.leaves) + len(found.fixed) == 10**15


def test_where_messages_combine_all_chunks_go_together():
    asked = {"messages": 9, "copies": 3, "model": "one-port,combining"}
    schedule = plan("broadcast", "complete:20", **asked)
    assert (schedule.builder, schedule.steps) == ("disjoint-trees", shape(19, 3).length)
    assert verify(schedule).holds


def test_the_bound_of_copies():
    """Ten messages in two copies to 60 nodes: the last node reached hears twenty of them from step 5 on."""
    schedule = plan("broadcast", "complete:60", messages=10, copies=2, model="one-port")
    found = bounds(schedule.collective, schedule.network, 2, schedule.model)
    assert best(found, "steps").value == 25
    assert schedule.steps == 29


def arcs(found, node=None):
    return list(zip(*(column.tolist() for column in arcs_of(found, node)), strict=True))


def test_a_node_knows_its_part_from_its_label():
    """The arcs of every node are those of the trees that are made as arrays."""
    for copies in (2, 3, 4, 5):
        for nodes in (copies + 1, copies + 3, 2 * copies + 2, 16, 27, 40):
            found = shape(nodes - 1, copies)
            every = arcs(found)
            assert len(every) == copies * (nodes - 1)
            for node in range(nodes):
                assert sorted(arcs(found, node)) == sorted(arc for arc in every if node in arc[2:])


@pytest.mark.parametrize("model", ["one-port", "one-port,combining"])
def test_programs_are_what_the_plan_has_a_node_do(model):
    for nodes, copies in ((5, 3), (12, 2), (33, 4)):
        asked = {"messages": 3, "copies": copies, "root": nodes // 3, "model": model}
        whole = plan("broadcast", f"complete:{nodes}", builder="disjoint-trees", **asked)
        for node in range(0, nodes, 4):
            assert program("broadcast", f"complete:{nodes}", node, **asked).rows == whole.at(node).rows


def test_a_program_takes_no_schedule():
    mine = program("broadcast", "complete:30000", 12_345, messages=3, survive=2, model="one-port")
    assert mine.rows.chunks_sent[mine.rows.dst == 12_345].sum() == 9


@pytest.mark.long
@pytest.mark.parametrize("copies", [2, 3, 4, 5])
def test_ways_share_no_node_on_up_to_128_nodes(copies):
    for nodes in range(copies + 1, 129):
        check(nodes, copies, 2)


@pytest.mark.long
@pytest.mark.parametrize("nodes", range(3, 13))
def test_any_faults_do_no_harm_on_up_to_12_nodes(nodes):
    for copies in range(2, min(4, nodes)):
        check_all_faults(nodes, copies)


@pytest.mark.long
def test_there_is_a_shape_for_any_number_of_copies_of_up_to_40_nodes():
    for nodes in range(3, 41):
        for copies in range(2, nodes):
            check(nodes, copies, 1)
