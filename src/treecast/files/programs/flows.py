"""Whether messages whose contents nobody says can carry out a collective: as flows through all that happens.

A rank's knowledge grows with each receive, and a message carries no more than its bytes. Where less can flow from those who
have something to one who wants it than it wants, no contents of the messages will do (Ford & Fulkerson 1956).
"""

from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from treecast.collectives import Collective
from treecast.description import count_of, list_few
from treecast.files.programs.order import Pairs, waits_of
from treecast.files.programs.program import RECEIVE, Program
from treecast.files.programs.verdict import Findings
from treecast.ragged import Ints
from treecast.verification.file_rules import rule

if TYPE_CHECKING:  # it is imported where it is used: whoever reads any file imports all formats
    import networkx as nx

_MOST_WORK, _MOST_TOLD = 3_000_000, 64
"""How many messages times flows are looked at, and of how many sources a finding tells which are lacking."""
Needs = Counter[tuple[int, int]]
"""By the rank that has and the rank that wants: bytes."""


@rule("delivered", of=("goal",))
def judge_flows(
    found: Findings, program: Program, pairs: Pairs, collective: Collective, begins: Ints, *, sized: bool
) -> None:
    """Judge ``delivered`` of messages whose contents nobody says: whether any contents at all would do.

    They do not wait in a circle. ``begins``, int64 (chunks + 1,): where each chunk of the collective begins, in bytes; ``sized``:
    whether these are the bytes of the messages as well, else every message takes as much as need be. A note says which flows were
    left out.
    """
    found.judged("delivered")
    graph = _graph(program, pairs, sized)
    wants, gives = _needs(collective, begins)
    kind = collective.traits
    if collective.sums:
        # a message may have parts of several ranks in one sum: each rank's flow by itself
        every = [pair for own in wants.values() for pair in own.items()]
        jobs = [(f"of rank {u}'s data, rank {v} wants", Counter({(u, v): need})) for (u, v), need in every]
    else:
        jobs = [(f"rank {v} wants", own) for v, own in wants.items()]
        if kind.blocks == "pair" or (kind.ends == "own" and kind.starts == "root"):
            jobs += [(f"of rank {u} others want", own) for u, own in gives.items()]
    if len(jobs) * max(len(pairs.send), 1) > _MOST_WORK:
        most = max(1, _MOST_WORK // max(len(pairs.send), 1))
        found.notes.append(f"delivery was looked at for {most:,} of {len(jobs):,} flows: more would take too long")
        jobs = jobs[:most]
    for words, own in jobs:
        flow, need = _flow(graph, own), sum(own.values())
        if flow < need:
            unit = "chunk" if int(begins[-1]) == len(begins) - 1 else "byte"
            told = 1 < len(own) <= _MOST_TOLD and found.describes("delivered")
            alone = [Counter({pair: part}) for pair, part in sorted(own.items())] if told else []
            lost = [f"rank {u}'s" for each in alone for u, _ in each if _flow(graph, each) < each.total()]
            none = f": not {list_few(lost, 4)}" if lost else ""
            found.note("delivered", f"{words} {count_of(need, unit)}, and at most {flow:,} can get there{none}")


def _needs(collective: Collective, begins: Ints) -> tuple[dict[int, Needs], dict[int, Needs]]:
    """Return the bytes that each rank wants of others, and that others want of it."""
    wants, gives = defaultdict[int, Needs](Counter), defaultdict[int, Needs](Counter)
    ends, contributors = collective.ends(), sorted({int(node) for node, _, _ in collective.given()})
    for node, first, stop in collective.wanted():
        inside = ends[(ends > first) & (ends < stop)].tolist()
        for low, high in pairwise([first, *inside, stop] if first < stop else []):
            for source in contributors if collective.sums else [int(collective.source_of(low))]:
                for found, rank in ((wants, node), (gives, source)) if source != node else ():
                    found[rank][source, node] += int(begins[high] - begins[low])
    return dict(wants), dict(gives)


def _graph(program: Program, pairs: Pairs, sized: bool) -> "nx.DiGraph[object]":
    """Return all that happens as a network of knowledge: from each beginning by operations and messages to each end."""
    import networkx as nx

    graph: nx.DiGraph[object] = nx.DiGraph()
    ranks = program.rank.tolist()
    for late, before in waits_of(program).items():
        graph.add_edges_from((early, late) for early in before)  # without a capacity: room for anything
    for one, rank in enumerate(ranks):
        graph.add_edge(("from", rank), one)
        if program.kind[one] & RECEIVE:
            graph.add_edge(one, ("to", rank))
    for send, receive in zip(pairs.send.tolist(), pairs.receive.tolist(), strict=True):
        graph.add_edge(send, receive, **({"capacity": int(program.size[send])} if sized else {}))
    return graph


def _flow(graph: "nx.DiGraph[object]", needs: Needs) -> int:
    """Return how much of some needs can flow from ranks' beginnings to ranks' ends."""
    import networkx as nx

    ends = Counter[tuple[object, object]]()
    for (u, v), need in needs.items():
        ends["all", ("from", u)] += need
        ends[("to", v), "end"] += need
    graph.add_edges_from((tail, head, {"capacity": need}) for (tail, head), need in ends.items())
    try:
        return int(cast("Any", nx).maximum_flow_value(graph, "all", "end"))
    finally:
        graph.remove_nodes_from(["all", "end"])
