"""Lower bounds of the sends of any demand, and of the steps that they take if all have room for them.

Whoever wants a chunk receives it: from where it is, over at least as many arcs as that is far. Of a sum, each contribution but
one is sent on, and once somebody has all of it, it goes to each other that wants it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from treecast.collectives import Demand
from treecast.lower_bounds import distances
from treecast.lower_bounds.bound import Bound, tightest
from treecast.lower_bounds.job import OWNED, Problem, classes, steps, transmissions


def sends(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Each chunk is received by whoever wants it, x times, or crosses as many arcs as x disjoint paths to its node have.

    With faults to survive each chunk crosses f + 1 links of every node that it is for, as all can be cut if there are fewer. Two
    nodes share a link. Faults only delay: a chunk that crosses a link when something fails crosses it without faults, too.
    """
    kind = job.kind
    if job.collective.demand is not None:
        return [_of_classes(job)]
    if kind.personal:
        return [_to_one_each(job)]
    each, hearers = job.spelled, job.hearers
    if job.faults:
        links = max(hearers, -(-(job.faults + 1) * (len(job.ends) + kind.targets) // 2))
        said = "a message crosses f + 1 links of every node, or all can be cut"
        formula = "max(targets, ⌈(f + 1)(targets + 1) / 2⌉)" if kind.targets else "⌈(f + 1) N / 2⌉"
        return [transmissions(job.chunks * links, f"{each.replace(' x', '')} {formula}", said)]
    if kind.results:
        said = "a sum is added up, and told to all others that want it"
        free = transmissions(
            job.chunks * (job.others + len(job.ends) - 1), f"2 {each.removesuffix(' x')} (N - 1)", said
        )
        owned = "each sum goes to its owner, and from there to all, past relays"
        both = transmissions(
            2 * job.chunks * hearers, f"2 {each.removesuffix(' x')} {job.spelled_hearers}", owned, OWNED
        )
        return [replace(both, given="")] if kind.blocks == "one" else [free, both]  # by way of the root alone
    if kind.targets and kind.starts != "root":  # some targets hold some of it
        total = job.chunks * hearers - int(job.sizes(job.ends).sum())
        return [transmissions(total, f"{each} targets, less their own", "who wants a chunk receives it, x times")]
    said = "who wants a chunk receives it, x times" + ", and so do some relays" * (hearers > job.others)
    if kind.adds:
        said = "each node sends its part of every sum, but the last"
    if kind.ends == "all" and kind.starts == "root" and kind.blocks == "one":
        said = said.replace("who wants a chunk receives it", "each node but the root receives M messages")
    return [transmissions(job.chunks * hearers, f"{each} {job.spelled_hearers}", said)]


def _to_one_each(job: Problem) -> Bound:
    """Return the bound of chunks for one node each."""
    network, collective, one_root = job.network, job.collective, not job.kind.all_source
    source = "a chunk goes as many arcs as its node is far"
    if job.copies > 1:
        source = "disjoint paths leave over different arcs, nearer or not"
    if collective.lengths is None:
        where = job.along
        found = distances.ways(where, collective.root, job.copies, job.against) if one_root else None
        ways, formula = found or distances.ways_of_all(network, job.copies, job.against)
        return transmissions(collective.messages * ways, f"M {formula}", source)
    needs, nodes, total = collective.demands(), np.arange(network.nodes), 0
    if job.backwards:
        needs, network = needs.T, job.along
    for u in np.flatnonzero(needs.any(axis=1)).tolist():
        to = nodes[needs[u] > 0]
        total += int((needs[u, to] * distances.least_by_arcs(network, u, job.copies, to)).sum())
    each = "distance" if job.copies == 1 else f"lengths of {job.copies} paths"
    return transmissions(total, f"Σ length x {each}", source)


def _of_classes(job: Problem) -> Bound:
    demand, total = cast("Demand", job.collective.demand), 0
    for size, parts, wants, far in classes(demand, job.network):
        if len(parts) == 1:
            total += size * max(len(wants), int(far.max()))
        else:
            givers = {part[0] for part in parts}
            total += size * (len(givers) + len(wants) - (2 if givers.intersection(wants) else 1))
    said = "whoever wants a chunk receives it, and a sum has its contributions"
    return transmissions(total, "Σ chunks x who wants them", said, OWNED if demand.sums else "")


def work(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """No step has more sends than the network has room for; where messages combine, as many chunks as it likes go in one."""
    if job.model.combining:
        return []
    said = "all sends, by those of a busy step"
    found = [bound for bound in known if bound.of == "transmissions"]
    return [
        steps(-(-bound.value // job.room), f"⌈{bound.formula} / {job.room:,}⌉", said, bound.given)
        for bound in found
        if not bound.given or bound is tightest(found, "transmissions")
    ]
