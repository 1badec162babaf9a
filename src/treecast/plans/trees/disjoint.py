"""Disjoint trees: as many as a network has ports, such that the ways of any two to a node share no other node.

What is known of a family of networks stands at the end of the file of its trees, as ``DISJOINT_TREES``: a new family is a
new file in this folder.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from treecast.errors import PlanError
from treecast.networks import Network, families
from treecast.plans.all_port.pipelines import TreeHop
from treecast.schedule.trees import TreeSet


@dataclass(frozen=True, kw_only=True)
class DisjointTrees:
    """What is known of the disjoint trees of one family of networks; every function takes a network first.

    Parameters
    ----------
    family
        The family's name: the word before the colon.
    disjoint_trees
        ``(network, root=0)``: the trees, one per port.
    depth
        ``(network)``: how deep they are, by a closed form.
    parent, children
        ``(network, node, tree, root=0)``: a node's parent (None at the root), or its children, and the ports of the arcs.
    depth_of
        ``(network, node, tree, root=0)``: a node's depth in a tree.
    """

    family: str
    disjoint_trees: Callable[..., TreeSet]
    depth: Callable[..., int]
    parent: Callable[..., TreeHop | None]
    children: Callable[..., list[TreeHop]]
    depth_of: Callable[..., int]


@cache
def known_trees() -> Mapping[str, DisjointTrees]:
    """Return what is known, by the names of the families."""
    from treecast.plans import trees

    modules = [import_module(f"{trees.__name__}.{module.name}") for module in iter_modules(trees.__path__)]
    entries = [getattr(module, "DISJOINT_TREES", None) for module in modules]
    return {entry.family: entry for entry in entries if isinstance(entry, DisjointTrees)}


def trees_of(network: Network) -> DisjointTrees:
    """Return what is known of the disjoint trees of a network. Raises PlanError when none are known."""
    found = known_trees().get(network.family)
    if found is None:
        spellings = ", ".join(families()[family].spelling for family in known_trees())
        raise PlanError(f"no set of disjoint trees is known on {network.spec}; there is one on {spellings}")
    return found


def lacks_trees(network: Network) -> str:
    """Return why a network will not do for builders that go over disjoint trees; empty when it will."""
    if known_trees().get(network.family):
        return ""
    return f"needs a network whose disjoint trees are known: {', '.join(known_trees())}"


def disjoint_trees(network: Network, root: int = 0) -> TreeSet:
    """Return the disjoint trees of a network, one per port."""
    return trees_of(network).disjoint_trees(network, root)


def depth(network: Network) -> int:
    """Return the depth of the disjoint trees of a network, by their closed form."""
    return trees_of(network).depth(network)
