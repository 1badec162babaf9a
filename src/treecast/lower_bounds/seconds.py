"""The least time for so many bytes, whatever number of chunks of one length they are cut into."""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from treecast.against import Against
from treecast.collectives import Collective
from treecast.description import Description, describe
from treecast.lower_bounds import Bound, best, bounds
from treecast.lower_bounds.job import Problem
from treecast.lower_bounds.rates import least_seconds
from treecast.models import Cost, Model
from treecast.networks import Network
from treecast.schedule.costs import Costs
from treecast.units import spell_seconds

# chunks: multiples of all numbers up to 10, and too many for bounds that hold for few alone
_LOW, _HIGH = 5040, 5040 << 10
_FEW = (*range(1, 11), *range(_LOW, _LOW + 10))  # where the line through both is held against the bounds themselves


@dataclass(frozen=True)
class TimeBound:
    """A lower bound of ``seconds``, how they come about, and a and c of the bound aM + c on the steps for M chunks."""

    seconds: float
    slope: float
    offset: float
    formula: str

    def __str__(self) -> str:
        steps = f"{self.slope:.4g} M" + (f" + {self.offset:.4g}" if self.offset else "")
        return f"{self.formula}  (at least {steps} steps are needed, of α + βB/M each)" if self.slope else self.formula


@describe.register
def _(bound: TimeBound) -> Description:
    said = f"at least {spell_seconds(bound.seconds)} = {bound}"
    return Description({"time_lower_bound": bound.seconds}, {"takes": said})


def bound_seconds(
    collective: Collective,
    network: Network,
    copies: int,
    model: Model,
    *,
    block: int,
    cost: Cost,
    against: Against = "nodes",
    costs: Costs | None = None,
) -> TimeBound | None:
    """Return the least time in which schedules of a collective can carry blocks of so many bytes, in chunks of one length.

    At least aM + c steps are needed for M chunks, and each lasts α + βB/M; ``cost`` has α and β, of the arc where they are
    least. The bounds on steps are the greatest of several functions that are linear but for rounding up. So a is how they grow
    where M is great, and c is the least that they are above aM, where M is small and where rounding up may differ.

    Where arcs cost differently, ``costs``, it is the bound by prices of these, whatever the number of chunks.

    None under wormhole switching, and where messages for one node each have lengths of their own.
    """
    if model.routing or collective.traits.one_way:
        return None
    # 1. Arcs of unlike costs: prices, in one bound.
    if costs is not None and costs.unlike and collective.lengths is None and not model.combining:
        job = Problem(collective, network, copies, replace(model, arcs=()), against=against)
        return TimeBound(least_seconds(job, costs, block), 0.0, 0.0, "by the costs of each arc: prices, distances")
    # 2. Blocks of unlike lengths, and machines that join messages.
    if collective.lengths is not None:
        return _unequal(collective, network, copies, model, flit=block, cost=cost)

    def of(messages: int) -> list[Bound]:
        cut = replace(collective, messages=messages, owners=())
        return bounds(cut, network, copies, model, against=against)

    if model.combining:
        return _combining(of(1), network, model, block, cost)
    # 3. Else steps are at least a M + c for M chunks: from bounds at some M, a line that is nowhere above them.
    steps = {messages: best(of(messages), "steps").value for messages in (*_FEW, _HIGH)}
    slope = (steps[_HIGH] - steps[_LOW]) / (_HIGH - _LOW)
    offset = max(0.0, min(least - slope * m for m, least in steps.items()))
    # 4. The best number of chunks for that line; it need not be a whole one, since this is a bound.
    if offset * cost.per_byte * block <= slope * cost.startup:  # more chunks only take longer
        return TimeBound((slope + offset) * cost.step_time(block), slope, offset, "(a + c)(α + βB), of one chunk")
    seconds = (sqrt(slope * cost.per_byte * block) + sqrt(offset * cost.startup)) ** 2
    return TimeBound(seconds, slope, offset, "(√(aβB) + √(cα))², the least over all M")


def _unequal(
    collective: Collective, network: Network, copies: int, model: Model, *, flit: int, cost: Cost
) -> TimeBound:
    """Return the bound of blocks of different lengths, in flits of so many bytes: where messages combine, all enter some port."""
    found = bounds(collective, network, copies, model)
    steps = best(found, "steps").value
    if not model.combining:
        return TimeBound(steps * cost.step_time(flit), 0.0, steps, f"{steps:,} (α + β flit)")
    if not model.room:
        return _combining(found, network, model, flit, cost)
    if collective.demand is not None:
        of, want = collective.demand.wanted
        hears = int(np.bincount(want, collective.demand.size[of]).max(initial=0))
    elif collective.personal:
        hears = int(collective.demands().sum(axis=0).max())
    else:
        hears = collective.chunks - int(collective.sizes()[collective.ranks].min())
    hears = -(-hears // model.room)
    seconds = steps * cost.startup + hears * flit * cost.per_byte
    formula = f"{steps} α + {hears:,} β flit  (the steps that are needed, and one node's chunks)"
    return TimeBound(seconds, 0.0, steps, formula)


def _combining(found: list[Bound], network: Network, model: Model, block: int, cost: Cost) -> TimeBound:
    """Return the bound where messages combine: steps begin, and all transmissions pass the ports of all nodes."""
    steps, sends = (best(found, of).value for of in ("steps", "transmissions"))
    ports = network.nodes * model.room or max(1, int(network.arcs))
    seconds, each = steps * cost.startup + sends / ports * block * cost.per_byte, f"{sends / ports:.4g}"
    formula = f"{steps} α + {each} βB  (the steps that are needed, and {sends:,} blocks over {ports:,} ports)"
    return TimeBound(seconds, 0.0, steps, formula)
