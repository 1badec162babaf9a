"""Demands: their forms, their numbers on a network, what is refused; and every kind of collective is one."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.strategies import KINDS, examples
from treecast.collectives import COLLECTIVES, Collective, Demand, Kind, Lengths, kinds
from treecast.errors import NetworkError, PlanError
from treecast.networks import network


def holdings(collective, found):
    """What each node holds, as sets of (class, place) pairs of a demand in which finished sums stand behind the sums."""
    del collective
    return {(node, chunk) for node, first, stop in found for chunk in range(first, stop)}


@st.composite
def rows(draw, names=6):
    """Classes of a demand in numbers: (parts, wants, chunks)."""
    nodes = st.integers(0, names - 1)
    found = []
    for _ in range(draw(st.integers(1, 5))):
        every = draw(st.permutations(range(names)))
        parts, at = [], 0
        for size in draw(st.lists(st.integers(1, 2), min_size=1, max_size=3)):
            parts.append(every[at : at + size])
            at += size
        wants = sorted(draw(st.sets(nodes, min_size=1)))
        found.append((parts, wants, draw(st.integers(1, 4))))
    return found


def spoken(found):
    return [([v for part in parts for v in ("+", *part)][1:], wants, size) for parts, wants, size in found]


@examples(60)
@given(rows())
def test_all_forms_say_the_same(found):
    mine = Demand.of(spoken(found))
    assert Demand.of(mine) is mine
    named = Demand.of([([v if v == "+" else f"n{v}" for v in h], [f"n{v}" for v in w], s) for h, w, s in spoken(found)])
    assert Demand.of(str(named)) == named
    assert Demand.of(json.loads(named.to_json())) == named
    assert [list(map(list, each.parts)) for each in mine.classes()] == [list(map(list, parts)) for parts, _, _ in found]
    assert mine.chunks == sum(size for _, _, size in found)


@examples(60)
@given(rows())
def test_numbers_on_a_network(found):
    where = network("complete:6")
    mine = Demand.of(spoken(found)).on(where)
    known = Collective.of_demand(where, Demand.of(spoken(found)))
    asked = [
        (parts, set(wants) - set(parts[0]) if len(parts) == 1 else set(wants), size) for parts, wants, size in found
    ]
    asked = [each for each in asked if each[1]]
    sums = [each for each in asked if len(each[0]) > 1]
    copies = [each for each in asked if len(each[0]) == 1]
    assert mine.sums == len(sums)
    assert known.sums == sum(size for _, _, size in sums)
    assert known.chunks == 2 * known.sums + sum(size for _, _, size in copies)
    for (_, parts, wants), (given_parts, asked_wants, _) in zip(mine.classes(), [*sums, *copies], strict=True):
        assert set(wants) == asked_wants
        if len(given_parts) == 1:
            assert set(parts[0]) == set(given_parts[0])
        else:  # each part has one giver, which holds it
            givers = {v for (v,) in parts}
            assert all(givers & set(part) for part in given_parts)
            assert len(givers) == len(given_parts)  # as parts share no node here
    wanted = holdings(known, known.wanted())
    assert all(chunk >= known.sums for _, chunk in wanted)
    assert len(wanted) == sum(len(wants) * size for _, wants, size in asked)
    assert len(holdings(known, known.given())) == sum(
        size * (len(parts) if len(parts) > 1 else len(parts[0])) for parts, _, size in asked
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("nodes", "messages"), [(2, 1), (3, 2), (5, 1)])
def test_every_kind_is_a_demand(kind, nodes, messages):
    known = Collective(kind, nodes, messages, 0 if COLLECTIVES[kind].all_source else nodes - 1)
    found = Collective.of_demand(network(f"complete:{nodes}"), known.classes[0])
    given_, wanted = (holdings(known, each) for each in (known.given(), known.wanted()))
    if not known.sums:  # what is there already is no demand
        wanted -= given_
        assert found.chunks == len({chunk for _, chunk in wanted})
    else:
        assert found.sums == known.sums
        assert len(holdings(found, found.given())) == len(given_)
    assert len(holdings(found, found.wanted())) == len(wanted)


@pytest.mark.parametrize("kind", [name for name in COLLECTIVES if name != "demand"])
@pytest.mark.parametrize("spec", ["ring:4", "tree:2,1", "fat-tree:2"])
def test_classes_are_what_is_given_and_wanted(kind, spec):
    where, row = network(spec), COLLECTIVES[kind]
    nodes, ranks = where.nodes, where.ranks.tolist()
    more = {"root": ranks[-1]} if not row.all_source else {}
    if row.targets:
        more["targets"] = (ranks[0],)
    if row.lengths:
        flits = np.zeros((nodes, nodes) if row.blocks == "pair" else nodes, np.int64)
        block = np.ix_(ranks, ranks) if row.blocks == "pair" else ranks
        flits[block] = np.arange(flits[block].size).reshape(flits[block].shape) % 3
        flits[ranks[-1]] *= row.all_source
        more["lengths"] = Lengths.of(flits)
    known = Collective.over(where, kind, 1 if row.lengths else 2, **more)
    wish, first = known.classes
    given_, wanted = (holdings(known, each) for each in (known.given(), known.wanted()))
    held, asked = set(), set()
    for (size, parts, wants), begin in zip(wish.numbered(), first.tolist(), strict=True):
        chunks = range(begin, begin + size)
        held |= {(v, chunk) for part in parts for v in part for chunk in chunks}
        asked |= {(v, chunk + known.sums * known.results) for v in wants for chunk in chunks}
    assert asked == (wanted if known.sums else wanted - given_)
    assert held <= given_
    assert {chunk for _, chunk in held} == {chunk % known.sums if known.sums else chunk for _, chunk in asked}


NEW_ROWS = (
    Kind("hear-some", "node", "own", "targets", "every node's data reaches some nodes"),
    Kind("sum-to-some", "one", "every", "targets", "the sum of every node's data reaches some nodes"),
    Kind("publish", "node", "root", "all", "one node's blocks, one for each node, all reach every node"),
)


@pytest.mark.parametrize("row", NEW_ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("spec", ["ring:6", "fat-tree:4", "mesh:3x3"])
@pytest.mark.parametrize("machine", ["all-port", "one-port,combining,half"])
def test_a_new_collective_is_a_row(row, spec, machine, monkeypatch):
    monkeypatch.setitem(kinds._KINDS, row.name, row)
    where = network(spec)
    targets = {"targets": where.labels(where.ranks[[1, 3]])} if row.targets else {}
    schedule = treecast.plan(row.name, where, messages=2, model=machine, **targets)
    for method in ("fast", "expanded"):
        assert treecast.verify(schedule, method=method).holds


def test_reversed_twice_is_the_same():
    mine = Demand.of([(0, [1, 2], 3), ([1, "+", 2, "+", 3], 0, 2)])
    assert mine.reversed().reversed() == mine
    with pytest.raises(PlanError, match="no way back"):
        Demand.of([([0, 1], 2, 1)]).reversed()


def test_numbers_are_those_of_ranks():
    tree = network("fat-tree:4")
    found = Collective.of_demand(tree, Demand.of({0: [15]}))
    assert list(found.wanted()) == [(int(tree.ranks[15]), 0, 1)]
    with pytest.raises(
        PlanError, match=r"16 is no rank of fat-tree:4: the demand is of 17 ranks, which go from 0 to 15 there"
    ):
        Demand.of({0: [16]}).on(tree)


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ([([], 1, 2)], "nobody holds class 1: name a node that has it"),
        ([(["a", "+"], "b")], "nobody holds part 2 of class 1"),
        ([("a", "b", 0)], "class 1 has 0 chunks: write a whole number from 1"),
        ([("a", "b", True)], "class 1 has True chunks"),
        ([("a",)], r"class 1 is a row \(holders, wanters, chunks\)"),
        ([(1.5, "b")], "class 1: 1.5 is no node, and no list of nodes"),
        ([([1.5], "b")], "class 1: 1.5 is no node: write its number or label"),
        ([(-1, 2)], "nodes go from 0 on"),
        ("a b c", "a class is written CHUNKS: HOLDERS > WANTERS"),
        ("3: a > b > c", "a class is written CHUNKS: HOLDERS > WANTERS"),
        ({"classes": [{"chunks": 1}]}, "class 1 of the file has no 'from' and 'to'"),
        ({"classes": 5}, "'classes' is a list of classes, each with 'from' and 'to', not 5"),
        ({"classes": None}, "'classes' is a list of classes"),
        ({"classes": "x"}, "'classes' is a list of classes"),
        ({"classes": [5]}, "class 1 of the file has no 'from' and 'to'"),
        ({"classes": [{"from": "ab", "to": "c"}]}, "class 1: 'from' is a list of parts, not 'ab'"),
        ({"classes": [{"from": 5, "to": "c"}]}, "class 1: 'from' is a list of parts, not 5"),
        ({"classes": [{"from": [], "to": "c"}]}, "nobody holds class 1"),
        (7, "a demand is rows"),
    ],
)
def test_what_is_no_demand(given_, why):
    with pytest.raises(PlanError, match=why):
        Demand.of(given_)


def test_what_is_none_on_a_network():
    with pytest.raises(NetworkError):
        Demand.of({"x": ["1234"]}).on(network("star:4"))
    with pytest.raises(PlanError, match="stands twice in part 1"):
        Demand.of([([0, 0], 1)]).on(network("ring:4"))
    relay = network("fat-tree:4").label(int(np.flatnonzero(network("fat-tree:4").relays)[0]))
    with pytest.raises(PlanError, match="is a relay, which holds nothing and wants nothing"):
        Demand.of([(relay, network("fat-tree:4").label(int(network("fat-tree:4").ranks[0])))]).on(network("fat-tree:4"))
    with pytest.raises(PlanError, match="needs classes"):
        Collective("demand", 4, 1)
    with pytest.raises(PlanError, match="leave root, targets and lengths out"):
        treecast.plan({0: [1]}, "ring:4", root=2)


def test_without_a_way():
    import networkx as nx

    line = treecast.network(nx.DiGraph([("a", "b"), ("b", "c")]))
    assert treecast.plan({"a": ["c"]}, line).steps == 2
    with pytest.raises(PlanError, match="no way leads from c to a"):
        treecast.plan({"c": ["a"]}, line)


def test_classes_of_a_line_stand_behind_semicolons():
    one, other = (Demand.of(text) for text in ("2: 0 > 1 ; 3: 1 2 > 0", "2: 0 > 1; 3: 1 2 > 0;"))
    assert one == other
    assert len(one) == 2
