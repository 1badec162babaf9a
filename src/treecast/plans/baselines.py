"""What a schedule is compared with: the steps of the same job over the best single tree that is known."""

from treecast.collectives import Collective
from treecast.networks import Network
from treecast.plans.bufferless.gather import certificates
from treecast.plans.trees import spanning
from treecast.schedule import Schedule
from treecast.schedule.trees import Tree


def single_tree_steps(network: Network, collective: Collective) -> int:
    """Return the steps of a broadcast down a single shortest-path tree, by its closed form; 0 of other collectives."""
    if not collective.traits.one_to_all or network.nodes == 1:
        return 0
    return collective.messages + network.eccentricity(collective.root) - 1


def one_tree_steps(schedule: Schedule) -> int:
    """Return how many steps the job of a scatterv or gatherv takes over the best single tree that is known; 0 of others.

    A gather with control flits is compared with one over one tree with control flits, any other gather as if all nodes
    knew when to begin.
    """
    collective, network = schedule.collective, schedule.network
    if collective.lengths is None:
        return 0
    flits, ports = collective.lengths.flits, schedule.model.ports
    with_control = collective.direction == "to" and bool(schedule.rows.control.any())

    def steps(tree: Tree) -> int:
        if with_control:
            return certificates(tree, flits, ports).steps
        return spanning.streams_steps(tree, flits, ports)

    return steps(spanning.best(network, collective.root, flits, steps, collective.direction == "to"))
