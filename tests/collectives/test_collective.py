"""Collectives against MPI's definitions, for all small numbers of nodes, messages and roots."""

import doctest
from importlib import import_module
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import collectives as mpi
from treecast.collectives import COLLECTIVES, Collective, Demand, Holdings, Lengths
from treecast.errors import PlanError
from treecast.networks import network

ROOTED = {
    "broadcast": mpi.bcast, "scatter": mpi.scatter, "gather": mpi.gather, "reduce": mpi.reduce,
    "reduce-broadcast": mpi.reduce_then_bcast,
}  # fmt: skip
UNROOTED = {
    "allgather": mpi.allgather, "alltoall": mpi.alltoall, "reduce-scatter": mpi.reduce_scatter_block,
    "allreduce": mpi.allreduce,
}  # fmt: skip
OF_LENGTHS = {"scatterv": mpi.scatterv, "gatherv": mpi.gatherv, "allgatherv": mpi.allgatherv}
OF_PAIRS = {"alltoallv": mpi.alltoallv}
SMALL = [(nodes, messages, root) for nodes in range(1, 6) for messages in (1, 2, 3) for root in range(nodes)]


def held(holdings, nodes):
    """The chunks of each node, as sets; a chunk stands once."""
    sets = [set() for _ in range(nodes)]
    for node, first, stop in holdings:
        assert first <= stop  # the root holds an empty range when all messages are null
        assert not sets[node] & set(range(first, stop))
        sets[node] |= set(range(first, stop))
    return sets


def check(collective, task):
    """Compare all that a collective says of its chunks with what MPI's definition says."""
    nodes, chunks = collective.nodes, range(collective.chunks)
    assert sorted(task.source) == list(chunks)
    assert held(collective.given(), nodes) == task.held_at_first(nodes)
    assert held(collective.wanted(), nodes) == task.wanted_at_last(nodes)
    assert collective.source_of(chunks).tolist() == [task.source[c] for c in chunks]
    assert list(range(collective.sums)) == sorted(task.owner_of_sum)
    assert collective.results == (0 < collective.sums < collective.chunks)
    if collective.personal or (collective.sums and not collective.results):
        assert collective.destination_of(chunks).tolist() == [aim for c in chunks for aim in task.aims[c]]
    else:
        with pytest.raises(PlanError, match="several nodes"):
            collective.destination_of(chunks)
    ends = set(collective.ends().tolist())
    for holdings in (collective.given(), collective.wanted()):
        assert {*holdings.first.tolist(), *holdings.stop.tolist()} <= ends
    assert ends <= {*chunks, collective.chunks}


def test_every_kind_is_held_against_a_definition():
    assert set(COLLECTIVES) == {*ROOTED, *UNROOTED, *OF_LENGTHS, *OF_PAIRS, "multicast", "demand"}


@pytest.mark.parametrize("kind", ROOTED)
def test_kinds_with_a_root(kind):
    for nodes, messages, root in SMALL:
        check(Collective(kind, nodes, messages, root), ROOTED[kind](nodes, messages, root))


@pytest.mark.parametrize("kind", UNROOTED)
def test_kinds_in_which_every_node_has_the_same_part(kind):
    for nodes, messages, root in SMALL:
        if not root:
            check(Collective(kind, nodes, messages), UNROOTED[kind](nodes, messages))


@pytest.mark.parametrize("kind", OF_PAIRS)
def test_kinds_with_a_length_for_each_pair(kind):
    for nodes, most in ((1, 3), (2, 2), (3, 1)):
        for flits in product(range(most + 1), repeat=nodes**2):
            lengths = Lengths(np.array(flits), np.arange(nodes**2))
            collective = Collective(kind, nodes, 1, lengths=lengths)
            counts = np.reshape(flits, (nodes, nodes))
            check(collective, OF_PAIRS[kind](nodes, counts))
            assert np.array_equal(collective.demands(), counts - np.diag(np.diag(counts)))
            for some in permutations(range(nodes), max(1, nodes - 1)):
                among = collective.lengths_among(np.array(some)).flits.reshape(len(some), -1)
                assert among.tolist() == [[counts[u, v] for v in some] for u in some]


def test_multicast():
    for nodes, messages, root in SMALL:
        others = [v for v in range(nodes) if v != root]
        for targets in (some for k in range(1, nodes) for some in combinations(others, k)):
            collective = Collective("multicast", nodes, messages, root, targets)
            check(collective, mpi.multicast(nodes, messages, root, targets))


@pytest.mark.parametrize("kind", UNROOTED)
@pytest.mark.parametrize("spec", ["ring:5", "hypercube:2", "star:3", "torus:2x3"])
def test_the_part_of_every_node_is_a_translate_of_node_zeros(kind, spec):
    where = network(spec)
    for messages in (1, 2):
        whole = Collective(kind, where.nodes, messages)
        part = whole.from_node_zero()
        chunks, seen = np.arange(part.chunks), set()
        for h in range(where.nodes):
            mine = whole.of_source(h, chunks, where.translate)
            assert set(whole.source_of(mine).tolist()) == {h}
            assert np.array_equal(mine < whole.sums, chunks < part.sums)
            assert not seen & set(mine.tolist())
            seen |= set(mine.tolist())
            wanted, carried = held(whole.wanted(), where.nodes), held(part.wanted(), where.nodes)
            for v in range(where.nodes):
                at = int(where.translate(h, v))
                assert {int(mine[c]) for c in carried[v]} == wanted[at] & set(mine.tolist())
        assert seen == set(range(whole.chunks))


def instance(kind, nodes=4, root=1):
    """A collective of a kind, with lengths or targets where it takes them."""
    row = COLLECTIVES[kind]
    if row.blocks == "class":
        return Collective.of_demand(network(f"complete:{nodes}"), Demand.of([(0, [1, 2], 3), ([1, "+", 2], 0, 2)]))
    blocks = nodes ** (1 + (row.blocks == "pair"))
    lengths = Lengths.of([v if v != root else 0 for v in range(blocks)]) if row.lengths else None
    targets = tuple(v for v in range(nodes) if v != root)[1:] if row.targets else ()
    return Collective(kind, nodes, 1 if row.lengths else 3, 0 if row.all_source else root, targets, lengths)


@pytest.mark.parametrize("kind", [name for name, row in COLLECTIVES.items() if row.backwards])
def test_a_kind_backwards_gives_what_the_other_wants(kind):
    forwards, back = instance(COLLECTIVES[kind].backwards), instance(kind)
    assert back.given() == forwards.wanted()
    assert back.wanted() == forwards.given()
    assert back.chunks == forwards.chunks


@pytest.mark.parametrize("kind", [name for name, row in COLLECTIVES.items() if row.there_and_back])
def test_a_kind_there_and_back_is_one_behind_the_other(kind):
    forwards, both = instance(COLLECTIVES[kind].there_and_back), instance(kind)
    there, wanted = forwards.wanted(), both.wanted()
    assert both.given() == there
    assert wanted == Holdings(there.node, there.first + both.sums, there.stop + both.sums)
    assert both.sums == forwards.chunks == both.chunks - both.sums
    sums = np.arange(both.sums)
    assert np.array_equal(both.source_of(sums), forwards.source_of(sums))
    assert np.array_equal(both.source_of(sums + both.sums), forwards.source_of(sums))


@pytest.mark.parametrize("kind", COLLECTIVES)
def test_one_line_for_people_and_a_short_one_for_programmers(kind):
    for collective in (instance(kind), instance(kind, 5, 0)):
        shown = str(collective)
        assert shown.startswith(f"{kind} over {collective.nodes} nodes: ")
        assert "\n" not in shown
        assert len(shown) < 80
        assert (f"node {collective.root}" in shown) == (not collective.all_source)
        assert repr(collective).startswith(f"Collective({kind!r}, nodes={collective.nodes}, ")
        assert len(repr(collective)) < 100
    if not COLLECTIVES[kind].lengths and not COLLECTIVES[kind].targets:
        assert eval(repr(instance(kind))) == instance(kind)


@given(st.sampled_from([*ROOTED, *UNROOTED]), st.integers(1, 40), st.integers(1, 40), st.data())
def test_chunks_lie_in_one_block_each(kind, nodes, messages, draws):
    collective = Collective(kind, nodes, messages, draws.draw(st.integers(0, nodes - 1)))
    chunk = draws.draw(st.integers(0, collective.chunks - 1))
    ends = collective.ends()
    block = int(np.searchsorted(ends, chunk, side="right")) - 1
    same = np.arange(ends[block], ends[block + 1])
    assert len(set(collective.source_of(same).tolist())) == 1
    assert int(collective.source_of(chunk)) == int(collective.source_of(same)[0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("broadcast", 3.5, 1), "nodes must be a whole number"),
        (("broadcast", 3, 0), "0 messages cannot be sent"),
        (("broadcast", 3, 2**31), "cannot be sent"),
        (("broadcast", 3, 1, 3), "root 3 is no node"),
        (("broadcast", 3, 1, 0, (1,)), "a multicast, and nothing else, needs targets"),
        (("multicast", 3, 1), "a multicast, and nothing else, needs targets"),
        (("multicast", 3, 1, 0, (2, 1)), "ascending order"),
        (("multicast", 3, 1, 0, (0, 1)), "without the root"),
        (("multicast", 3, 1, 0, (1, 3)), "a target is no node"),
        (("scatterv", 3, 1), "a scatterv, gatherv, allgatherv or alltoallv, and nothing else, needs lengths"),
        (
            ("scatter", 3, 1, 0, (), Lengths.of([0, 1, 1])),
            "scatterv, gatherv, allgatherv or alltoallv, and nothing else, needs lengths",
        ),
        (("gatherv", 3, 1, 0, (), Lengths.of([0, 1])), "2 lengths are given for 3 nodes"),
        (
            ("alltoallv", 3, 1, 0, (), Lengths.of([0, 1, 1])),
            "3 lengths are given for 3 nodes: one for each pair of them",
        ),
        (("gatherv", 3, 1, 1, (), Lengths.of([0, 1, 1])), "its own length is 0"),
        (("gatherv", 3, 2, 0, (), Lengths.of([0, 1, 1])), "takes lengths instead of a number of messages"),
        (("alltoall", 2**31, 2**31 - 1), "too many chunks"),
    ],
)
def test_what_is_no_collective(arguments, words):
    with pytest.raises(PlanError, match=words):
        Collective(*arguments)


def test_holdings_are_equal_when_their_columns_are():
    one, same = Collective("gather", 3, 2).given(), Collective("allgather", 3, 2, 0).given()
    assert one == same
    assert hash(one) == hash(same)
    assert one != Collective("gather", 3, 1).given()
    assert one != 5
    assert len(one) == 3
    assert list(one) == [(0, 0, 2), (1, 2, 4), (2, 4, 6)]


@pytest.mark.parametrize("module", ["kinds", "holdings", "lengths", "collective"])
def test_examples_in_docstrings(module):
    found = doctest.testmod(import_module(f"treecast.collectives.{module}"))
    assert found.attempted > 2
    assert found.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", OF_LENGTHS)
def test_kinds_with_lengths(kind):
    rooted = not COLLECTIVES[kind].all_source
    for nodes, root in ((n, r) for n in range(1, 5) for r in range(n if rooted else 1)):
        for flits in product(range(3), repeat=nodes):
            if flits[root] == 0 or not rooted:
                for order in permutations(range(nodes)):
                    lengths = Lengths(np.array(flits), np.array(order))
                    collective = Collective(kind, nodes, 1, root, lengths=lengths)
                    check(collective, OF_LENGTHS[kind](nodes, flits, root, order))
