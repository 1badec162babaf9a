"""The steps of the same job over the best single tree that is known, and in one copy, which schedules are compared with."""

from contextlib import suppress
from dataclasses import dataclass, replace

from treecast.collectives import Collective
from treecast.description import Description, count_of, describe
from treecast.errors import PlanError
from treecast.networks import Network
from treecast.plans.job import job_over
from treecast.plans.request import request
from treecast.plans.times.certificates import certificates
from treecast.plans.ways.trees import spanning
from treecast.schedule import Schedule
from treecast.schedule.description import survived_by
from treecast.schedule.trees import Tree


def single_tree_steps(network: Network, collective: Collective) -> int:
    """Return the steps of a broadcast down a single shortest-path tree, by its closed form; 0 of other collectives."""
    if not collective.traits.one_to_all or network.rank_count == 1:
        return 0
    return collective.messages + network.eccentricity(collective.root) - 1


def one_tree_steps(schedule: Schedule) -> int:
    """Return how many steps the job of a scatterv or gatherv takes over the best single tree that is known; 0 of others.

    A gather with control flits is compared with one over one tree with control flits, any other gather as if all nodes
    knew when to begin.
    """
    collective, network = schedule.collective, schedule.network
    if collective.lengths is None or collective.all_source:
        return 0
    flits, ports = collective.lengths.flits, "one" if schedule.model.room else "all"
    with_control = collective.direction == "to" and bool(schedule.rows.control.any())

    def steps(tree: Tree) -> int:
        if with_control:
            return certificates(tree, flits, ports).steps
        return spanning.streams_steps(tree, flits, ports)

    along = network if with_control or collective.direction == "from" else network.reversed()
    return steps(spanning.best(along, collective.root, flits, steps, with_control))


def one_copy_steps(schedule: Schedule) -> int:
    """Return the fewest steps of the same job in one copy, by closed forms; 0 where there are none, or it has one copy."""
    if schedule.copies == 1:
        return 0
    with suppress(PlanError):
        asked = replace(job_over(schedule, schedule.network), copies=1, against="nodes", builder=None, options={})
        job, entries = request(asked)
        return min((entry.claims(job).steps for entry in entries if entry.claims is not None), default=0)
    return 0


@dataclass(frozen=True)
class Baseline:
    """The steps that the job of a schedule takes over the best single tree that is known, and in one copy; 0 where unknown."""

    schedule: Schedule
    steps: int
    one_copy: int = 0


def baseline(schedule: Schedule) -> Baseline:
    """Return the steps of the job of a schedule over a single tree."""
    steps = 0
    if schedule.collective.lengths is None:
        steps = single_tree_steps(schedule.network, schedule.collective)
    elif schedule.trees > 1 and schedule.collective.personal:
        steps = one_tree_steps(schedule)
    model = schedule.model
    # where ports are counted, a node's children wait
    alone = bool(model.room) and model.partner == "any" and model.buffered
    return Baseline(
        schedule, 0 if model.routing or alone or model.latency > 1 or model.arcs else steps, one_copy_steps(schedule)
    )


@describe.register
def _(single: Baseline) -> Description:
    schedule, steps, found = single.schedule, single.steps, Description({})
    if 0 < single.one_copy < schedule.steps:
        more = f"to survive {survived_by(schedule)} costs {100 * (schedule.steps / single.one_copy - 1):.3g} % more"
        words = f"takes {count_of(single.one_copy, 'step')}: {more}"
        found = Description({"one_copy_steps": single.one_copy}, {"one copy": words})
    if not steps or not schedule.steps:
        return found
    weak = " and survives no fault" if schedule.copies > 1 else ""
    if schedule.steps < steps:
        compared = f"this is {steps / schedule.steps:.4g} times as fast"
    else:
        more = 100 * (schedule.steps / steps - 1)
        compared = f"this takes {more:.3g} % more" if more else "this takes as many"
    return found.adding(
        {"single_tree_steps": steps, "speed_up": round(steps / schedule.steps, 4)},
        {"one tree": f"takes {count_of(steps, 'step')}{weak}: {compared}"},
    )
