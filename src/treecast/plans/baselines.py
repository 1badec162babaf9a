"""What a schedule is compared with: the steps of the same job over the best single tree that is known."""

from dataclasses import dataclass

from treecast.collectives import Collective
from treecast.description import Description, count_of, describe
from treecast.networks import Network
from treecast.plans.ways.trees import spanning
from treecast.plans.whole.bufferless.gather import certificates
from treecast.schedule import Schedule
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
    flits, ports = collective.lengths.flits, schedule.model.ports
    with_control = collective.direction == "to" and bool(schedule.rows.control.any())

    def steps(tree: Tree) -> int:
        if with_control:
            return certificates(tree, flits, ports).steps
        return spanning.streams_steps(tree, flits, ports)

    along = network if with_control or collective.direction == "from" else network.reversed()
    return steps(spanning.best(along, collective.root, flits, steps, with_control))


@dataclass(frozen=True)
class Baseline:
    """The steps that the job of a schedule takes over the best single tree that is known; 0 where that says nothing."""

    schedule: Schedule
    steps: int


def baseline(schedule: Schedule) -> Baseline:
    """Return the steps of the job of a schedule over a single tree."""
    steps = 0
    if schedule.collective.lengths is None:
        steps = single_tree_steps(schedule.network, schedule.collective)
    elif schedule.trees > 1 and schedule.collective.personal:
        steps = one_tree_steps(schedule)
    alone = schedule.model.ports == "one" and schedule.model.partner == "any" and schedule.model.buffered
    return Baseline(schedule, 0 if schedule.model.routing or alone else steps)  # of one port: a node's children wait


@describe.register
def _(single: Baseline) -> Description:
    schedule, steps = single.schedule, single.steps
    if not steps or not schedule.steps:
        return Description({})
    weak = " and survives no fault" if schedule.copies > 1 else ""
    if schedule.steps < steps:
        compared = f"this is {steps / schedule.steps:.4g} times as fast"
    else:
        more = 100 * (schedule.steps / steps - 1)
        compared = f"this takes {more:.3g} % more" if more else "this takes as many"
    return Description(
        {"single_tree_steps": steps, "speed_up": round(steps / schedule.steps, 4)},
        {"one tree": f"takes {count_of(steps, 'step')}{weak}: {compared}"},
    )
