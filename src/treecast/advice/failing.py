"""The cost of a cable or a switch that dies: how much longer a collective takes without it, by bounds, and by plans."""

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.description import Description, Table, count_of, describe, list_few
from treecast.errors import PlanError, checks_keywords
from treecast.lower_bounds import best, bounds
from treecast.models import Model
from treecast.networks import Network, NodeName
from treecast.networks.arcs import arcs_of
from treecast.networks.cabling import by_cable, cables_of
from treecast.networks.without import Without
from treecast.plans import plan
from treecast.plans.amounts import rate_on
from treecast.plans.job import job, place_of
from treecast.progress import report
from treecast.schedule.sizes import sizes_as_said, spell_total
from treecast.units import spell_seconds

_MOST_PARTS, _MOST_GROUPS = 1 << 16, 1 << 10
_ROUNDS = 12  # of colours: by then parts that differ within a fabric have been told apart
_MESSAGES = 24  # of plans, so that rounding up to steps says little
_MOST_PLANNED = 64  # ranks of networks on which plans are made without being asked for
_USUAL = "1GB"
# 5040 = 10 · 9 · 8 · 7 is a multiple of all numbers up to 10.
_MANY = 5040 << 18  # messages, of which all numbers of trees up to 10 get as many
_LEAST = 5e-4  # a share that is told
_NAMED = 2  # parts in a row


class FabricPart(NamedTuple):
    """A part that may die: a ``cable`` or a ``switch``, its name, its nodes, and the arcs of a cable."""

    sort: str
    name: str
    nodes: tuple[int, ...]
    arcs: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Failure:
    """Parts that are alike, and the cost of each of them if it dies alone.

    ``more``: by which share of itself the least time grows, 0.25 where it grows by a quarter; ``planned``: by which share of it
    a plan takes longer, where one was made. ``cut_off``: the ranks that nobody reaches any more.
    """

    parts: tuple[FabricPart, ...]
    more: float = 0.0
    cut_off: int = 0
    planned: float | None = None


@dataclass(frozen=True)
class Failures:
    """The cost of each cable and each switch of a network, the dearest first.

    ``total``: the bytes, and ``seconds``: the least time of the collective as long as nothing has died, start-up times left out;
    None where nobody says a rate. ``planned``: by which share of it a plan takes longer then, where one was made.
    """

    network: Network
    kind: str
    found: tuple[Failure, ...]
    total: int | None = None
    seconds: float | None = None
    planned: float | None = None


@checks_keywords
def cables(
    network: Any,
    collective: str = "alltoall",
    *,
    bytes: int | str | None = None,  # noqa: A002
    rate: float | str | None = None,
    plans: int | None = None,
    root: NodeName | None = None,
    model: str | Model | None = None,
) -> Failures:
    """Return what each cable and each switch would cost if it died alone, the dearest first.

    Parameters
    ----------
    network
        A Network, its spelling, a file, or a networkx graph. Cables of a file have the names of their ports, if it says them.
    collective : str
        The collective that gets longer: by lower bounds, without start-up times.
    bytes : int or str, optional
        How much data there is, all blocks together: ``"16MiB"``; 1 GB by default.
    rate : float or str, optional
        The rate of a link in bytes a second, or ``"100Gbit/s"``, where the file says none.
    plans : int, optional
        For how many of the dearest plans are made as well; by default 3 where at most 64 ranks take part, else none.
    root : int or str, optional
        The node that all data comes from, or goes to.
    model : Model or str, optional
        The machine; ``all-port`` by default.

    Returns
    -------
    Failures
        ``found``: parts that look alike, the share by which the collective gets longer (``more``), and the ranks that are cut
        off. Parts that look alike from all around, to a colour refinement, are tried once.

    Raises
    ------
    PlanError
        When no bound is known, and for too many parts.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.cables([("a", "b", 2), ("b", "c", 2), ("c", "a")], "alltoall", rate="100Gbit/s")
    >>> [(each.parts[0].name, len(each.parts), each.more) for each in found.found]
    [('a - b #0', 4, 0.5), ('a - c', 1, 0.5)]
    """
    given, words = place_of(collective, network), dict[str, Any](root=root, model=model)
    # 1. The parts, and the least time of the whole.
    network = by_cable(given)  # an arc that stands for several cables is not gone with one of them
    lines = [FabricPart("cable", each.name, (each.u, each.v), each.arcs) for each in cables_of(network)]
    relays = [] if network.relays is None else np.flatnonzero(network.relays).tolist()
    parts = [*lines, *(FabricPart("switch", network.label(u), (u,)) for u in relays)]
    if len(parts) > _MOST_PARTS:
        raise PlanError(f"{network.spec} has {len(parts):,} cables and switches: at most {_MOST_PARTS:,} will do")
    whole = _Degraded(network, collective, words)
    sizes, per_second = sizes_as_said(whole.collective, bytes or _USUAL), rate_on(given, rate)
    groups, found = _alike(network, parts), list[Failure]()
    if len(groups) > _MOST_GROUPS:
        raise PlanError(f"{network.spec} has {len(groups):,} cables that differ: at most {_MOST_GROUPS:,} will do")
    # 2. The bounds without one part of each group.
    usual = whole.slope
    for number, group in enumerate(groups):
        report(number, len(groups), "cables and switches")
        case = whole.without(group[0])
        gone = case.cut_off
        found.append(Failure(tuple(group), 0.0 if gone else round(case.slope / usual - 1, 5), gone))
    found.sort(key=lambda each: (-each.cut_off, -each.more))
    # 3. Plans without the dearest.
    wanted = (3 if network.rank_count <= _MOST_PLANNED else 0) if plans is None else plans
    dear = [place for place, each in enumerate(found) if each.more > 1e-9][:wanted]
    for number, place in enumerate(dear):
        report(number, len(dear), "plans")
        found[place] = replace(found[place], planned=whole.without(found[place].parts[0]).steps / usual - 1)
    # 4. Seconds, where somebody says a rate.
    result = Failures(network, collective, tuple(found), planned=whole.steps / usual - 1 if dear else None)
    if per_second is None or sizes is None:
        return result
    slope = usual if network is given else slope_of(collective, given, **words)
    seconds = slope * sizes.least(whole.collective) / per_second
    return replace(result, total=sizes.total(whole.collective), seconds=seconds)


@dataclass(frozen=True, eq=False)
class _Degraded:
    """A collective on a network, of which perhaps some part has died."""

    network: Network
    kind: str
    words: dict[str, Any]

    def without(self, part: FabricPart) -> "_Degraded":
        """Return the case in which a part has died."""
        return replace(self, network=Without(self.network, part.nodes if part.sort == "switch" else (), part.arcs))

    @cached_property
    def collective(self) -> Any:
        return job(self.kind, self.network, **self.words).collective

    @cached_property
    def cut_off(self) -> int:
        """The ranks beyond the most that reach each other."""
        left, most, ranks = set(self.network.ranks.tolist()), 0, self.network.ranks
        while len(left) > most:
            start = next(iter(left))
            there, back = self.network.distance(start, ranks) >= 0, self.network.distance(ranks, start) >= 0
            # Both ways: a rank that hears the others, and that nobody hears, is cut off, too.
            together = ranks[there & back]
            most = max(most, len(together))
            left -= {start, *together.tolist()}
        return len(ranks) - most

    @cached_property
    def slope(self) -> float:
        return slope_of(self.kind, self.network, **self.words)

    @cached_property
    def steps(self) -> float:
        """The steps of a plan for each message, of some."""
        return plan(self.kind, self.network, messages=_MESSAGES, **self.words).steps / _MESSAGES


def slope_of(kind: str, network: Network, **words: Any) -> float:
    """Return how many steps each further message of a collective needs, at least: times the bytes of a block, bytes at a time.

    >>> from treecast.networks import network
    >>> slope_of("allgather", network("ring:5"))
    2.0
    """
    asked = job(kind, network, **words)
    if asked.model.routing or asked.model.combining or asked.collective.lengths is not None:
        raise PlanError(f"{kind} has no bound by its bytes here: take another collective, or all-port")

    many = replace(asked.collective, messages=_MANY, owners=())
    return round(best(bounds(many, asked.network, 1, asked.model), "steps").value / _MANY, 6)  # less what distances add


def _alike(network: Network, parts: list[FabricPart]) -> list[list[FabricPart]]:
    """Return parts in groups of those that look alike from all around: their networks have the same colours without them.

    A node's colour is its own sort, and then how many neighbours of each colour it has, round after round.
    """
    arcs = arcs_of(network)
    ranks = np.ones(network.nodes, np.uint64) if network.relays is None else 1 + network.relays.astype(np.uint64)
    groups, seen = defaultdict[bytes, list[FabricPart]](list), dict[object, bytes]()
    for number, part in enumerate(parts):
        report(number, len(parts), "cables and switches that are alike")
        key = part.sort, part.nodes if part.sort == "switch" else part.arcs
        if key not in seen:
            colour, keep = ranks.copy(), np.ones(len(arcs.tail), np.bool_)
            # 3 is no colour of a rank (1) or a relay (2): a part that is gone looks like no other.
            if part.sort == "switch":
                colour[list(part.nodes)] = 3
                keep = (arcs.tail != part.nodes[0]) & (arcs.head != part.nodes[0])
            else:
                keep[arcs.number(*np.array(part.arcs, np.int64).T)] = False
            seen[key] = part.sort.encode() + _colours(colour, arcs.tail[keep], arcs.head[keep])
        groups[seen[key]].append(part)
    return list(groups.values())


def _colours(colour: NDArray[np.uint64], tail: NDArray[np.int32], head: NDArray[np.int32]) -> bytes:
    """Return the colours of all nodes after some rounds, in order; equal ones mean that two networks look alike."""
    for _ in range(_ROUNDS):
        mixed = _mixed(colour)
        there, back = np.zeros_like(colour), np.zeros_like(colour)
        np.add.at(there, tail, mixed[head])
        np.add.at(back, head, mixed[tail])
        # Sums do not depend on the order of neighbours, and mixing before keeps unlike neighbours apart.
        # 1 more, so that ways there and ways back count differently
        colour = _mixed(colour + _mixed(there) + _mixed(back + np.uint64(1)))
    return np.sort(colour).tobytes()


def _mixed(colour: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers of 64 bits of which each bit depends on all of a colour (splitmix64's finaliser)."""
    colour = (colour ^ (colour >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    colour = (colour ^ (colour >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return colour ^ (colour >> np.uint64(31))


def spell_failure(failure: Failure, ranks: int = 0) -> str:
    """Return what the death of a part does, in a few words; with the number of all ``ranks``, where it is given."""
    if failure.cut_off:
        some = count_of(failure.cut_off, "rank")
        return f"cuts off {failure.cut_off:,} of {count_of(ranks, 'rank')}" if ranks else f"cuts off {some}"
    return f"+{failure.more:.1%}" if failure.more >= _LEAST else "nothing"


def spell_worst(found: Failures) -> list[str]:
    """Return the dearest switch and the dearest cable, and of parts that cut off nobody the dearest, if it is another."""
    hurt = [each for each in found.found if each.cut_off or each.more >= _LEAST]
    firsts = [next((each for each in hurt if each.parts[0].sort == sort), None) for sort in ("switch", "cable")]
    worst = [each for each in (*firsts, next((each for each in hurt if not each.cut_off), None)) if each is not None]
    ranks = found.network.rank_count
    return [
        f"{each.parts[0].sort} {each.parts[0].name}: {spell_failure(each, ranks)}"
        for each in dict.fromkeys(sorted(worst, key=found.found.index))
    ]


@describe.register
def _(found: Failures) -> Description:
    # 1. A row for parts that do the same: they may differ in their networks, and not in what they cost.
    seconds, rows = found.seconds, defaultdict[tuple[str, str, str], list[Failure]](list)

    def time(share: float | None) -> str:
        return "" if share is None else f"+{share:.1%}" if seconds is None else spell_seconds(seconds * (1 + share))

    for each in found.found:
        rows[each.parts[0].sort, spell_failure(each), time(each.planned)].append(each)
    cells = list[tuple[object, ...]]()
    for (sort, does, planned), alike in rows.items():
        names = [part.name for each in alike for part in each.parts]
        least = "" if seconds is None or alike[0].cut_off else time(alike[0].more)
        cells.append((sort, list_few(names, _NAMED), len(names), does, least, planned))
    # 2. What a reader looks for first.
    lines: dict[str, object] = {"network": found.network.spec}
    if seconds is not None and found.total is not None:
        said = spell_total(found.kind, found.total)
        planned = "" if found.planned is None else f", {time(found.planned)} by a plan"
        lines["takes"] = f"{spell_seconds(seconds)} at least{planned}: {said}, start-up times left out"
    lines["worst"] = spell_worst(found) or f"no cable or switch costs {found.kind} time"
    # 3. Figures, with a row for each part.
    figures = {
        "network": found.network.spec,
        "collective": found.kind,
        "bytes": found.total,
        "time_lower_bound": seconds,
        "planned": found.planned,
        "parts": [
            {
                "sort": part.sort,
                "name": part.name,
                "alike": number,
                "cut_off": each.cut_off,
                "more": None if each.cut_off else each.more,
                "planned": each.planned,
            }
            for number, each in enumerate(found.found)
            for part in each.parts
        ],
    }
    # 4. The table.
    columns = ("dies", "which", "how many", "costs", "takes at least", "by a plan")
    notes = ("costs: by lower bounds, of each that dies alone",)
    table = Table(columns=columns, rows=cells, title=f"{found.kind} on {found.network.spec}", notes=notes, of="parts")
    return Description(figures, lines, (table,))
