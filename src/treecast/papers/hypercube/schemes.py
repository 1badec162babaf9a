"""The schemes of the hypercube paper side by side: the cost of each under a model, and where one overtakes another."""

from dataclasses import dataclass
from typing import Any

from treecast.description import Description, Table, describe
from treecast.errors import PlanError
from treecast.models import Cost
from treecast.networks import Network
from treecast.papers.hypercube.times import MODELS, Crossing, Job, Time, Timing, crossings, fastest, timings


@dataclass(frozen=True)
class Schemes:
    """The times of every scheme that does a job under one model, and the cost of a send, where seconds are asked for."""

    timings: tuple[Timing, ...]
    cost: Cost | None = None
    chunk_bytes: int = 1

    @property
    def job(self) -> Job:
        """The collective."""
        return self.timings[0].job


def compare_schemes(
    network: Network,
    survive: int | None = None,
    collective: str = "allgather",
    *,
    fault_free: bool = False,
    cost: Cost | None = None,
    chunk_bytes: int = 1,
) -> list[Schemes]:
    """Return the times of all schemes of a collective on a hypercube, model by model.

    ``survive``: how many faults must do no harm, d - 1 by default. ``fault_free``: the cube is declared to be without faults,
    so steps that serve only under faults are left out. ``cost``: of a send, to tell times in seconds, a node's message having
    ``chunk_bytes``. Raises PlanError for other networks, and when there is no such job.
    """
    if not network.flips_bits:
        raise PlanError(f"these are times of schemes on hypercubes, as in hypercube:6, not on {network.spec}")
    k = network.diameter - 1 if survive is None else survive
    jobs = [Job(collective, model, network.diameter, k, fault_free) for model in MODELS]
    return [Schemes(tuple(timings(job)), cost, chunk_bytes) for job in jobs]


@describe.register
def _(schemes: Schemes) -> Description:
    job, closed = schemes.job, [(timing.scheme, timing.closed) for timing in schemes.timings]
    figures = job._asdict() | {
        "schemes": [_figures(schemes, timing) for timing in schemes.timings],
        "crossovers": [crossing._asdict() | {"r": crossing.r and str(crossing.r)} for crossing in crossings(closed)],
        "fastest": [{"from": str(r), "schemes": list(names)} for r, names in fastest(closed)],
    }
    free = ", declared fault-free" if job.fault_free else ""
    title = f"{job.model}: {job.collective} on hypercube:{job.d}, {job.k} faults to survive{free}"
    notes = [f"{timing.scheme}: {timing.why}" for timing in schemes.timings if timing.why]
    notes += map(_spell_crossing, crossings(closed))
    for r, names in fastest(closed):
        since = f"from Fτ/β = {r} on" if r else "whatever Fτ/β" if len(fastest(closed)) == 1 else "at first"
        notes.append(f"fastest {since}: {' and '.join(names)}")
    seconds = () if schemes.cost is None else ("seconds",)
    columns = ("scheme", "", "x β", "x Fτ", *seconds, "formula")
    return Description(figures, tables=(Table(columns, _rows(schemes), title, tuple(notes)),))


def _rows(schemes: Schemes) -> list[tuple[object, ...]]:
    rows = list[tuple[object, ...]]()
    for timing in schemes.timings:
        for title, time in (("claimed", timing.claimed), ("closed form", timing.closed), ("measured", timing.measured)):
            seconds = () if schemes.cost is None else (_seconds(schemes, time),)
            if time is None:
                rows.append((timing.scheme, title, "-", "-", *seconds, "-"))
            else:
                formula = time.formula if time is not timing.measured else ""
                rows.append((timing.scheme, title, time.startups, time.chunks, *seconds, formula))
    return rows


def _seconds(schemes: Schemes, time: Time | None) -> object:
    return "-" if time is None or schemes.cost is None else time.seconds(schemes.cost, schemes.chunk_bytes)


def _figures(schemes: Schemes, timing: Timing) -> dict[str, Any]:
    def written(time: Time | None) -> dict[str, Any] | None:
        if time is None:
            return None
        return time._asdict() | ({} if schemes.cost is None else {"seconds": _seconds(schemes, time)})

    return {
        "scheme": timing.scheme,
        "claimed": written(timing.claimed),
        "closed_form": written(timing.closed),
        "measured": written(timing.measured),
        "why": timing.why,
    }


def _spell_crossing(crossing: Crossing) -> str:
    if crossing.equal:
        return f"{crossing.first} and {crossing.second} take the same time"
    if crossing.r is None:
        return f"{crossing.first} is never slower than {crossing.second}"
    at = f"Fτ/β = {crossing.r}" + (f" = {float(crossing.r):.3g}" if crossing.r.denominator > 1 else "")
    return f"{crossing.first} is faster than {crossing.second} up to {at}, slower from there on"
