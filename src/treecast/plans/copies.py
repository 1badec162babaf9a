"""How many copies are asked for, how many a network allows, and the least cut before a node that too few ways reach."""

from typing import Any

from treecast.against import AGAINST, Against, apart, dead
from treecast.collectives import Collective
from treecast.errors import PlanError, did_you_mean
from treecast.networks import Network
from treecast.networks.flows import Fewest, fewest_apart, least_cut
from treecast.networks.kept import kept
from treecast.plans.built import Job

_MOST_ARCS = 2**17  # of networks on which ways are counted
_MOST_ROOTS = 2**9  # from which they are
_SHOWN = 5  # parts of a cut


def copies_of(copies: int | None, survive: int | None) -> int:
    """Return the number of copies that is asked for by ``copies``, or by ``survive`` = copies - 1; 1 by neither.

    Raises PlanError when the two contradict each other, or ask for less than one copy.
    """
    for name, count in (("copies", copies), ("survive", survive)):
        if count is not None and (isinstance(count, bool) or not hasattr(count, "__index__")):
            raise PlanError(f"{name} must be a whole number, not {count!r}")
    if copies is not None and survive is not None and survive != copies - 1:
        raise PlanError(f"{copies} copies survive {copies - 1} faults, not {survive}: give one of the two")
    wanted = copies if copies is not None else 1 if survive is None else survive + 1
    if wanted < 1:
        raise PlanError("at least one copy is needed: copies from 1, faults to survive from 0")
    return wanted


def against_of(against: str | None, copies: int) -> Against:
    """Return against which faults some copies are to be: nodes by default, which cover links and arcs.

    Raises PlanError for any other word, and when there is one copy, which is good against nothing.
    """
    if against is None:
        return "nodes"
    if against not in AGAINST:
        raise PlanError(f"copies are against {', '.join(AGAINST)}, not {against!r}{did_you_mean(against, AGAINST)}")
    if copies == 1:
        raise PlanError(f"one copy survives no dead {against}: say how many faults to survive, or how many copies")
    return against


def lacks_ways(job: Job[Any]) -> str:
    """Return why a network has not the ways for so many copies, as a sentence that begins with the request; empty if it has.

    It names a node to which too few ways lead, the cut before it, and the numbers that are possible. Of large networks nothing
    is said.
    """
    network, found = job.network, None
    if job.copies == 1 or network.rank_count == 1 or network.arcs > _MOST_ARCS:
        return ""
    root, found = _worst(network, job.collective, job.against)
    if job.copies <= found.ways:
        return ""
    where = _cut(network, root, found.node, job.against)
    # one copy survives nothing: faults are ways less one
    can = ", ".join(f"dead {against} {_worst(network, job.collective, against)[1].ways - 1}" for against in AGAINST)
    asked = f"{job.copies} copies, to survive {dead(job.copies - 1, job.against)}, need {job.copies} {apart(job.against)} paths"
    start = f" from {network.label(root)}" if job.collective.all_source else ""
    return f"{asked}; {network.label(found.node)} has {found.ways}{start}{where}. Possible here: {can}"


def most_ways(network: Network, collective: Collective, against: Against) -> int:
    """Return how many ways that share nothing lead to every node of a collective; 1 where there is one rank."""
    return 1 if network.rank_count == 1 else _worst(network, collective, against)[1].ways


def _worst(network: Network, collective: Collective, against: Against) -> tuple[int, Fewest]:
    """Return a root, and a node to which no more ways lead from it than from any root to any node."""
    if not collective.all_source:
        along = network.reversed() if collective.direction == "to" else network
        return collective.root, fewest_apart(along, collective.root, against)
    return _worst_root(network, against)


@kept(64)
def _worst_root(network: Network, against: Against) -> tuple[int, Fewest]:
    # one stands for all that see the same
    roots = network.ranks[: 1 if network.seen_alike else _MOST_ROOTS].tolist()
    return min(((root, fewest_apart(network, root, against)) for root in roots), key=lambda each: each[1].ways)


def _cut(network: Network, root: int, node: int, against: Against) -> str:
    """Return the least cut before a node, in brackets; empty where no way leads there at all."""
    names = least_cut(network, root, node, against)
    if not names:
        return ""
    return f" (cut off by {', '.join(names[:_SHOWN])}{f' and {len(names) - _SHOWN:,} more' if len(names) > _SHOWN else ''})"
