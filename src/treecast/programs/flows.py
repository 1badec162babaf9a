"""Whether messages whose contents nobody says can carry out a collective: as flows through all that happens.

A rank's knowledge grows with each receive, and a message carries no more than its bytes. Where less can flow from those who
have something to one who wants it than it wants, no contents of the messages will do (Ford & Fulkerson 1956).
"""

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from treecast.collectives import Collective
from treecast.programs.pairing import Pairs
from treecast.programs.program import RECEIVE, Program
from treecast.programs.verdict import Findings
from treecast.ragged import Ints

if TYPE_CHECKING:  # it is imported where it is used: whoever reads any file imports all formats
    import networkx as nx

_MOST_WORK = 3_000_000
"""How many messages times flows are looked at."""


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
    ends = [(("from", u), ("to", v), need) for v, of in wants.items() for u, need in of.items()]
    if collective.sums:
        jobs = [(f"of rank {u[1]}'s data, rank {v[1]} wants {need:,}", {u: need}, {v: need}) for u, v, need in ends]
    else:
        jobs = [
            (
                f"rank {v} wants {sum(of.values()):,}",
                {("from", u): need for u, need in of.items()},
                {("to", v): sum(of.values())},
            )
            for v, of in wants.items()
        ]
        jobs += [
            (
                f"of rank {u} others want {sum(of.values()):,}",
                {("from", u): sum(of.values())},
                {("to", v): need for v, need in of.items()},
            )
            for u, of in gives.items()
            if collective.traits.blocks == "pair"
            or (collective.traits.ends == "own" and collective.traits.starts == "root")
        ]
    if len(jobs) * max(len(pairs.send), 1) > _MOST_WORK:
        most = max(1, _MOST_WORK // max(len(pairs.send), 1))
        found.notes.append(f"delivery was looked at for {most:,} of {len(jobs):,} flows: more would take too long")
        jobs = jobs[:most]
    for words, sources, sinks in jobs:
        flow, least = _flow(graph, sources, sinks), min(sum(sources.values()), sum(sinks.values()))
        if flow < least:
            found.note("delivered", f"{words} bytes, and at most {flow:,} can get there")


def _needs(collective: Collective, begins: Ints) -> tuple[dict[int, dict[int, int]], dict[int, dict[int, int]]]:
    """Return {rank that wants: {rank that has: bytes}}, and the same the other way round, without a rank's own."""
    wants, gives = defaultdict[int, dict[int, int]](dict), defaultdict[int, dict[int, int]](dict)
    ends = collective.ends().tolist()
    sums, kept = collective.sums, collective.given()
    contributors = sorted({int(node) for node, _, _ in kept})
    for node, first, stop in collective.wanted():
        low = first
        while low < stop:
            high = min([stop, *(end for end in ends if end > low)])
            size = int(begins[high] - begins[low])
            for source in contributors if sums else [int(collective.source_of(low))]:
                if source != node:
                    wants[node][source] = wants[node].get(source, 0) + size
                    gives[source][node] = gives[source].get(node, 0) + size
            low = high
    return dict(wants), dict(gives)


def _graph(program: Program, pairs: Pairs, sized: bool) -> "nx.DiGraph[object]":
    """Return all that happens as a network of knowledge: from each beginning by operations and messages to each end."""
    import networkx as nx

    graph: nx.DiGraph[object] = nx.DiGraph()
    ranks = program.rank.tolist()
    for late, early, begun in zip(program.waiting.tolist(), program.wait.tolist(), program.begun.tolist(), strict=True):
        if not begun:
            graph.add_edge(early, late)
    for one, rank in enumerate(ranks):
        graph.add_edge(("from", rank), one)
        if program.kind[one] & RECEIVE:
            graph.add_edge(one, ("to", rank))
    for send, receive in zip(pairs.send.tolist(), pairs.receive.tolist(), strict=True):
        if sized:
            graph.add_edge(send, receive, capacity=int(program.size[send]))
        else:
            graph.add_edge(send, receive)
    return graph


def _flow(graph: "nx.DiGraph[object]", sources: dict[tuple[str, int], int], sinks: dict[tuple[str, int], int]) -> int:
    """Return how much can flow from some ranks' beginnings to some ranks' ends."""
    import networkx as nx

    added = [("all", one, need) for one, need in sources.items()] + [(one, "end", need) for one, need in sinks.items()]
    for tail, head, need in added:
        graph.add_edge(tail, head, capacity=need)
    try:
        return int(cast("Callable[..., int]", nx.maximum_flow_value)(graph, "all", "end"))  # type: ignore[reportUnknownMemberType]
    finally:
        graph.remove_nodes_from(["all", "end"])
