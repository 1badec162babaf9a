"""The node-disjoint paths from a root to a node, and the steps of their calls: on the hypercube and the star network.

On the hypercube these are the calling paths of Chau & Fu (Theorem 1), on the star network the ways in its disjoint
trees, which are those of Fragopoulou & Akl but for one class of nodes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from treecast.description import Description, describe
from treecast.errors import PlanError, checks_keywords
from treecast.networks import Network, NodeName
from treecast.networks import network as find_network
from treecast.plans.order import check_order
from treecast.plans.ways.trees.disjoint import DisjointTrees, trees_of

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Paths(NamedTuple):
    """Ways from ``root`` to ``node`` that share no node but these two.

    ``ways[i]``: the nodes of a way, both ends included; ``steps[i][j]``: the step at which its j-th call is made.
    ``phase``: the number of steps of the first phase; calls at later steps are made in the second. 0: there are no phases.
    """

    network: Network
    root: int
    node: int
    ways: list[list[int]]
    steps: list[list[int]]
    phase: int

    def unit(self, step: int) -> int | None:
        """Return in which time unit of the second phase a call at ``step`` is made, counted from 1; None: in the first."""
        return step - self.phase + 1 if self.phase and step >= self.phase else None


def node_disjoint_paths(
    network: Network, node: int, root: int = 0, order: Sequence[int] | None = None, trees: str = ""
) -> Paths:
    """Return the node-disjoint paths from ``root`` to ``node``: as many as the network has ports.

    On a hypercube: the d calling paths when the dimensions are used in ``order`` (ports; default 0 … d-1), each call at the
    step at which the whispering broadcast makes it. On a star network: the way in each of its n-1 disjoint trees, a step
    per arc; those of the paper for ``trees="paper"``. Raises PlanError for other networks, for trees that are not there, and
    when node and root are the same; NetworkError for nodes that do not exist.
    """
    network.check_node(root)
    network.check_node(node)
    if not network.ports_alike:
        raise PlanError(f"node-disjoint paths are known on star networks and hypercubes, not on {network.spec}")
    if root == node:
        raise PlanError(f"{network.label(node)} is the root: a path needs two nodes")
    if not network.flips_bits:
        if order is not None:
            raise PlanError(
                "an order of dimensions is for hypercubes; on a star network the disjoint trees say the way"
            )
        known = trees_of(network, trees)
        ways = [_way_in_tree(known, network, node, tree, root) for tree in range(network.ports)]
        return Paths(network, root, node, ways, [list(range(len(way) - 1)) for way in ways], 0)
    if trees:
        raise PlanError(
            "disjoint trees are named on star networks; on a hypercube the order of dimensions says the way"
        )
    return _calling_paths(network, node, root, check_order(network.ports, order))


def _way_in_tree(known: DisjointTrees, network: Network, node: int, tree: int, root: int) -> list[int]:
    """Return the way from ``root`` to ``node`` in a disjoint tree: from labels alone, whatever the size of the network."""
    way = [node]
    while (above := known.parent(network, way[-1], tree, root)) is not None:
        way.append(above[0])
    return way[::-1]


def _calling_paths(cube: Network, node: int, root: int, dims: tuple[int, ...]) -> Paths:
    """Return the calling paths: the j-th begins with the j-th dimension, goes on cyclically with those in which the two
    ends differ, and comes back over the j-th if they do not differ in it.
    """
    ways, steps = list[list[int]](), list[list[int]]()
    for first in range(cube.ports):
        after = [(first + 1 + i) % cube.ports for i in range(cube.ports - 1)]
        places = [first, *(i for i in after if (root ^ node) >> dims[i] & 1)]
        if not (root ^ node) >> dims[first] & 1:
            places.append(first)
        way, when = [root], list[int]()
        for number, i in enumerate(places):
            way.append(way[-1] ^ 1 << dims[i])
            # In the first phase dimension i is used in step i alone. Whoever needs it again, or earlier, calls in the
            # second.
            late = number > 0 and i <= first  # its turn in the first phase is over
            when.append(i + cube.ports * late)
        ways.append(way)
        steps.append(when)
    return Paths(cube, root, node, ways, steps, cube.ports)


@describe.register
def _(paths: Paths) -> Description:
    network = paths.network
    figures = {
        "network": network.spec,
        "root": network.label(paths.root),
        "node": network.label(paths.node),
        "paths": [
            {
                "nodes": way,
                "labels": [network.label(node) for node in way],
                "steps": steps,
                "second_phase_units": [paths.unit(step) for step in steps],
            }
            for way, steps in zip(paths.ways, paths.steps, strict=True)
        ],
    }
    notes = [_spell_way(paths, number) for number in range(len(paths.ways))]
    if paths.phase:
        notes.append("ⁱ: called in time unit i of the second phase; all other calls are made in the first")
    return Description(figures, notes=notes)


def _spell_way(paths: Paths, number: int) -> str:
    """Return a path in a line, each node called in the second phase with its time unit raised behind it."""
    way, units = paths.ways[number], [paths.unit(step) for step in paths.steps[number]]
    raised = ["", *("" if unit is None else str(unit).translate(_RAISED) for unit in units)]
    called = [f"{node}({paths.network.label(node)}){mark}" for node, mark in zip(way, raised, strict=True)]
    return f"{number + 1}. " + " → ".join(called)


@checks_keywords
def paths(
    where: Any, node: NodeName, root: NodeName = 0, order: Sequence[int] | None = None, *, trees: str = ""
) -> Paths:
    """Return the node-disjoint paths from the root to a node: on a hypercube the calling paths, on a star network the trees'.

    Parameters
    ----------
    where : Network or str
        A hypercube or a star network.
    node, root : int or str
        Where they lead, and whence: labels or numbers.
    order : sequence of int, optional
        On a hypercube: the ports in the order in which they are used.
    trees : str, optional
        On a star network: ``"paper"`` for the trees of Fragopoulou & Akl. The default are treecast's own, which for an even
        number of symbols are one arc shallower.

    Raises
    ------
    PlanError, NetworkError
        For other networks, for trees that are not there, for nodes that do not exist, and when both are one.

    Examples
    --------
    >>> import treecast
    >>> len(treecast.paths("hypercube:4", 14).ways)
    4
    """
    found = find_network(where)
    return node_disjoint_paths(found, found.node(node), found.node(root), order, trees)
