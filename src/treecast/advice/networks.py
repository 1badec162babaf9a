"""Which network to build, and how to send over it: the time of each for so many bytes, beside its degree and its links."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from treecast.collectives import find_kind
from treecast.description import Description, Table, count_of, describe, list_few
from treecast.errors import NetworkError, PlanError
from treecast.lower_bounds.seconds import TimeBound
from treecast.models import model as find_model
from treecast.networks import Network, families
from treecast.networks import network as find_network
from treecast.networks.recognition import same_graphs
from treecast.plans.amounts import Amount
from treecast.plans.choice import serious
from treecast.plans.fastest import Search
from treecast.plans.registry import Builder
from treecast.plans.request import request
from treecast.progress import nobody, report, reporting
from treecast.schedule.costs import Costs
from treecast.schedule.sizes import Sizes, block_of, spell_total
from treecast.units import spell_seconds

_MORE = 2  # faults beyond those that are asked for, of which options are shown as well
_MOST_BUILT = 256  # nodes: on larger networks only builders with a closed form are asked
RatePer = Literal["link", "node"]
"""Whether each link carries the whole rate, or the links of a node share it."""


@dataclass(frozen=True)
class Design:
    """One way to do a collective: a network, with its ranks, cards of a node (1 under one-port) and links; a model, and a
    builder.

    ``survives``: the faults that do no harm. ``sizes``: those of the chunks. ``steps`` and ``seconds``: of the plan, by
    steps. ``bound``: the time that no schedule beats on this network. ``front``: whether no other has less or equal degree
    and time and survives as much.
    """

    network: str
    ranks: int
    degree: int
    links: int
    survives: int
    model: str
    builder: str
    sizes: Sizes
    steps: int
    seconds: float
    bound: TimeBound | None
    front: bool = False

    def beats(self, other: "Design") -> bool:
        """Return whether it is nowhere worse than the other, and somewhere better."""
        mine, others = ((each.degree, each.seconds, -each.survives) for each in (self, other))
        return mine != others and all(a <= b for a, b in zip(mine, others, strict=True))


@dataclass(frozen=True)
class Advice:
    """Options for a collective, the best one first, and the networks that have no plan, with the reasons.

    ``same``: networks that are the same graph as another, each with that one.
    """

    kind: str
    amount: Amount
    rate_per: RatePer
    options: tuple[Design, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    same: tuple[tuple[str, str], ...] = ()


def advise(
    kind: str,
    ranks: Iterable[int],
    amount: Amount,
    costs: Costs,
    *,
    survive: int = 0,
    most_degree: int | None = None,
    rate_per: RatePer = "link",
    sort: Literal["time", "links"] = "time",
) -> Advice:
    """Return the plans of a collective on the networks of each family that has a member of the size, the best first.

    ``ranks``: the numbers of ranks that will do. ``survive``: how many faults must do no harm. ``most_degree``: the most
    links of a node. ``rate_per``: whether each link carries the whole rate, or a node's links share it. ``sort``: by time or
    links. The options that nothing beats, in degree, time and faults survived, are marked. Raises PlanError when nothing
    fits.

    >>> found = advise("broadcast", [16], Amount(1 << 20), Costs.of("1us", "12.5GB/s"), most_degree=4)
    >>> found.options[0].network
    'circulant:16,1,4'
    """
    if find_kind(kind).lengths:
        raise PlanError(f"{kind} has blocks of different lengths: plan it on each network, as advise has none for it")
    # 1. Every network of these sizes, with each machine and some more faults to survive.
    options, left_out = list[Design](), list[tuple[str, str]]()
    members = [spelling for count in ranks for family in families().values() for spelling in family.with_ranks(count)]
    for place, spelling in enumerate(members):
        report(place, len(members), spelling)
        try:
            where = find_network(spelling)
        except NetworkError as error:
            left_out.append((spelling, str(error)))
            continue
        # one card goes to a switch, which joins every pair
        machines = ("all-port", "one-port") if where.every_pair_joined else ("all-port",)
        for machine, more in product(machines, range(_MORE + 1)):
            asked = Requirements(kind, machine, survive + more, amount, costs, most_degree, rate_per)
            try:
                option = asked.option(spelling, where)
            except (NetworkError, PlanError) as error:
                if machine == "all-port" and not more:
                    left_out.append((spelling, str(error)))
                continue
            if option is not None:
                options.append(option)
    # 2. Nothing: the first reason tells most.
    if not options:
        why = f": {left_out[0][1]}" if left_out else ""
        raise PlanError(
            f"no network of these sizes has a plan of {kind} that survives {count_of(survive, 'fault')}{why}"
        )
    # 3. Those that nothing beats, in order.
    marked = [replace(each, front=not any(other.beats(each) for other in options)) for each in options]
    marked.sort(key=lambda each: (each.seconds, each.links) if sort == "time" else (each.links, each.seconds))
    same = same_graphs([find_network(spec) for spec in dict.fromkeys(each.network for each in marked)])
    return Advice(kind, amount, rate_per, tuple(marked), tuple(left_out), tuple(same.items()))


@dataclass(frozen=True)
class Requirements:
    """A collective that is asked for: its model, the faults to survive, its bytes, its costs, and the greatest degree."""

    kind: str
    machine: str
    survive: int
    amount: Amount
    costs: Costs
    most_degree: int | None
    rate_per: RatePer

    def option(self, spelling: str, where: Network) -> Design | None:
        """Return the plan of the collective on one network; None where a node has more links than are asked for."""
        ports, degree = self.ports(where)
        if self.most_degree is not None and degree > self.most_degree:
            return None
        search, entries = self.search(where)
        # The search tells its own progress, and the caller that of all networks.
        with reporting(nobody):
            chosen = search.best_of_all(serious(entries, search.one))
        sizes = search.sizes(chosen.messages)
        # seconds are whole steps, but for rounding
        steps = round(chosen.seconds / search.costs.default.step_time(sizes.chunk))
        return Design(
            network=spelling,
            ranks=where.rank_count,
            degree=degree,
            # a link for each port of a rank; without a bound on ports the network's links, two arcs each
            links=where.rank_count * ports or int(where.arcs) // 2,
            survives=self.survive,
            model=self.machine,
            builder=chosen.builder.name,
            sizes=sizes,
            steps=steps if chosen.built is None else chosen.built.claims.steps,
            seconds=chosen.seconds,
            bound=search.bound,
        )

    def ports(self, where: Network) -> tuple[int, int]:
        """Return over how many ports a node sends at once, 0 for all, and how many links of a node that uses at most."""
        room = find_model(self.machine).room
        return room, 1 if room == 1 else min(room or where.degree, where.degree)

    def search(self, where: Network) -> tuple[Search, Sequence[Builder]]:
        """Return the search for the plan that takes the least time on a network, and the builders."""
        ports, degree = self.ports(where)
        costs = self.costs if self.rate_per == "link" or ports == 1 else _shared(self.costs, degree)
        job, entries = request(self.kind, where, messages=1, survive=self.survive, model=self.machine)
        block = block_of(job.collective, self.amount.total, self.amount.item)
        return Search(job, block, self.amount, costs, most_built=_MOST_BUILT), entries


def _shared(costs: Costs, degree: int) -> Costs:
    cost = costs.default
    # Each of `degree` links has that share of the rate.
    return Costs(replace(cost, per_byte=cost.per_byte * degree))


@describe.register
def _(found: Advice) -> Description:
    words = ("network", "ranks", "degree", "links", "survives", "model", "builder")
    rows = [
        (
            "*" if each.front else "",
            *(getattr(each, word) for word in words),
            each.sizes.messages,
            each.steps,
            spell_seconds(each.seconds),
            "" if each.bound is None else spell_seconds(each.bound.seconds),
        )
        for each in found.options
    ]
    figures = {
        "collective": found.kind,
        "bytes": found.amount.total,
        "rate_per": found.rate_per,
        "options": [
            {
                **{word: getattr(each, word) for word in words},
                "messages": each.sizes.messages,
                "chunk_bytes": each.sizes.chunk,
                "steps": each.steps,
                "time": each.seconds,
                "time_lower_bound": each.bound and each.bound.seconds,
                "front": each.front,
            }
            for each in found.options
        ],
        "left_out": dict(found.left_out),
        "same_graphs": dict(found.same),
    }
    carries = "each link carries the whole rate" if found.rate_per == "link" else "the links of a node share the rate"
    title = f"{found.kind} of {spell_total(found.kind, found.amount.total)}; {carries}; one-port: one card a node, at a switch"
    notes = ["*: no other has a degree and time as low, and survives as much"]
    notes += [f"{one} is the same graph as {other}" for one, other in found.same]
    if found.left_out:
        notes.append(f"no plan on {list_few([name for name, _ in found.left_out])}: --json says why")
    columns = ("", *words, "chunks", "steps", "time", "bound")
    return Description(figures, tables=(Table(columns=columns, rows=rows, title=title, of="options"),), notes=notes)
