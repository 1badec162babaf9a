"""Scatter by a flow over time: on any network, in the fewest steps there can be for few messages.

The chunks that the root sends to different nodes are alike until they arrive. So a scatter is a flow over time
(networks/over_time.py), whose units are named by where they end. Many messages go in runs: a flow of few units for each node says
which ways the runs take, and in which order.
"""

from math import gcd

import numpy as np

from treecast.collectives.traits import one_to_each
from treecast.errors import PlanError
from treecast.models import MODELS, Model
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.over_time import Flow, least_steps, quickest, searched, size, slowest_cuts
from treecast.plans.built import NOTHING, Built, Job
from treecast.plans.registry import ALL_PORT, builder
from treecast.plans.times.timetable import Timed, listed
from treecast.plans.ways.ways import Ways

_MOST_SIZE = 2**24  # steps times arcs of a flow
_MOST_SHORT, _NEAR = 2**19, 1.01  # … where runs are made shorter, until they lose less than so much
_FEW = 8  # messages that are not joined to runs
_MACHINE = MODELS[ALL_PORT[0]]
_MOST_UNITS = 2**13  # of all nodes, where they are not


def _too_large(job: Job[Network]) -> str:
    """Return why no flow is found for a job; empty when one is."""
    network = job.network
    if network.rank_count > 1 and not (searched(network) and size(network, job.collective.root, 1) <= _MOST_SIZE):
        return f"finds flows where steps times arcs are at most {_MOST_SIZE:,}"
    return ""


@builder(
    "flow-over-time",
    one_to_each,
    fits=_too_large,
    summary="a flow over time: the fewest steps there can be for few messages, on any network",
)
def over_time(job: Job[Network]) -> Built:
    """All-port: each message goes one way, such that all arrive in the fewest steps there can be; x = 1.

    Up to 8 messages take exactly the least number of steps. More go in as many runs to each node as make the slowest cut busy
    in all steps, or nearly so.
    """
    network, root, messages = job.network, job.collective.root, job.collective.messages
    if network.rank_count == 1:
        return NOTHING
    if messages == 1 or (messages <= _FEW and messages * (network.rank_count - 1) <= _MOST_UNITS):
        flow = quickest(network, root, messages, patient=messages == 1)
        if flow is not None:
            return Timed(*_of_flow(job, flow, 0, 1), flow.steps).built()
    few = _runs_to_each(network, root, messages)
    each, rest = divmod(messages, few)
    parts = [_of_flow(job, _flow(network, root, few), 0, each)] if each else []
    parts += [_of_flow(job, _flow(network, root, rest), few * each, 1)] if rest else []
    behind = np.cumsum([0, *(int(step.max()) + 1 for _, _, step in parts)])
    ways = Ways.joined([part for part, _, _ in parts])
    order = np.concatenate([step + later for (_, _, step), later in zip(parts, behind.tolist(), strict=False)])
    found = listed(ways, _MACHINE, [order])
    lengths = [int(part.lengths[0]) for part, _, _ in parts]
    if (whole := int(np.dot(np.diff(behind), lengths))) < found.steps:  # a flow in which each step is as long as a run
        later = np.cumsum([0, *(np.diff(behind) * lengths).tolist()])
        began = [step * part.lengths[0] + at for (part, _, step), at in zip(parts, later, strict=False)]
        found = Timed(ways, _MACHINE, np.concatenate(began), whole)
    return found.built()


def _runs_to_each(network: Network, root: int, messages: int) -> int:
    """Return into how few runs the messages of each node are divided so that the slowest cut is busy in all steps.

    Where that cut is far from the root, the first chunk comes late to it, and more and shorter runs lose less.
    """
    slowest = max(slowest_cuts(network, root), key=lambda cut: (cut.nodes / cut.arcs, -cut.distance))
    few, least = slowest.arcs // gcd(slowest.arcs, slowest.nodes), least_steps(network, root, messages)
    while (
        2 * few <= messages
        and least_steps(network, root, few) * messages > _NEAR * few * least
        and size(network, root, 2 * few) <= _MOST_SHORT
    ):
        few *= 2
    while few > 1 and (size(network, root, few) > _MOST_SIZE or quickest(network, root, few, patient=False) is None):
        few //= 2
    return few


def _flow(network: Network, root: int, units: int) -> Flow:
    found = quickest(network, root, units, patient=False) or quickest(network, root, units)
    if found is None:
        raise PlanError(f"no flow was found on {network.spec}")
    return found


def _of_flow(job: Job[Network], flow: Flow, begun: int, size: int) -> tuple[Ways, Model, Ints]:
    """Return a run of ``size`` chunks for each unit of a flow, from chunk ``begun`` of its node on; and the step of each hop."""
    targets, messages = job.network.rank_count - 1, job.collective.messages
    order = np.lexsort((flow.step, flow.unit))
    first = np.searchsorted(flow.unit[order], np.arange(len(flow.end) + 1))
    by_node = np.argsort(flow.end, kind="stable")
    place = np.empty_like(by_node)
    place[by_node] = np.tile(np.arange(len(by_node) // targets), targets)
    chunk = flow.end * messages + begun + place * size
    ways = Ways.of_paths(job.network, first, flow.arc[order], chunk=chunk, size=np.full_like(chunk, size))
    return ways, _MACHINE, flow.step[order]
