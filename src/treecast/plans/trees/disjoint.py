"""The disjoint trees of networks that look the same from every node and over every port."""

from types import ModuleType
from typing import Any, Protocol, cast

from treecast.errors import PlanError
from treecast.networks import Complete, Hypercube, Network, Star
from treecast.plans.all_port.pipelines import TreeHop
from treecast.plans.trees import complete as complete_trees
from treecast.plans.trees import hypercube as hypercube_trees
from treecast.plans.trees import star as star_trees
from treecast.schedule.trees import TreeSet


class Trees(Protocol):
    """What is known of the disjoint trees of a family of networks: ``star_trees``, ``hypercube_trees`` and
    ``complete_trees`` offer it.
    """

    def disjoint_trees(self, network: Any, root: int = 0, /) -> TreeSet:
        """Return the trees at ``root``, one per port."""
        ...

    def exact_depth(self, dimension: int, /) -> int:
        """Return how deep they are."""
        ...

    def parent(self, network: Any, node: int, tree: int, root: int = 0, /) -> TreeHop | None:
        """Return a node's parent in a tree."""
        ...

    def children(self, network: Any, node: int, tree: int, root: int = 0, /) -> list[TreeHop]:
        """Return a node's children in a tree."""
        ...

    def depth_of(self, network: Any, node: int, tree: int, root: int = 0, /) -> int:
        """Return a node's depth in a tree."""
        ...


_TREES: dict[type[Network], tuple[ModuleType, str]] = {
    Star: (star_trees, "n"),
    Hypercube: (hypercube_trees, "d"),
    Complete: (complete_trees, "nodes"),
}


def trees_of(network: Network) -> Trees:
    """Return what is known of the disjoint trees of a network. Raises PlanError when none are known."""
    if type(network) not in _TREES:
        raise PlanError(
            f"no set of disjoint trees is known yet on {network.spec}; there is one on star:N, hypercube:D and complete:N"
        )
    return cast(Trees, _TREES[type(network)][0])


def lacks_trees(network: Network) -> str:
    """Return why a network will not do for builders that go over disjoint trees; empty when it will."""
    return "" if type(network) in _TREES else "needs a network with known disjoint trees: star, hypercube or complete"


def disjoint_trees(network: Network, root: int = 0) -> TreeSet:
    """Return the disjoint trees of a network, one per port."""
    return trees_of(network).disjoint_trees(network, root)


def depth(network: Network) -> int:
    """Return the depth of the disjoint trees of a network, by their closed form."""
    return trees_of(network).exact_depth(getattr(network, _TREES[type(network)][1]))
