"""Lower bounds by prices of steps: where data has far to go, there is little to send early, and little late.

**Theorem.** Let a send over each arc in each of T steps have a price w ≥ 0. A chunk of r comes to v first over an arc (u, v),
whose tail u has it in step d(r, u) at the soonest; and if v parts r from a rank z, d(v, z) steps have to follow. So it pays the
cheapest arc into v in its *window*, the steps d(r, u) … T - 1 - d(v, z), for each node v that is a rank or parts r from one. A
sum runs backwards, and where it goes out again there is time enough on its way in to do that, and on its way out it has been
completed. What several hold comes from the nearest; contributions to a sum that several want, and nobody owns, come to any one
of them. If all data pays more than the sends of T steps can cost, no schedule takes T steps. *Proof.* Each payment is for a send
of its own: of another chunk, into or out of another node, or of a completed sum. Prices belong to the resources that sends take
in a step, so the sends of T steps cost the sum of all of these at most. ∎

On path:9 an allgather over one port takes 13 steps by this, and 10 if prices are the same in all steps: no arc from the middle
has anything new to carry in the last steps, since all chunks have four arcs to go there. The least T is found by a game: who
pays chooses windows, who sells chooses prices, both by multiplicative weights that also count their last move twice
(Rakhlin & Sridharan 2013); prices are then rounded to whole ones, which are a proof whoever found them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treecast.collectives import Collective
from treecast.lower_bounds.bound import Bound, tightest
from treecast.lower_bounds.job import Problem
from treecast.lower_bounds.prices import Floats, taken_by
from treecast.networks import Network
from treecast.networks.arcs import Arcs, arcs_of, far_apart
from treecast.networks.core import Ints
from treecast.networks.flows import away
from treecast.networks.kept import kept
from treecast.networks.separators import far_and_back

_MOST_NODES, _MOST_SLOTS, _MOST_OF_CLASSES = 40, 2**16, 2**15  # of a network; steps of all windows; of a demand's
_FAR = 2**20  # arcs, where no way leads
_TURNS, _LOOK = 320, 20  # moves of the game; prices are rounded after so many


class Windows(NamedTuple):
    """Errands, each of which one of several arcs can do in some steps: an entry for each such arc, by errand.

    ``arc``: as ``arcs_of`` numbers them. ``soonest``: the first step. ``after``: how many steps follow the last. ``times``: how
    often each errand is to be done, float64 (errands,). ``owner``: for which owner of a sum it is; one is chosen for each sum.
    """

    errand: Ints
    arc: Ints
    soonest: Ints
    after: Ints
    times: Floats
    owner: Ints


def by_windows(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bound of steps by prices of steps, above those known, where some node parts others, and of demands.

    Its certificate are the prices of a send over each arc in step 0, then in step 1, and so on.
    """
    collective, network, kind = job.collective, job.network, job.kind
    if job.model.combining or kind.personal or job.copies > 1 or job.faults or network.nodes > _MOST_NODES:
        return []
    if network.seen_alike and collective.demand is None:
        return []
    if (found := windows(network, replace(collective, messages=1, owners=()))) is None:
        return []
    times, (taken, rooms) = collective.messages * (network.rank_count if job.given else 1), taken_by(job.model, network)
    value, proved = tightest(known, "steps").value, None
    most = _MOST_SLOTS if collective.demand is None else _MOST_OF_CLASSES
    while refuted := _refute(found, (taken, rooms), value, times, most):
        value, proved = value + 1, refuted
    if not proved:
        return []
    paid, prices = proved
    few, sold = f"{value - 1:,}", int((prices * rooms[:, None]).sum())
    formula = f"{few} + 1, as all data pays {paid:,}, and the sends of {few} steps cost at most {sold:,}"
    # prices of one step alone would be read as those of all
    certificate = prices[taken].sum(axis=1).T.ravel().tolist() if value > 2 else ()
    return [Bound("steps", value, formula, "prices of steps", job.given, tuple(certificate))]


def _refute(found: Windows, taken_by: tuple[Ints, Ints], count: int, times: int, most: int) -> tuple[int, Ints] | None:
    """Return why ``count`` steps are too few: the least that all data pays, and whole prices of resources, by steps.

    The prices are int64 (numbers in ``taken``, steps). None if none were found, or windows have more than ``most`` steps.
    """
    # 1. Windows of ``count`` steps: a choice for each step of each arc of each errand.
    taken, rooms = taken_by
    last, slots = count - found.after, np.maximum(count - found.after - found.soonest, 0)
    if int(slots.sum()) > most or not np.bincount(found.errand, slots).all():
        return None
    choice = np.repeat(np.arange(len(slots)), slots)
    step = np.arange(len(choice)) - np.repeat(np.cumsum(slots) - last, slots)
    errand = found.errand[choice]
    cells = (taken[found.arc[choice]] * count + step[:, None]).T
    # 2. Choices of an errand stand side by side, and so do errands of an owner.
    first, owners = np.flatnonzero(np.diff(errand, prepend=-1)), np.flatnonzero(np.diff(found.owner, prepend=-1))
    room = np.repeat(rooms, count)  # of each resource in each step
    size = len(room)

    def cheapest(y: Floats) -> float:
        each = np.minimum.reduceat(y[cells].sum(axis=0), first)
        return times * float(np.add.reduceat(each * found.times, owners).min())

    # 3. The game. Who pays shifts weight to what was cheap, who sells to what was taken often.
    paid, gained, mean, y = np.zeros(len(choice)), np.zeros(size), np.zeros(size), np.full(size, 1 / size)
    for turn in range(1, _TURNS + 1):
        price = count * (y / room)[cells].sum(axis=0)
        paid += price
        low = np.minimum.reduceat(paid + price, first)  # against powers that are too large
        shares = np.exp(low[errand] - paid - price)
        total = np.add.reduceat(shares, first)
        costs = np.add.reduceat((low - np.log(total)) * found.times, owners)
        chosen = np.exp(costs.min() - costs)
        weight = (chosen / chosen.sum())[found.owner] * found.times * times / total
        taking = np.bincount(cells.ravel(), np.tile(shares * weight[errand], len(cells)), size) / room
        gained += taking
        y = np.exp(gained + taking - (gained + taking).max())
        y /= y.sum()
        mean += y
        # 4. Look: no prices can do, or some do when they are rounded to 0 and 1.
        if turn % _LOOK == 0:
            if gained.max() <= turn:  # the shares so far fit into the steps: they cost no more at any prices
                return None
            for some in (mean / room, y / room):
                for share in range(1, 10):
                    whole = (some >= some.max() * share / 10).astype(np.float64)
                    if (cost := cheapest(whole)) > (whole * room).sum():
                        return round(cost), whole.reshape(-1, count).astype(np.int64)
    return None


class _Family(NamedTuple):
    """Data that goes from roots to all nodes that want it, ``size`` times over; ``back``: that comes from them to the root.

    ``wait``: before which step none of it is under way. ``owner``: for which owner of a sum it is.
    """

    roots: Sequence[int]
    wants: Sequence[int]
    back: bool
    size: float
    wait: int = 0
    owner: int = 0


@kept(64)
def windows(network: Network, collective: Collective) -> Windows | None:
    """Return the windows of one message of every source, or of a demand; None where no node parts ranks from others."""
    arcs, every, far = arcs_of(network), np.arange(network.nodes), far_apart(network)
    far = np.where(far < 0, _FAR, far)
    parting = {v for v in every.tolist() if _parts(arcs, v)}
    if not (parting or collective.demand is not None):
        return None
    found, times, owner = list[tuple[int, int, int, int]](), list[float](), list[int]()
    for roots, wants, back, size, wait, number in _families(collective, network, far):
        ways, (tail, head) = (far.T, (arcs.head, arcs.tail)) if back else (far, (arcs.tail, arcs.head))
        soonest, wants = ways[list(roots)].min(axis=0), np.array(wants)
        for v in sorted(parting.union(wants.tolist()).difference(roots)):
            behind = away(arcs, list(roots), back=back, avoided=v) < 0 if v in parting else every == v
            if not behind[wants].any():
                continue
            rest = int(ways[v, wants[behind[wants]]].max())
            for a in np.flatnonzero((head == v) & ~behind[tail] & (soonest[tail] < _FAR)).tolist():
                near = int(soonest[tail[a]]) + wait
                found.append((len(times), a, *((rest, near) if back else (near, rest))))
            times.append(size)
            owner.append(number)
    errand, arc, soonest, after = np.array(found, np.int64).reshape(-1, 4).T
    return Windows(errand, arc, soonest, after, np.array(times), np.array(owner, np.int64)) if times else None


def _families(collective: Collective, network: Network, far: Ints) -> Iterator[_Family]:
    """Yield who has to tell whom; of a sum that several want without an owner, what comes to the one that is farthest."""
    kind, demand = collective.traits, collective.demand
    if demand is not None:
        for size, parts, wants in demand.merged().numbered():
            givers = [part[0] for part in parts]
            last = max(wants, key=lambda v: int(far[givers, v].sum()))
            yield _Family(parts[0], wants, False, size) if len(parts) == 1 else _Family([last], givers, True, size)
        return
    ranks = list(collective.targets or network.ranks.tolist())
    chosen, both_ways = kind.results and kind.all_source, kind.adds and kind.results
    owners: list[int] = far_and_back(network, range(network.nodes))[0].tolist() if chosen else []
    sizes = collective.sizes() if kind.all_source and not chosen else np.ones(network.nodes)
    for number, root in enumerate(owners or (network.ranks.tolist() if kind.all_source else [collective.root])):
        # a sum comes in, and goes out again when it is there
        for back in [True] * kind.adds + [False] * (kind.results or not kind.adds):
            wait = int((far if back else far.T)[root, ranks].max()) if both_ways else 0
            yield _Family([root], ranks, back, float(sizes[root]), wait, number if owners else 0)


def _parts(arcs: Arcs, node: int) -> bool:
    """Return whether ways between some other nodes all lead past a node."""
    other = [0 if node else 1]
    return any(int((away(arcs, other, back=back, avoided=node) < 0).sum()) > 1 for back in (False, True))
