"""Circulant broadcasts: right in M - 1 + ⌈log2 N⌉ steps for every N and M, and each node's part from its label alone."""

import random
import sys
from itertools import pairwise

import numpy as np
import pytest

from tests.plans.whole.one_port.oracle import broadcast_held
from treecast import program
from treecast.collectives import COLLECTIVES
from treecast.errors import PlanError
from treecast.lower_bounds import best
from treecast.plans import alternatives, plan
from treecast.plans.whole.one_port.circulant import periodic
from treecast.plans.whole.one_port.skips import receive_lists, skips
from treecast.verification.verifier import verify

ROOTED = ["broadcast", "reduce", "reduce-broadcast"]


def check(nodes, messages, root=0):
    schedule = plan("broadcast", f"complete:{nodes}", messages=messages, model="one-port", root=root)
    assert schedule.builder == "circulant"
    assert schedule.steps == schedule.claims.steps == messages - 1 + (nodes - 1).bit_length()
    assert schedule.transmissions == schedule.claims.transmissions == messages * (nodes - 1)
    assert broadcast_held(schedule)


def bases(nodes, which):
    """Return the index of the last skip that is taken off a node's number, the largest first; q for node 0: int64.

    It is the number of the chunk that a node receives first of each period.
    """
    every = skips(nodes)
    left, base = np.array(which, np.int64), np.full(len(which), len(every) - 1, np.int64)
    for index in range(len(every) - 2, -1, -1):
        taken = (left > 0) & (left >= every[index])
        base[taken] = index
        left = left - taken * every[index]
    return base


def lists_of(nodes, node):
    """Return what a node receives in each step of a period, and what it sends: what those receive that it sends to."""
    towards = [(node + skip) % nodes for skip in skips(nodes)[:-1]]
    received, *others = receive_lists(nodes, [node, *towards])
    return received, np.diagonal(others)


def right(nodes, which):
    """Return of which nodes both lists are as they have to be: bool.

    A node receives every chunk of a period once, its base in its own period and the others one later. And what it sends in step
    k it has received in the steps before, or it is its base, received in the period before. Where this holds of all nodes, the
    broadcast is right for every number of chunks, without a replay.
    """
    q, base = len(skips(nodes)) - 1, bases(nodes, which)
    found = np.zeros(len(which), np.bool_)
    for i, (node, own) in enumerate(zip(which.tolist(), base.tolist(), strict=True)):
        received, sent = (each.tolist() for each in lists_of(nodes, node))
        due = sorted(own if e == own else e - q for e in range(q))
        held = [set(received[:k]) | {own - q} for k in range(q)]
        targets = [(node + skip) % nodes for skip, _ in pairwise(skips(nodes))]
        found[i] = sorted(received) == due and all(
            chunk in known for chunk, known, target in zip(sent, held, targets, strict=True) if target
        )
    return found


def test_the_lists_of_nine_nodes():
    """As Träff prints them."""
    assert skips(9) == [1, 2, 3, 5, 9]
    assert bases(9, np.arange(9)).tolist() == [4, 0, 1, 2, 0, 3, 0, 1, 2]
    assert receive_lists(9, [1, 2, 5, 8]).tolist() == [
        [0, -2, -3, -1],
        [-4, 1, -2, -1],
        [-4, -2, -3, 3],
        [-3, -4, -1, 2],
    ]


@pytest.mark.parametrize("nodes", [2, 3, 5, 9, 12, 17, 64, 97])
def test_broadcasts_take_the_fewest_steps(nodes):
    for messages in (1, 2, 3, 8, 20):
        check(nodes, messages, root=nodes // 2)


def test_two_conditions_prove_networks_that_no_machine_could_hold():
    """What a node receives is every chunk once, and what it sends it has: for random nodes of networks of up to 2^60."""
    dice = random.Random(1)
    for nodes in [
        2**60 + 12345,
        2**60,
        10**18 + 7,
        *(dice.randrange(2, 2 ** dice.randrange(2, 61)) for _ in range(12)),
    ]:
        some = [dice.randrange(1, nodes) for _ in range(4)] + [1, nodes - 1]
        assert right(nodes, np.array(some)).all(), nodes


def test_conditions_can_fail(monkeypatch):
    """With the skips of another rule a node lacks what it is to send."""
    import treecast.plans.whole.one_port.skips as module

    for each in (module, sys.modules[__name__]):
        monkeypatch.setattr(each, "skips", lambda nodes: [1, 2, 4, 8, nodes])
    assert not right(9, np.arange(1, 9)).all()


def test_a_node_knows_its_part_from_its_label():
    for nodes in (1, 2, 9, 30):
        for messages in (1, 11):
            for kind in ("broadcast", "reduce", "reduce-broadcast"):
                asked = {"messages": messages, "model": "one-port", "root": nodes // 3}
                name = program(kind, f"complete:{nodes}", 0, **asked).builder
                whole = plan(kind, f"complete:{nodes}", builder=name, **asked)
                for node in {0, 1 % nodes, nodes // 3, nodes - 1}:
                    assert program(kind, f"complete:{nodes}", node, **asked).rows == whole.at(node).rows
    streams = periodic(2**60 + 1).streams(1, 61, 2**59)
    assert (streams.target == 2**59).sum() == 1
    assert set(streams.step.tolist()) <= set(range(61))


@pytest.mark.parametrize("kind", ROOTED)
@pytest.mark.parametrize("nodes", [1, 2, 7, 16, 33])
def test_reductions_run_backwards(kind, nodes):
    for messages in (1, 5):
        schedule = plan(kind, f"complete:{nodes}", messages=messages, model="one-port", root=nodes - 1)
        report = verify(schedule)
        assert report.holds
        if not COLLECTIVES[kind].there_and_back:
            assert report.steps == best(list(report.bounds), "steps").value


def test_it_is_the_default_and_others_say_why_not(monkeypatch):
    found = alternatives("broadcast", "complete:64", model="one-port", messages=82)
    assert (found.chosen.name, found.candidates[0].claims.steps) == ("circulant", 87)
    reasons = {each.builder.name: each.reason for each in found.candidates if each.reason}
    assert reasons["breadth-first-tree"] == "needs model all-port, not one-port"
    assert reasons["disjoint-trees"] == "is for several copies: circulant sends one"
    assert plan("broadcast", "complete:3000", messages=10**6, model="one-port").rows.src.size <= 2999 * 13
    monkeypatch.setattr("treecast.plans.built.memory", lambda: 2**20)
    with pytest.raises(PlanError, match="too many for this machine's memory"):
        plan("broadcast", "complete:3000", messages=10**6, model="one-port")


@pytest.mark.long
@pytest.mark.parametrize("nodes", range(2, 201))
def test_broadcasts_take_the_fewest_steps_on_up_to_200_nodes(nodes):
    for messages in range(1, 21):
        check(nodes, messages)


@pytest.mark.long
def test_two_conditions_of_all_nodes():
    for nodes in range(2, 2050):
        assert right(nodes, np.arange(1, nodes)).all(), nodes
