"""Networks side by side, as in section 5 of Fragopoulou & Akl: the costs of collectives on each, beside the lower bounds.

Every figure is measured on a schedule that is planned and verified. The paper's Tables 1 to 3 are lower
bounds by formula; its Table 4 is their order of growth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from treecast.collectives import COLLECTIVES, Collective
from treecast.description import Described, Description, Table, count_of, describe
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds
from treecast.models import MODELS
from treecast.networks import Network
from treecast.networks import network as find_network
from treecast.networks.recognition import same_graphs
from treecast.papers.tables import letter_of, sum_of_distances
from treecast.plans import builders, collective_of, copies_of, plan
from treecast.plans.timing import time_plan
from treecast.progress import Progress, part_of, report, reporting
from treecast.schedule.sizes import spell_total
from treecast.units import spell_seconds
from treecast.verification.verifier import verify

MOST_ROWS = 1_000_000
"""Schedules of more rows are not made for a comparison; their lower bounds are shown."""
PROBLEMS = ("broadcast", "allgather", "scatter", "alltoall")
"""The collectives that the paper compares; broadcast with one copy and with x."""


@dataclass(frozen=True)
class Figures:
    """A network in figures. ``cost``: degree x diameter. ``mean_distance``: over all pairs, a node and itself included.

    ``same_as``: another before it that is the same graph.
    """

    network: str
    nodes: int
    degree: int
    diameter: int
    cost: int
    mean_distance: float | None
    arcs: int
    same_as: str = ""


@dataclass(frozen=True)
class Entry:
    """One collective on one network: steps and transmissions as measured (None when not planned), and their lower bounds.

    ``verified``: whether the schedule that was measured is right; None when there is none, and ``note`` says why.
    The orders of growth are those of the paper's Table 4 in n (star) or k (hypercube); "" for other networks. ``bytes``: how much
    data there is, where somebody says it; then ``messages`` are those of the plan, and ``time`` is its seconds.
    """

    collective: str
    network: str
    messages: int
    copies: int
    steps: int | None
    steps_lower_bound: int | None
    transmissions: int | None
    transmissions_lower_bound: int | None
    verified: bool | None
    steps_order: str
    transmissions_order: str
    note: str
    bytes: int | None = None
    time: float | None = None
    time_lower_bound: float | None = None

    @property
    def ratio(self) -> float | None:
        """Measured steps over their lower bound."""
        return _quotient(self.steps, self.steps_lower_bound)

    @property
    def transmissions_ratio(self) -> float | None:
        """Measured transmissions over their lower bound."""
        return _quotient(self.transmissions, self.transmissions_lower_bound)


@dataclass(frozen=True, repr=False)
class Comparison(Described):
    """Networks side by side: their figures, and entries collective by collective, networks in the order given."""

    figures: tuple[Figures, ...]
    entries: tuple[Entry, ...]

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(figures.network for figures in self.figures)}>"


@describe.register
def _(found: Comparison) -> Description:
    networks = Table(
        ("network", "nodes", "degree", "diameter", "cost", "mean distance", "arcs"),
        [_with_dashes(*list(vars(figures).values())[:-1]) for figures in found.figures],
        notes=(
            "cost: degree x diameter; mean distance: over all pairs of nodes",
            *(f"{each.network} is the same graph as {each.same_as}" for each in found.figures if each.same_as),
        ),
    )
    width, entries = len(found.figures), found.entries
    tables = [_describe_entries(entries[first : first + width]) for first in range(0, len(entries), width)]
    figures = {
        "collectives": [  # first, as the rows of a table
            asdict(entry) | {"ratio": _rounded(entry.ratio), "transmissions_ratio": _rounded(entry.transmissions_ratio)}
            for entry in entries
        ],
        "networks": [asdict(figures) for figures in found.figures],
    }
    right = all(entry.verified is not False for entry in entries)
    return Description(figures, tables=(networks, *tables, *_describe_growth(entries)), holds=right)


def _describe_entries(entries: Sequence[Entry]) -> Table:
    """Return one collective on each network as a table."""
    one = entries[0]
    rows = [(e.network, *_beside(e.steps, e.steps_lower_bound, e.ratio), *_beyond(e)) for e in entries]
    amount = count_of(one.messages, "message") if one.bytes is None else spell_total(one.collective, one.bytes)
    more = ("transmissions",) if one.bytes is None else ("messages", "takes")
    return Table(
        ("network", "steps", "at least", "ratio", *more, "at least", "ratio"),
        rows,
        f"{_spell_work(one)}, {amount}: measured, and lower bounds",
        tuple(f"{entry.network}: {entry.note}" for entry in entries if entry.note),
    )


def _describe_growth(entries: Sequence[Entry]) -> list[Table]:
    """Return the orders of growth of the networks that have them; those of one family are the same."""
    rows = dict.fromkeys(
        (_spell_work(e), e.network.partition(":")[0], e.steps_order, e.transmissions_order)
        for e in entries
        if e.steps_order
    )
    title = "orders of growth; N = n! on star:n, 2^k on hypercube:k; equal when k = Θ(n log n)"
    return [Table(("", "network", "steps", "transmissions"), list(rows), title)] if rows else []


def _with_dashes(*values: object) -> tuple[object, ...]:
    return tuple("-" if value is None else value for value in values)


def _spell_work(entry: Entry) -> str:
    return entry.collective + (f", {entry.copies:,} copies" if entry.copies > 1 else "")


def _beyond(entry: Entry) -> tuple[object, ...]:
    """Return what stands behind the steps: the transmissions, or where the bytes are known the time."""
    if entry.bytes is None:
        return _beside(entry.transmissions, entry.transmissions_lower_bound, entry.transmissions_ratio)
    ratio = entry.time and entry.time_lower_bound and entry.time / entry.time_lower_bound
    seconds = (None if each is None else spell_seconds(each) for each in (entry.time, entry.time_lower_bound))
    return (entry.messages, *_with_dashes(*seconds, f"{ratio:.3f}" if ratio else None))


def _beside(measured: int | None, bound: int | None, ratio: float | None) -> tuple[object, ...]:
    """Return a measured value, its lower bound and their ratio as cells of a table."""
    return _with_dashes(measured, bound, None if ratio is None else f"{ratio:.3f}")


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def compare(
    networks: Sequence[Any],
    *,
    collective: str | None = None,
    messages: int | None = None,
    copies: int | None = None,
    survive: int | None = None,
    bytes: int | str | None = None,  # noqa: A002
    latency: float | str | None = None,
    rate: float | str | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Plan and verify collectives on several networks, and set them side by side.

    Source: Fragopoulou & Akl, section 5. Every figure is that of a schedule that is made and verified, beside its bound.

    Parameters
    ----------
    networks : sequence of Network, str or networkx graph
        Two or more networks.
    collective : str, optional
        The collective. The default are the five problems of the paper: broadcast with one copy and with x, allgather,
        scatter and alltoall.
    messages : int, optional
        The number of chunks of each source: 1, or with ``bytes`` as many as take the least time.
    copies, survive : int, optional
        Over how many disjoint paths each chunk goes, or how many faults must do no harm.
    bytes, latency, rate : optional
        How much data there is, and the cost of a send, as ``plan`` takes them: then there are times, too.
    progress : callable, optional
        Told how much of how much is done, and the name of the work.

    Returns
    -------
    Comparison
        The figures of each network, and an entry for each collective on each network.

    Raises
    ------
    PlanError, NetworkError
        For fewer than two networks, and when one of them has fewer disjoint trees than copies.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.compare(["star:4", "hypercube:5"], collective="broadcast", survive=1)
    >>> [(entry.network, entry.steps, entry.steps_lower_bound) for entry in found.entries]
    [('star:4', 6, 4), ('hypercube:5', 6, 5)]
    >>> found = treecast.compare(["ring:8", "torus:2x4"], collective="allreduce", bytes="1MB", latency="1us", rate="10GB/s")
    >>> [(entry.network, round(entry.time * 1e6)) for entry in found.entries]
    [('ring:8', 102), ('torus:2x4', 72)]
    """
    with reporting(progress):
        amount = {} if bytes is None else {"bytes": bytes, "latency": latency, "rate": rate}
        given = [find_network(each) for each in networks]
        return _compare(given, collective, messages, copies_of(copies, survive), amount)


def _compare(
    networks: Sequence[Network], collective: str | None, messages: int | None, copies: int, amount: Mapping[str, Any]
) -> Comparison:
    if len(networks) < 2:
        raise PlanError(f"two networks or more can be compared, not {len(networks)}")
    many = 1 if messages is None else messages
    jobs = [(kind, copies) for kind in ((collective,) if collective else PROBLEMS)]
    if not collective and copies > 1:
        jobs.insert(0, ("broadcast", 1))
    for kind, _ in jobs:
        Collective(kind, 1, many)  # raises when there is no such collective, or too few or too many messages
    cases = [(kind, network, wanted) for kind, wanted in jobs for network in networks]
    # All are checked before the first is planned, which may take minutes.
    for kind, network, wanted in cases:
        _check_copies(kind, network, wanted)
    entries = list[Entry]()
    for done, (kind, network, wanted) in enumerate(cases):
        problem = f"{kind} on {network.spec}"
        report(done, len(cases), problem)
        with part_of(problem):
            entries.append(_entry(kind, network, messages if amount else many, wanted, amount))
    same = same_graphs(networks)
    figures = [replace(figures_of(network), same_as=same.get(network.spec, "")) for network in networks]
    return Comparison(tuple(figures), tuple(entries))


def figures_of(network: Network) -> Figures:
    """Return a network in figures."""
    degree, diameter = network.degree, network.diameter
    mean = _mean_distance(network)
    return Figures(network.spec, network.nodes, degree, diameter, degree * diameter, mean, network.arcs)


def _mean_distance(network: Network) -> float | None:
    """Return Σ distances / N², from the bounds of scatter or alltoall; None if the distances of some nodes are not counted."""
    if network.seen_alike:
        return sum_of_distances(network) / network.nodes
    one = Collective.over(network, "alltoall")
    lower = best(bounds(one, network, 1, MODELS["all-port"]), "transmissions")
    return lower.value / network.nodes**2 if network.nodes == 1 or "Σ" in lower.formula else None


def _quotient(measured: int | None, bound: int | None) -> float | None:
    if measured is None or bound is None:
        return None
    return measured / bound if bound else 1.0


def _check_copies(kind: str, network: Network, copies: int) -> None:
    known = builders(kind, network)
    most = max([1, *(builder.most_copies(network) for builder in known)])
    if known and copies > most:
        trees = f"{most} disjoint trees are" if most > 1 else "one tree is"
        raise PlanError(f"{kind} on {network.spec} cannot have {copies} copies: {trees} known for it")


def _entry(kind: str, network: Network, messages: int | None, copies: int, amount: Mapping[str, Any]) -> Entry:
    model, orders, job = MODELS["all-port"], _orders(kind, network, copies), (kind, network.spec, messages or 1, copies)
    try:
        collective = collective_of(kind, network, messages=messages or 1)
    except PlanError as error:
        return Entry(*job, None, None, None, None, None, *orders, str(error))
    lower = bounds(collective, network, copies, model)
    at_least = best(lower, "steps").value, best(lower, "transmissions").value
    note = _why_not_planned(collective, network, copies)
    if note:
        return Entry(*job, None, at_least[0], None, at_least[1], None, *orders, note)
    schedule = plan(kind, network, messages=messages, copies=copies, **amount)
    report = verify(schedule, model)
    if report and amount:  # the plan has chosen its messages
        at_least = tuple(best(list(report.bounds), of).value for of in ("steps", "transmissions"))
    figures = (report.steps, at_least[0], report.transmissions, at_least[1], report.holds)
    found = Entry(*job, *figures, *orders, "" if report else "the schedule is wrong")
    if not amount or schedule.sizes is None:
        return found
    timing, total = time_plan(schedule), schedule.sizes.total(schedule.collective)
    least = None if timing.bound is None else timing.bound.seconds
    many = schedule.collective.messages
    return replace(found, messages=many, bytes=total, time=timing.by_steps, time_lower_bound=least)


def _why_not_planned(collective: Collective, network: Network, copies: int) -> str:
    """Return why a collective is not planned on a network; "" when it can be."""
    if not builders(collective.kind, network):
        return "no plan is known yet: lower bounds only"
    rows = (network.nodes - 1) * (copies if collective.all_source else network.ports)
    if collective.personal:  # a row for each arc on the way of each chunk, from one root
        one = Collective.over(network, "scatter")
        rows = best(bounds(one, network, copies, MODELS["all-port"]), "transmissions").value
    return f"about {rows:,} rows, too many to plan: lower bounds only" if rows > MOST_ROWS else ""


# --- Table 4: orders of growth ---

_GROWTH = {
    # the degree and the diameter are both of order d: n on the star network, k on the hypercube
    "broadcast": ("O(Mx/d + d)", "O(MxN)"),
    "allgather": ("O(MxN/d)", "O(MxN²)"),
    "scatter": ("O(MxN/d)", "O(MxN·d)"),
    "alltoall": ("O(MxN)", "O(MxN²·d)"),
}


def _orders(kind: str, network: Network, copies: int) -> tuple[str, str]:
    """Return the orders of steps and transmissions in the paper's Table 4; "" for networks that are not in it.

    Mean distance and degree are both of order d, so that a total exchange takes O(MxN) steps on either network.
    """
    d = letter_of(network)
    if not d:
        return "", ""
    row = COLLECTIVES[kind]  # backwards, and there and back, the orders are the same
    steps, sends = (order.replace("d", d) for order in _GROWTH[row.backwards or row.there_and_back or kind])
    return (steps, sends) if copies > 1 else (steps.replace("x", ""), sends.replace("x", ""))
