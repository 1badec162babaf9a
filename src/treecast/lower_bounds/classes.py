"""Lower bounds of any demand: what comes in late at who wants it, and what has far to go from who alone has it.

*Doors.* A node with room for r chunks in a step, over its arcs or its port, that lacks n chunks of which the nearest holder is d
steps away or more, takes d - 1 + ⌈n / r⌉ steps: none of them comes before step d - 1. A node that alone has n chunks which
have e steps to go or more takes as long, as they have left it e - 1 steps before the end. Over one port as many as have heard of
a chunk at most double in a step. Where messages combine, distances and doubling alone count. A sum runs backwards: each of its
contributions has to come to each that wants it.
"""

from collections import defaultdict

import numpy as np

from treecast.errors import PlanError
from treecast.lower_bounds import distances
from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Job, steps, transmissions
from treecast.lower_bounds.store_and_forward import bounds_of
from treecast.networks.arcs import far_apart
from treecast.networks.core import Ints

_Doors = dict[int, list[tuple[int, int]]]


@bounds_of("demand")
def _demand(job: Job, root: int) -> list[Bound]:
    """Return the bound of the sends, and those by distances, by doors and by doubling."""
    if job.collective is None or job.collective.demand is None:
        raise PlanError("these are bounds of a demand")
    demand, network = job.collective.demand, job.network
    if job.copies > 1:
        raise PlanError(f"a demand has 1 copy, not {job.copies}: copies are for data that one node, or every node, has")
    far = far_apart(network)
    ins: _Doors = defaultdict(list)
    outs: _Doors = defaultdict(list)
    sends = farthest = doubling = 0
    for size, parts, wants in demand.numbered():
        groups = [np.array(part, np.int64) for part in parts]
        wanted = np.array(wants, np.int64)
        near = np.stack([far[group][:, wanted].min(axis=0) for group in groups])  # of each part and wanter
        farthest = max(farthest, int(near.max()))
        if len(parts) == 1:
            hearers, holders = len(wants), len(parts[0])
            sends += size * max(hearers, int(near.max()))
        else:
            givers = {part[0] for part in parts}
            sends += size * (len(givers) + len(wants) - (2 if givers.intersection(wants) else 1))
            hearers, holders = len(givers) - givers.issuperset(wants), 1  # backwards: who has heard from a wanter
        if job.model.ports == "one":
            doubling = max(doubling, _doublings(hearers + holders, holders))
        for v, d in zip(wants, near.max(axis=0).tolist(), strict=True):
            if d:  # of a sum, a chunk that has the farthest contribution
                ins[v].append((d, size))
        for group, e in zip(groups, near.max(axis=1).tolist(), strict=True):
            if len(group) == 1 and e:
                outs[int(group[0])].append((e, size))
    found = [
        transmissions(
            sends, "Σ chunks x who wants them", "whoever wants a chunk receives it, and a sum has its contributions"
        ),
        steps(farthest, "greatest distance", "from the nearest that has a chunk to who wants it"),
    ]
    if doubling:
        found.append(
            steps(doubling, "⌈log2 of (holders + wanters) / holders⌉", "who has heard at most doubles in a step")
        )
    if not job.model.combining:
        one = job.model.ports == "one"
        room_in, room_out = (
            np.ones(network.nodes, np.int64) if one else distances.degrees(where)
            for where in (network.reversed(), network)
        )
        found += [_through(ins, room_in, "enter"), _through(outs, room_out, "leave")]
    given = "if each sum has an owner" if demand.sums else ""
    return [Bound(b.of, b.value, b.formula, b.source, given if b.of == "transmissions" else "") for b in found]


def _doublings(many: int, few: int) -> int:
    return max(0, (-(-many // few) - 1).bit_length())


def _through(doors: _Doors, room: Ints, verb: str) -> Bound:
    """Return the greatest d - 1 + ⌈chunks with d steps to go or more / room⌉ of all nodes."""
    found = [(0, 0, 1, 1)]
    for node, chunks in doors.items():
        many = 0
        for d, size in sorted(chunks, reverse=True):
            many += size
            found.append((d - 1 + -(-many // int(room[node])), many, d, int(room[node])))
    value, many, d, width = max(found, key=lambda each: each[0])
    formula = f"⌈{many:,} / {width}⌉" + (f" + {d - 1}" if d > 1 else "")
    return steps(value, formula, f"{many:,} chunks{f', {d} arcs away or more,' if d > 1 else ''} {verb} one node")
