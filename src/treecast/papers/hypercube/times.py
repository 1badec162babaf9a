"""The times of broadcast and gossip on the hypercube: T = a β + b Fτ, as claimed, in closed form, and measured.

A step costs β + the length of its longest message times Fτ. So a is the number of steps and b the sum of the longest messages,
in chunks of F. All times are of runs in which nothing fails; faults can make the messages of a sparing schedule longer.
Source of the claims: Chau & Fu, "An Optimal (d-1)-Fault-Tolerant All-to-All Broadcasting Scheme for d-Dimensional Hypercubes".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from treecast.collectives import kinds
from treecast.description import Description, Table, describe
from treecast.errors import PlanError
from treecast.models import Cost
from treecast.networks import Hypercube, Network
from treecast.plans import plan
from treecast.units import spell_seconds

SCHEMES = ("dimension-order", "fraigniaud", "four-phases", "answering", "answering-four-phases")
"""The schemes. Those that answer are the paper's under shouting; the others answer nothing."""
ASKED: dict[str, dict[str, Any]] = {name: {"builder": name} for name in SCHEMES} | {
    "answering-four-phases": {"builder": "four-phases", "answering": True}
}
"""The builder of each scheme, and its options."""
MODELS = ("whispering", "shouting")
"""The models for which they are made."""
COLLECTIVES = ("broadcast", "allgather")
"""The collectives that they carry out; four-phases is gossip (allgather) that one node starts."""
_MOST_DIMENSIONS = 16
_MOST_ROWS = 2**20  # of four-phases, which is no orbit: N times the rows of a broadcast


class Time(NamedTuple):
    """A time a β + b Fτ: start-ups a, chunks b, the formula, and where it is from. n is 2^d."""

    startups: int
    chunks: int
    formula: str
    source: str

    def units(self, r: Fraction) -> Fraction:
        """Return the time in units of β when Fτ is ``r`` β."""
        return self.startups + self.chunks * r

    def seconds(self, cost: Cost, chunk_bytes: int) -> float:
        """Return the time in seconds, F being ``chunk_bytes``."""
        return self.startups * cost.startup + self.chunks * chunk_bytes * cost.per_byte


class CubeProblem(NamedTuple):
    """A collective on the cube of d dimensions that survives k faults.

    ``fault_free``: the cube is declared to have no faults, so steps that serve only under faults are left out. ``r``: Fτ/β of
    somebody's machine and messages, where it is known.
    """

    collective: str
    model: str
    d: int
    k: int
    fault_free: bool = False
    r: float | None = None

    @property
    def gossips(self) -> bool:
        """Whether every node has something to say to all, not one alone."""
        return kinds.COLLECTIVES[self.collective].all_source


class SchemeTimes(NamedTuple):
    """The times of one scheme: as the paper claims it (None where it does not), by our closed form, and measured.

    ``measured``: of the planned schedule, None where that would be too large. ``why``: the reason why claim and closed
    form differ; "" when they do not.
    """

    scheme: str
    job: CubeProblem
    claimed: Time | None
    closed: Time
    measured: Time | None
    why: str

    @property
    def times(self) -> dict[str, Time | None]:
        """The three of them by their titles."""
        return {"claimed": self.claimed, "closed form": self.closed, "measured": self.measured}


class Crossing(NamedTuple):
    """How two schemes compare as r = Fτ/β grows from 0.

    ``first`` is the faster one at the beginning, up to ``r``, and ``second`` behind it; where r is None the first is never
    slower. ``equal``: the two take the same time, whatever r.
    """

    first: str
    second: str
    r: Fraction | None
    equal: bool = False


def timings(job: CubeProblem, measure: bool = True) -> list[SchemeTimes]:
    """Return the times of every scheme that does a job, in the order of ``SCHEMES``; ``measure``: plan them, too.

    Raises PlanError when there is no such job.
    """
    _check(job)
    found: list[SchemeTimes] = []
    for scheme in SCHEMES:
        if _does(scheme, job):
            said, closed = claimed(scheme, job), closed_form(scheme, job)
            ours = measured(scheme, job) if measure else None
            found.append(SchemeTimes(scheme, job, said, closed, ours, _why(scheme, job, said, closed)))
    return found


def _does(scheme: str, job: CubeProblem) -> bool:
    shouts = job.model == "shouting"
    return (job.gossips or not scheme.endswith("four-phases")) and (shouts or not scheme.startswith("answering"))


def _check(job: CubeProblem) -> None:
    if job.collective not in COLLECTIVES:
        raise PlanError(f"the schemes of the hypercube paper do {' and '.join(COLLECTIVES)}, not {job.collective}")
    if job.model not in MODELS:
        raise PlanError(f"the schemes of the hypercube paper are for {' and '.join(MODELS)}, not for {job.model}")
    if job.d < 1:
        raise PlanError("a hypercube of 1 node has nothing to send: take d from 1 on")
    Hypercube(job.d)  # raises when there is none
    if not 0 <= job.k < job.d:
        raise PlanError(f"on hypercube:{job.d} from 0 to {job.d - 1} faults can be survived, not {job.k}")


def claimed(scheme: str, job: CubeProblem) -> Time | None:
    """Return the time that the paper claims or cites; None where it gives none. Most of its times are for k = d-1."""
    _, model, d, k, free = job[:5]
    n, whispers = 1 << d, model == "whispering"
    if scheme == "fraigniaud":
        if not job.gossips:
            return None
        if whispers:
            return Time(2 * d, (k + 1) * (n - 1), "2d β + (k+1)(n-1) Fτ", "section 1, of Fraigniaud")
        return Time(d + 1, n - 1, "(d+1) β + (n-1) Fτ", "section 1, of Fraigniaud")
    if not whispers and not scheme.startswith("answering"):
        return None  # in the paper nodes answer
    if not job.gossips:
        if whispers and free:
            return Time(2 * d - 1, 2 * d - 1, "(2d-1)(β + Fτ)", "section 2") if k == d - 1 else None
        if whispers:
            return Time(d + k + 1, d + k + 1, "(d+k+1)(β + Fτ)", "section 2")
        if k < d - 1:
            return None
        return Time(d, d, "d (β + Fτ)", "section 2") if free else Time(d + 1, d + 1, "(d+1)(β + Fτ)", "section 2")
    if k < d - 1:
        return None
    alone = not scheme.endswith("four-phases")
    where = "section 4" if alone and not free else "section 3" + (", less phases 1 and 2" if alone else "")
    a, b, formula = {
        (True, True, False): (2 * d, (n - 1) * (d - 1), "2d β + (n-1)(d-1) Fτ"),
        (True, True, True): (2 * d - 1, (n - 1) * (d - 1), "(2d-1) β + (n-1)(d-1) Fτ"),
        (True, False, False): (4 * d, 2 * d + (n - 1) * (d - 1), "4d β + 2d Fτ + (n-1)(d-1) Fτ"),
        (True, False, True): (4 * d - 1, 2 * d + (n - 1) * (d - 1), "(4d-1) β + 2d Fτ + (n-1)(d-1) Fτ"),
        (False, True, False): (d + 1, 2 * (n - 1), "(d+1) β + 2(n-1) Fτ"),
        (False, True, True): (d, n - 1, "d β + (n-1) Fτ"),
        (False, False, False): (2 * d + 2, d + 1 + 2 * (n - 1), "(2d+2) β + (d+1) Fτ + 2(n-1) Fτ"),
        (False, False, True): (2 * d, d + n - 1, "2d β + d Fτ + (n-1) Fτ"),
    }[whispers, alone, free]
    return Time(a, b, formula, where)


def closed_form(scheme: str, job: CubeProblem) -> Time:
    """Return the time of a scheme as it is planned here, in closed form; tests hold it against the planned schedules."""
    _, model, d, k, free = job[:5]
    if scheme.endswith("four-phases"):
        alone = "answering" if scheme.startswith("answering") else "dimension-order"
        start, rest = (closed_form(alone, job._replace(collective=c)) for c in COLLECTIVES)
        formula = f"{start.formula}, then {rest.formula}"
        return Time(start.startups + rest.startups, start.chunks + rest.chunks, formula, "closed form")
    make = {"fraigniaud": _fraigniaud, "answering": _answering}.get(scheme, _by_dimension)
    a, b, start, size = make(job.gossips, model == "whispering", d, k, free)
    return Time(a, b, f"{start} β + {size} Fτ", "closed form")


def _by_dimension(gossip: bool, whispers: bool, d: int, k: int, free: bool) -> tuple[int, int, str, str]:
    n = 1 << d
    last = 0 < k == d - 1  # its last unit is silent when nothing fails
    if not whispers:
        # in step s the longest messages hold the sources at distance s that differ in other dimensions: C(d-1, s)
        longest = last and not free
        return d + longest, n // 2 if gossip else d, "(d+1)" if longest else "d", "n/2" if gossip else "d"
    if not k:
        return d, n - 1 if gossip else d, "d", "(n-1)" if gossip else "d"
    units = k if free and last else k + 1
    a, start = d + units, ("(2d-1)" if free else "2d") if last else "(d+k+1)"
    if gossip:
        b = n - 1 + units * n - 2 * ((1 << units) - 1)
        return a, b, start, "(nd-n+1)" if last else "((n-1) + (k+1) n - 2(2^(k+1)-1))"
    return a, 2 * d - 1 if last else d + k + 1, start, "(2d-1)" if last else "(d+k+1)"


def _answering(gossip: bool, whispers: bool, d: int, k: int, free: bool) -> tuple[int, int, str, str]:
    # in step s a message has the sources at distance s, C(d, s), but in step 1 those of d-1 neighbours
    n, a, start = 1 << d, d if free else d + 1, "d" if free else "(d+1)"
    if d == 1:
        return a, 1, start, "1"
    if gossip:
        return a, n - 2 if free else n - 1, start, "(n-2)" if free else "(n-1)"
    return a, a, start, start


def _fraigniaud(gossip: bool, whispers: bool, d: int, k: int, free: bool) -> tuple[int, int, str, str]:
    n = 1 << d
    if d == 1:  # one tree of one arc
        return 1, 1, "1", "1"
    a, start = (d + k + 1, "(d+k+1)") if whispers else (d + 1, "(d+1)")
    if not gossip:
        return a, a, start, start
    if whispers:
        return a, (k + 1) * (n - 1), start, "(k+1)(n-1)"
    few = k < d - 2  # the trees that are left out would have made the first messages longer
    return a, n - max(1, (1 << (d - 1 - k)) - 1), start, "(n+1-2^(d-1-k))" if few else "(n-1)"


def measured(scheme: str, job: CubeProblem) -> Time | None:
    """Return the time of the planned schedule; None where it would be too large to make."""
    collective, model, d, k, free = job[:5]
    rows = (1 << 2 * d) * (k + 2) if scheme.endswith("four-phases") else 0  # N broadcasts of so many N rows
    if d > _MOST_DIMENSIONS or rows > _MOST_ROWS:
        return None
    free = free and scheme != "fraigniaud"  # it leaves nothing out
    schedule = plan(collective, Hypercube(d), survive=k, model=model, fault_free=free, **ASKED[scheme])
    sizes = schedule.message_sizes
    return Time(len(sizes), int(sizes.sum()), f"{len(sizes)} β + {int(sizes.sum())} Fτ", "planned schedule")


_SUM = "the text says (n-1)(d-1), but its own row of messages sums to nd-n+1"
_SILENT = "the last unit is counted, but silent when nothing fails"
_NONE = "with no fault to survive phase one does it alone, in d units"
_ANSWERS = "a message of step s has the sources at distance s, C(d,s), less one in step 1: (n-1) Fτ in all"


def _why(scheme: str, job: CubeProblem, said: Time | None, closed: Time) -> str:
    """Return why a claim differs from the closed form."""
    if said is None or said[:2] == closed[:2]:
        return ""
    if scheme == "fraigniaud":
        if job.d == 1:
            return "one tree of one arc takes one step"
        trees = "k+1 trees take d+k+1 steps, not 2d" if job.model == "whispering" else ""
        return trees or "with fewer than d-1 trees the messages of the first steps are shorter"
    reasons = list[str]()
    if not job.k and job.model == "whispering":
        reasons.append(_NONE)
    if job.gossips:
        reasons.append(_SUM if job.model == "whispering" else _ANSWERS)
    silent = job.k if job.model == "whispering" else job.d == 1
    if silent and (not job.gossips or scheme.endswith("four-phases")) and not job.fault_free:
        reasons.append(_SILENT)
    if scheme == "four-phases" and job.fault_free:
        reasons.append("the broadcast that starts it leaves out its last unit, too")
    return "; ".join(reasons)


def crossover(one: Time, other: Time) -> Fraction | None:
    """Return the r = Fτ/β > 0 at which two times are equal, one being less before it and the other behind; else None."""
    startups, chunks = other.startups - one.startups, one.chunks - other.chunks
    # one has fewer start-ups, the other fewer chunks
    return Fraction(startups, chunks) if startups * chunks > 0 else None


def crossings(times: Sequence[tuple[str, Time]]) -> list[Crossing]:
    """Return how each pair of named times compares as r = Fτ/β grows."""
    found: list[Crossing] = []
    for (one, a), (other, b) in combinations(times, 2):
        ahead = (one, other) if a[:2] <= b[:2] else (other, one)  # fewer start-ups win at first; else fewer chunks do
        found.append(Crossing(*ahead, crossover(a, b), a[:2] == b[:2]))
    return found


def fastest(times: Sequence[tuple[str, Time]]) -> list[tuple[Fraction, tuple[str, ...]]]:
    """Return where which of named times is the least: (r, names), names being least from r = Fτ/β on, up to the next r.

    Times that are least together are named together.
    """
    # Times are lines in r: the least one changes only where two of them cross.
    starts = {Fraction(0), *(c.r for c in crossings(times) if c.r is not None)}
    found: list[tuple[Fraction, tuple[str, ...]]] = []
    ordered = sorted(starts)
    for place, start in enumerate(ordered):
        # between two crossings the order does not change: any r between them tells
        inside = (start + ordered[place + 1]) / 2 if place + 1 < len(ordered) else start + 1
        least = min(time.units(inside) for _, time in times)
        names = tuple(name for name, time in times if time.units(inside) == least)
        if not found or found[-1][1] != names:
            found.append((start, names))
    return found


# --- side by side ---


@dataclass(frozen=True)
class Schemes:
    """The times of every scheme that does a job under one model, and the cost of a send, where seconds are asked for."""

    timings: tuple[SchemeTimes, ...]
    cost: Cost | None = None
    chunk_bytes: int = 1

    @property
    def job(self) -> CubeProblem:
        """The collective."""
        return self.timings[0].job

    def seconds(self, time: Time) -> float | None:
        """Return the seconds of a time; None where no seconds are asked for."""
        return None if self.cost is None else time.seconds(self.cost, self.chunk_bytes)


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
    jobs = [CubeProblem(collective, model, network.diameter, k, fault_free) for model in MODELS]
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
    seconds = () if schemes.cost is None else ("takes",)
    columns = ("scheme", "", "x β", "x Fτ", *seconds, "formula")
    return Description(figures, tables=(Table(columns, _rows(schemes), title, tuple(notes)),))


def _rows(schemes: Schemes) -> list[tuple[object, ...]]:
    rows = list[tuple[object, ...]]()
    for timing in schemes.timings:
        for title, time in timing.times.items():
            if time is None:
                rows.append((timing.scheme, title, "-", "-", *["-"] * (schemes.cost is not None), "-"))
            else:
                seconds = schemes.seconds(time)
                takes = [] if seconds is None else [spell_seconds(seconds)]
                formula = time.formula if time is not timing.measured else ""
                rows.append((timing.scheme, title, time.startups, time.chunks, *takes, formula))
    return rows


def _figures(schemes: Schemes, timing: SchemeTimes) -> dict[str, object]:
    def written(time: Time | None) -> Mapping[str, object] | None:
        seconds = time and schemes.seconds(time)
        return time and time._asdict() | ({} if seconds is None else {"seconds": seconds})

    times = {title.replace(" ", "_"): written(time) for title, time in timing.times.items()}
    return {"scheme": timing.scheme, **times, "why": timing.why}


def _spell_crossing(crossing: Crossing) -> str:
    if crossing.equal:
        return f"{crossing.first} and {crossing.second} take the same time"
    if crossing.r is None:
        return f"{crossing.first} is never slower than {crossing.second}"
    at = f"Fτ/β = {crossing.r}" + (f" = {float(crossing.r):.3g}" if crossing.r.denominator > 1 else "")
    return f"{crossing.first} is faster than {crossing.second} up to {at}, slower from there on"
