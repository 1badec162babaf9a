"""Lower bounds by parts: something of every sum crosses between parts of a network again and again.

Let the nodes be in g parts, a rank in each. Before the ranks of some part have all of a sum, contributions to it have crossed
between parts g - 1 times at least, since fewer crossings do not join all parts. No crossing completes it in two parts. So in each
of the other g - 1 parts one more has to arrive. That makes 2 (g - 1), the least number of calls one way by which g people tell
each other everything (Harary & Schwenk 1974), whether a sum has an owner or not. All nodes, and two parts, are special.
"""

from dataclasses import replace

from treecast.graphs.parts import weakest_parts
from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Job, steps
from treecast.networks.arcs import arcs_of


def by_parts(job: Job, sums: int, spelled: str) -> list[Bound]:
    """Return the bound by the arcs between parts, where all ranks are told so many sums; ``spelled``: as formulas have it.

    Its certificate is the parts: arcs between them cost 1, all others nothing.
    """
    network = job.network
    found = None if network.seen_alike or job.quick or job.model.ports == "one" else weakest_parts(network)
    if found is None:
        return []
    half = job.model.duplex == "half" and network.both_ways
    times, room, arcs = 2 * (found.groups - 1), found.arcs // (2 if half else 1), arcs_of(network)
    crossing = found.part[arcs.tail] != found.part[arcs.head]
    said = f"something of every sum crosses {times:,} times between {found.groups:,} parts, over {found.arcs:,} arcs"
    bound = steps(-(-sums * times // room), f"⌈{times:,} {spelled} / {room:,}⌉", said)
    return [replace(bound, certificate=tuple(crossing.astype(int).tolist()))]
