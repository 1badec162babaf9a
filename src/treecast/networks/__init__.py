"""Interconnection networks: one small vectorised interface, one spelling in Python and on the command line."""

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from treecast.networks import description as description
from treecast.networks.cayley import Cayley, Rotational
from treecast.networks.complete import Complete
from treecast.networks.core import Network
from treecast.networks.family import Family, families, no_network
from treecast.networks.graph import Graph
from treecast.networks.grid import Grid, Mesh, Torus
from treecast.networks.hypercube import Hypercube
from treecast.networks.star import Star
from treecast.networks.tree import Tree
from treecast.networks.without import read_without

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "Cayley",
    "Complete",
    "Family",
    "Graph",
    "Grid",
    "Hypercube",
    "Mesh",
    "Network",
    "Rotational",
    "Star",
    "Torus",
    "Tree",
    "families",
    "network",
]


def network(what: "str | Network | nx.Graph[Any]") -> Network:
    """Return the network that is spelled, or that a networkx graph is.

    Parameters
    ----------
    what : str, Network or networkx graph
        A spelling like ``star:5``, ``mesh:8x8`` or ``file:net.graphml`` (``treecast networks`` lists them), or the name of a
        file that ends in ``.graphml``, ``.edges`` or ``.edgelist``; less some parts, as in
        ``hypercube:4 without links 0b0000-0b0001 nodes 0b0110``. Or a graph, of which every link leads both ways
        unless it is directed. A Network is returned as it is.

    Returns
    -------
    Network

    Raises
    ------
    NetworkError
        When the text spells no network, or the graph is none: a network has at least one node, has no loops, and its arcs
        lead from every node to every other.

    Examples
    --------
    >>> from treecast import network
    >>> network("star:4").nodes
    24
    >>> network("mesh:3x4").labels([0, 11])
    ['0,0', '2,3']
    >>> import networkx as nx
    >>> print(network(nx.petersen_graph()))
    network   graph:10, a graph
    nodes     10 (0 1 2 … 9)
    arcs      30
    degree    3
    diameter  2
    ports     0, 1, 2
    """
    if isinstance(what, Network):
        return what
    if not isinstance(what, str):
        return Graph.from_networkx(what)
    if parted := read_without(what):
        whole, links, nodes = parted
        return network(whole).without(nodes, links)
    name, colon, arguments = what.partition(":")
    family = families().get(name)
    if family and (colon or not family.arguments):
        return family.network(arguments) if colon else family.make()
    if family is None and PurePath(what).suffix in {".graphml", ".edges", ".edgelist"}:
        return Graph.read(what)
    raise no_network(what)
