"""Arc-disjoint spanning trees of the least depth there can be: a solver finds them, or refutes that there are any less deep.

It needs OR-Tools, ``pip install ortools``. Its search is the same on every machine: it begins with a
seed, and what it may spend is counted in its own units, not in seconds.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from treecast.errors import PlanError
from treecast.lower_bounds.depths import least_depth
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.flows import arcs_of
from treecast.schedule.trees import TreeSet

MOST = 2**13  # trees times nodes: of more nothing is asked
_EFFORT = 120.0  # of the solver for one depth, in units of about a second


class Exact(NamedTuple):
    """Trees, and whether it is proved that so many are nowhere less deep."""

    trees: TreeSet
    proved: bool


def lacks_solver() -> str:
    """Return why no solver can be asked; empty when it can."""
    return "" if find_spec("ortools") else "needs OR-Tools: pip install ortools"


def least_deep(trees: TreeSet, seed: int = 1) -> Exact:
    """Return as many arc-disjoint trees as are given, of the least depth, as far as the solver decides it.

    Parameters
    ----------
    trees
        Arc-disjoint spanning trees, from which the search begins; they are kept where they cannot be bettered.
    seed
        What the solver's random numbers begin with.

    Returns
    -------
    Exact
        The trees, and whether every lesser depth is ruled out, by the solver or by the bound.

    Raises
    ------
    PlanError
        Where the solver is not installed, or trees and nodes are too many to ask it.
    """
    network, root, number = trees.network, trees.root, len(trees)
    if reason := lacks_solver():
        raise PlanError(f"the least depth {reason}")
    if number * network.nodes > MOST:
        raise PlanError(f"the least depth is searched for where trees times nodes are at most {MOST:,}")
    proved = True
    for depth in range(least_depth(network, root, number), trees.height):
        found, decided = _search(trees, depth, seed)
        if found is not None:
            return Exact(found, proved)
        proved = proved and decided
    return Exact(trees, proved)


def _search(start: TreeSet, depth: int, seed: int) -> tuple[TreeSet | None, bool]:
    """Return trees of at most some depth, if the solver finds any, and whether it has decided."""
    cp: Any = import_module("ortools.sat.python.cp_model")
    network, root, number = start.network, start.root, len(start)
    arcs, least = arcs_of(network), _least_depths(network, root, number)
    if int(least.max()) > depth:
        return None, True
    model = cp.CpModel()
    chosen = [_hang_all(model, network, root, (tree, least, depth)) for tree in range(number)]
    for arc in range(len(arcs.head)):
        model.add_at_most_one([mine[arc] for mine in chosen if arc in mine])
    solver = cp.CpSolver()
    solver.parameters.random_seed = seed
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = _EFFORT
    status = solver.solve(model)
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        return None, status == cp.INFEASIBLE
    up = np.full((number, network.nodes), -1, np.int64)
    for tree, mine in enumerate(chosen):
        for arc, taken in mine.items():
            if solver.boolean_value(taken):
                up[tree, arcs.head[arc]] = arc
    parent = np.where(up < 0, -1, arcs.tail[up]).astype(np.int32)
    return TreeSet(network, root, parent, np.where(up < 0, -1, arcs.port[up]).astype(np.int32)), True


def _hang_all(model: Any, network: Network, root: int, within: tuple[int, Ints, int]) -> dict[int, Any]:
    """Let every node have one arc into it in a tree, from a node less deep; return what says which arcs are taken."""
    tree, least, depth = within
    arcs, taken = arcs_of(network), dict[int, Any]()
    level = [model.new_int_var(low, 0 if v == root else depth, "") for v, low in enumerate(least[tree].tolist())]
    for v in set(range(network.nodes)) - {root}:
        entering = _useful(network, root, v, within)
        for arc in entering:
            taken[arc] = model.new_bool_var("")
            model.add(level[v] >= level[int(arcs.tail[arc])] + 1).only_enforce_if(taken[arc])
        model.add_exactly_one([taken[arc] for arc in entering])  # of none: no trees
    return taken


def _least_depths(network: Network, root: int, number: int) -> Ints:
    """Return how deep each node is at least in each tree: int64 (trees, N).

    Where the root has no more arcs than there are trees, tree i begins with arc i of the root and does not come back to it.
    """
    from treecast.kernels.flows import distances
    from treecast.kernels.views import read_only

    arcs = arcs_of(network)
    starts = arcs.head[arcs.first[root] : arcs.first[root + 1]].tolist()
    far = network.distance(root, np.arange(network.nodes))
    if len(starts) > number:
        return np.broadcast_to(far, (number, network.nodes))
    least = np.empty((number, network.nodes), np.int64)
    for low, start in zip(least, starts, strict=True):
        away = np.empty(network.nodes, np.int32)
        distances(arcs.first, arcs.head, read_only(np.array([start]), np.int32), root, away)
        low[:] = np.where(away < 0, network.nodes, away + 1)
        low[root] = 0
    return least


def _useful(network: Network, root: int, v: int, within: tuple[int, Ints, int]) -> list[int]:
    """Return the arcs by which a node can hear in a tree of at most some depth."""
    (tree, least, depth), arcs = within, arcs_of(network)
    own = arcs.first[root] + tree
    alone = arcs.first[root + 1] - arcs.first[root] == len(least)
    if alone and arcs.head[own] == v:
        return [int(own)]
    entering = arcs.entering[arcs.into[v] : arcs.into[v + 1]].tolist()
    return [a for a in entering if least[tree, arcs.tail[a]] < depth and not (alone and arcs.tail[a] == root)]
