"""Disjoint trees: as many as a network has ports, such that the ways of any two to a node share no other node.

The facts of a family of networks stand at the end of the file of its trees, as ``DISJOINT_TREES``: a new family is a
new file in this folder.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from treecast.errors import PlanError
from treecast.networks import Network, families
from treecast.plans.built import Job
from treecast.plans.registry import Option
from treecast.plans.ways.trees.hops import ParentRule


@dataclass(frozen=True, kw_only=True)
class DisjointTrees(ParentRule):
    """The disjoint trees of one family of networks, one per port, by a rule.

    ``depth(network)``: their depth, by a closed form. ``none_is_shallower(network)``: whether no arc-disjoint trees are
    known that are as many and shallower. ``others``: other disjoint trees of the same networks, by name. ``before``: the name
    of those of version 1, where they are others.
    """

    family: str
    depth: Callable[[Any], int]
    none_is_shallower: Callable[[Network], bool] = lambda network: True
    others: Mapping[str, "DisjointTrees"] = field(default_factory=dict[str, "DisjointTrees"])
    before: str = ""
    disjoint_trees = ParentRule.trees


@cache
def known_trees() -> Mapping[str, DisjointTrees]:
    """Return those that are known, by the names of the families."""
    modules = [import_module(f"{__package__}.{found.name}") for found in iter_modules([str(Path(__file__).parent)])]
    entries = [getattr(module, "DISJOINT_TREES", None) for module in modules]
    return {entry.family: entry for entry in entries if isinstance(entry, DisjointTrees)}


def trees_of(network: Network, which: str = "") -> DisjointTrees:
    """Return the disjoint trees of a network's family; others than the best, by their name.

    Raises PlanError when none are known, or none of that name.
    """
    best = known_trees().get(network.family)
    if best is None:
        spellings = ", ".join(families()[family].spelling for family in known_trees())
        raise PlanError(f"no set of disjoint trees is known on {network.spec}; there is one on {spellings}")
    if which and which not in best.others:
        names = ", ".join(best.others)
        raise PlanError(
            f"there are no disjoint trees {which!r} on {network.spec}: "
            + (f"name {names}, or none for the best that are known" if names else "there is one set, without a name")
        )
    return best.others[which] if which else best


def trees_of_job(job: Job[Any]) -> DisjointTrees:
    """Return the disjoint trees that a job asks for by the option ``trees``."""
    return trees_of(job.network, job.options.get(TREES.keyword, ""))


def lacks_trees(network: Network) -> str:
    """Return why a network will not do for builders that go over disjoint trees; empty when it will."""
    if known_trees().get(network.family):
        return ""
    return f"needs a network whose disjoint trees are known: {', '.join(known_trees())}"


def _read(text: str, network: Network) -> str:
    trees_of(network, text)
    return text


def _before(network: Network) -> str:
    return known_trees()[network.family].before if known_trees().get(network.family) else ""


TREES = Option(
    name="trees",
    summary="The disjoint trees by name, where there are several: 'paper' on star networks.",
    read=_read,
    before=_before,
)
