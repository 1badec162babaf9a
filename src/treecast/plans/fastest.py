"""The plan that takes the least time: which builder, and into how many chunks it cuts the data.

A builder takes aM + c steps for M chunks, nearly: over k trees the steps are rounded up. A step lasts α + βB/M, for B bytes. So
the time is convex in M, and least near M = √(cβB / (aα)). The chunk counts around that one are all tried, by closed forms; only
the winner is built. Builders without a closed form are built for the few counts that matter. Where messages combine, one message
takes a whole block.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isqrt
from typing import Any

from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds, tightest
from treecast.lower_bounds.seconds import TimeBound, bound_seconds
from treecast.plans.amounts import Amount
from treecast.plans.built import Built, Job
from treecast.plans.choice import build, by_work, run_builder, serious
from treecast.plans.job import job, takes
from treecast.plans.registry import Builder
from treecast.plans.request import request, schedule_of
from treecast.plans.search import MET
from treecast.plans.shaped import shaped
from treecast.progress import report
from treecast.schedule import Schedule
from treecast.schedule.costs import Costs, seconds_by_steps
from treecast.schedule.sizes import Sizes, block_of, cut, divided

_AROUND = 64  # chunk counts on either side of the best one of the closed form
_SPAN = 2520  # chunks from which a closed form's slope is taken: a multiple of all numbers of trees up to 10
_MOST_MESSAGES = 2**31 - 1
_OCTAVES, _FEW_NODES = (4, 8), 2**6  # chunk counts where arcs are parallel, and bounds say least of few chunks
_LESS = 1 - 1e-9  # times as long: anything beyond is rounding
_FAR = 0.25  # above the bound, where builders for any machine are asked, too


@dataclass(frozen=True)
class Contender:
    """A builder and a job of some number of chunks, and the seconds that they take."""

    seconds: float
    job: Job[Any]
    builder: Builder
    built: Built | None = None

    @property
    def messages(self) -> int:
        """The number of chunks."""
        return self.job.collective.messages


@takes(job)
def plan(job: Job[Any]) -> Schedule:
    """Return a schedule of a job, with the claims of its builder; nothing is verified yet.

    Parameters
    ----------
    job
        A job, or its words: see ``treecast.job``.

    Returns
    -------
    Schedule
        Its ``recipe`` says how to plan it again.

    Raises
    ------
    PlanError, NetworkError
        When there is no such plan; the error says why.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:5", messages=400, survive=2)
    >>> schedule.steps, schedule.recipe.builder
    (307, 'disjoint-trees')
    >>> treecast.plan("broadcast", "star:4").steps
    4
    >>> job = treecast.job("broadcast", "torus:4x4x4")
    >>> print(treecast.plan(job, bytes="16MiB", latency="1us", rate="12.5GB/s").sizes)
    222 chunks of 75,574 bytes, the last of 75,362 bytes
    """
    if job.amount is None:
        return build(*request(job))
    return replace(_plan_bytes(replace(job, amount=None), job.amount), costs=job.costs)


def _plan_bytes(asked: Job[Any], amount: Amount) -> Schedule:
    """Return the plan that takes the least time for so many bytes; their costs may be left out where the chunks are counted."""
    # 1. The job of one message, and how long its longest block is.
    (job, entries), costs = request(asked.of(1)), asked.costs
    flits = job.collective.lengths is not None
    if flits:
        amount = _of_flits(job, amount)
    block = block_of(job.collective, amount.total, amount.item)
    # 2. Chunks that are given.
    if flits and costs is None:
        return replace(build(job, entries), sizes=divided(job.collective, amount.total, block, amount.item))
    if not flits and (amount.chunk is not None or amount.messages is not None):
        sizes = divided(job.collective, amount.total, _given(block, amount), amount.item)
        shapes = costs is not None and _shape(job, costs)
        if costs and shapes and (found := shaped(asked, amount, costs, _plan_bytes, sizes)) is not None:
            return found
        return replace(build(*request(asked.of(sizes.messages))), sizes=sizes)
    # 3. Chunks that are to be found: by costs.
    if costs is None:
        raise PlanError(
            "how long do sends take? say latency='1us', rate='12.5GB/s', or messages, or the bytes of a chunk"
        )
    if not flits and _shape(job, costs) and (found := shaped(asked, amount, costs, _plan_bytes)) is not None:
        return found
    search = Search(job, block, amount, costs)
    chosen = search.best_of_all(serious(entries, job))
    built = chosen.built or run_builder(chosen.job, chosen.builder)
    sizes = search.sizes(chosen.messages)
    return replace(schedule_of(chosen.job, chosen.builder, built), sizes=sizes)


def _shape(job: Job[Any], costs: Costs) -> bool:
    """Return whether unlike costs shape a plan: elsewhere they only price it, as a message there is no single chunk."""
    return costs.unlike and job.model.buffered and not job.model.combining and not job.model.routing


def _of_flits(job: Job[Any], amount: Amount) -> Amount:
    """Return how much data there is where blocks have different lengths, in flits of as many bytes each."""
    kind, flits = job.collective.kind, job.collective.chunks
    if amount.messages is not None:
        raise PlanError(f"{kind} takes lengths instead of a number of messages")
    if not flits:
        raise PlanError(f"all blocks of this {kind} are empty: there are no bytes to send")
    if amount.chunk is None:
        return amount
    if amount.total not in (0, amount.chunk * flits):
        raise PlanError(
            f"{flits:,} flits of {amount.chunk:,} bytes are {flits * amount.chunk:,} bytes, not {amount.total:,}: "
            "leave one of both out"
        )
    return replace(amount, total=amount.chunk * flits, item=1)


def _given(block: int, amount: Amount) -> int:
    """Return the bytes of a chunk where they are given, or the number of chunks."""
    if amount.chunk is None:
        return cut(block, amount.messages or 1, amount.item).chunk
    if amount.messages is not None:
        raise PlanError("give the bytes of a chunk or the number of messages: one follows from the other")
    if amount.chunk % amount.item and amount.chunk < block:
        raise PlanError(f"a chunk of {amount.chunk:,} bytes is no whole number of items of {amount.item:,}")
    return min(amount.chunk, block)


@dataclass(frozen=True)
class Search:
    """The chunk counts of one job, ``one``, whose longest block has ``block`` bytes, and the time of each at some costs of
    sends.

    On networks of more than ``most_built`` nodes, builders without a closed form are left out.
    """

    one: Job[Any]
    block: int
    amount: Amount
    costs: Costs
    most_built: int = 2**12

    @cached_property
    def bound(self) -> TimeBound | None:
        """The least time, whatever the number of chunks."""
        job = self.one
        return bound_seconds(
            job.collective,
            job.network,
            job.copies,
            job.model,
            block=self.sizes(1).least(job.collective),
            cost=self.costs.default,
            against=job.against,
        )

    @cached_property
    def most(self) -> int:
        """The greatest number of chunks that may be."""
        least = max(self.amount.item, -(-self.amount.least_chunk // self.amount.item) * self.amount.item)
        fixed = self.one.model.combining or self.one.collective.lengths is not None
        return 1 if fixed else max(1, min(self.block // least, _MOST_MESSAGES))

    def sizes(self, messages: int) -> Sizes:
        """Return the data divided into blocks of at most so many chunks."""
        amount = self.amount
        return divided(self.one.collective, amount.total, self._chunk(messages), amount.item)

    def job(self, messages: int, entry: Builder) -> Job[Any]:
        """Return the job with this many chunks, and the builder's best values for the options that the user left open."""
        job = self.one.of(messages)
        # what the user says goes before what suits
        suited = entry.suits(job, self._chunk(messages), self.costs.default)
        return replace(job, options={**suited, **job.options})

    def best_of_all(self, entries: Sequence[Builder]) -> Contender:
        """Return the choice that takes the least time. Builders with a closed form come first: they may meet the bound.

        Those for any machine come last, where the others are far from it.
        """
        found = list[Contender]()
        large = self.one.network.nodes > self.most_built
        # 1. Who is asked, and in which order: quick ones first.
        own = [entry for entry in entries if entry.is_for(self.one) and not entry.baseline]
        able = [entry for entry in own or entries if entry.claims or not large] or list(entries)
        others = [entry for entry in entries if entry.any_model and entry not in able and not large]
        tried = [(entry, MET) for entry in sorted(able, key=by_work(self.one))]
        tried += [(entry, _FAR) for entry in sorted(others, key=by_work(self.one))]
        # 2. Ask them, until one is near enough to the bound.
        for place, (entry, near) in enumerate(tried):
            report(place, len(tried), entry.name)
            least = min((choice.seconds for choice in found), default=inf)
            if entry.claims is None and found and self.bound and least <= self.bound.seconds * (1 + near):
                break
            found.extend(self.best(entry, found))
        if not found:
            job = self.one
            raise PlanError(
                f"there is no plan of {job.collective.kind} on {job.network.spec} for {self.amount.total:,} bytes"
            )
        return min(found, key=_cost)

    def best(self, entry: Builder, others: Sequence[Contender] = ()) -> list[Contender]:
        """Return the number of chunks with which a builder takes the least time; none where it can do none, or is not built for
        any, as a lower bound says that it cannot take less than others.
        """
        if entry.claims is not None and not self.one.model.combining:
            claimed = (self._claimed(entry, messages) for messages in self._cut(self._around(entry)))
            return sorted(filter(None, claimed), key=_cost)[:1]
        found, seconds = list[Contender](), min((choice.seconds for choice in others), default=inf)
        counts = self._cut(self._few())
        for least, messages in sorted((self._least(messages, entry), messages) for messages in counts):
            # no building where a bound says that it cannot be sooner
            if least < seconds * _LESS and (choice := self._built(entry, messages)):
                found.append(choice)
                seconds = min(seconds, choice.seconds)
        return sorted(found, key=_cost)[:1]

    def _cut(self, counts: list[int]) -> list[int]:
        """Return into how many chunks a block is cut for some numbers of them: of equal length but the last."""
        return sorted({cut(self.block, messages, self.amount.item).messages for messages in counts})

    def _least(self, messages: int, entry: Builder) -> float:
        """Return the seconds that so many chunks take at least, by lower bounds of the steps; 0 where steps do not tell."""
        job = self.one.of(messages)
        if self.bound is None or job.model.combining or job.model.arcs or self.costs.unlike:
            return 0.0
        which = best if job.options else tightest  # somebody asks for sums that nobody owns by an option
        known = bounds(job.collective, job.network, job.copies, job.model, against=job.against)
        own = entry.least(job)[0] if entry.least and not entry.why_not(job) else 0
        return max(own, which(known, "steps").value) * self.costs.default.step_time(self._chunk(messages))

    def _chunk(self, messages: int) -> int:
        """Return the bytes of each of so many chunks of a block."""
        return cut(self.block, messages, self.amount.item).chunk

    def _claimed(self, entry: Builder, messages: int) -> Contender | None:
        job = self.job(messages, entry)
        steps = _steps(entry, job)
        if steps is None:
            return None
        return Contender(steps * self.costs.default.step_time(self._chunk(messages)), job, entry)

    def _built(self, entry: Builder, messages: int) -> Contender | None:
        job = self.job(messages, entry)
        if entry.why_not(job):
            return None
        try:
            built = run_builder(job, entry)
        except PlanError:
            return None
        schedule = replace(schedule_of(job, entry, built), sizes=self.sizes(messages))
        return Contender(seconds_by_steps(schedule, self.costs), job, entry, built)

    def _around(self, entry: Builder) -> list[int]:
        """Return the chunk counts that a closed form leaves in the running."""
        if self.most <= 2 * _AROUND:
            return list(range(1, self.most + 1))
        # a closed form is a line, a M + c, far out: two points tell its best number, and those near it are tried
        low, high = min(_SPAN, self.most // 2), min(2 * _SPAN, self.most)
        ends = _steps(entry, self.job(low, entry)), _steps(entry, self.job(high, entry))
        if ends[0] is None or ends[1] is None:
            return list(range(1, _AROUND + 1))
        slope = (ends[1] - ends[0]) / (high - low)
        centre = self._centre(slope, ends[0] - slope * low)
        item = self.amount.item
        items = -(-self.block // (centre * item))  # of a chunk: where they are few, rounding them up matters most
        lengths = (item * count for count in range(max(1, items - _AROUND), items + _AROUND + 1))
        counts = {-(-self.block // length) for length in lengths}
        near = {*range(centre - _AROUND, centre + _AROUND + 1), *counts}
        return sorted({1, *(count for count in near if 1 <= count <= self.most), self.most})

    def _few(self) -> list[int]:
        """Return the chunk counts for which a builder without a closed form is built: those that suit the lower bound."""
        if self.most == 1:
            return [1]
        least = self.bound
        centre = self._centre(least.slope, least.offset) if least else 1
        where, more = self.one.network, list[int]()
        if where.parallel_arcs and where.nodes <= _FEW_NODES:
            more = [*_OCTAVES]
        elif len(where.walk):
            more = [centre << octave for octave in range(1, 5)]  # a chain of all ranks takes few steps for each of many
        some = {1, max(1, min(self.most, self.one.network.cables_out)), centre, *more}
        return sorted(count for count in some if count <= self.most)

    def _centre(self, slope: float, offset: float) -> int:
        """Return √(cβB / (aα)) for aM + c steps; from 1 to the greatest count."""
        cost = self.costs.default
        if offset <= 0:  # no pipeline to fill
            return 1
        if slope <= 0 or not cost.startup:  # more chunks cost nothing
            return self.most
        best = offset * cost.per_byte * self.block / (slope * cost.startup)
        return self.most if best == inf else max(1, min(self.most, isqrt(int(best))))


def _cost(choice: Contender) -> tuple[float, int]:
    """Return what choices are compared by: the seconds, then the number of chunks."""
    return choice.seconds, choice.messages


def _steps(entry: Builder, job: Job[Any]) -> int | None:
    """Return the steps that a builder claims for a job; None where it does not say, or cannot do it."""
    return None if entry.claims is None or entry.why_not(job) else entry.claims(job).steps
