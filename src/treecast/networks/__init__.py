"""Interconnection networks: one small vectorised interface, one spelling in Python and on the command line."""

import sys
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from treecast.asked import read_asked, spell_asked
from treecast.errors import NetworkError
from treecast.networks import description as description
from treecast.networks.cayley import Cayley, Rotational
from treecast.networks.complete import Complete
from treecast.networks.core import Network
from treecast.networks.family import Family, families, family_called, no_network
from treecast.networks.graph import Graph
from treecast.networks.grid import Grid, Mesh, Torus
from treecast.networks.hypercube import Hypercube
from treecast.networks.nodes import NodeName
from treecast.networks.past_relays import ADDING, PAST
from treecast.networks.reading.registry import SUFFIXES
from treecast.networks.star import Star
from treecast.networks.tree import Tree
from treecast.networks.wired import file, graph_from
from treecast.networks.without import read_without

__all__ = [
    "Cayley",
    "Complete",
    "Family",
    "Graph",
    "Grid",
    "Hypercube",
    "Mesh",
    "Network",
    "NodeName",
    "Rotational",
    "Star",
    "Torus",
    "Tree",
    "families",
    "network",
]


class _FamilyListing(ModuleType):
    """This package, which called as a function lists the families, as ``treecast networks`` does."""

    def __call__(self) -> Mapping[str, Family]:
        return families()


sys.modules[__name__].__class__ = _FamilyListing


def network(source: Any, **asked: Any) -> Network:
    """Return the network that is spelled, or that a graph is.

    Parameters
    ----------
    source : str, path, Network or graph
        A spelling like ``star:5``, ``mesh:8x8`` or ``file:net.graphml`` (``treecast networks`` lists them), or the name of a
        file that ends in ``.graphml``, ``.edges`` or ``.edgelist``. With ``without`` behind it and broken parts, as in
        ``mesh:4x4 without links 0,0-0,1 nodes 3,3``, it is the network less these. A Network is returned as it is. Or a graph:

        - a networkx graph of any kind, with any names. Every link leads both ways unless the graph is directed. The attribute
          ``capacity`` of a link is how many parallel cables it has, and ``rate``, where all links have it with its unit, what
          one of them carries: ``rate="100Gbit/s"``. Nodes with the attribute ``relay`` take no part; those of
          them with ``adds``, too, add contributions to sums that come by several arcs;
        - an adjacency matrix, of numpy, of scipy or as a list of lists: entry [u, v] is the capacity from u to v;
        - a mapping from each node to the nodes that arcs lead to, in a list, or in another mapping with their capacities.

        - a list of links: tuples of two names, and a capacity where it is not 1, or a rate; they lead both ways.

    **asked
        Settings for reading a file, as on the command line: ``ranks="hosts"``, ``part=2``, ``undirected=True``. And of every
        network ``relays_add=True``: its relays add, as switches with SHARP or NVLS do; ``False``: none does.

    Returns
    -------
    Network

    Raises
    ------
    NetworkError
        When the text spells no network, or the graph is none: a network has at least one rank, and no loops.

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
    >>> network({"a": ["b", "c"], "b": {"c": 2}}).labels([0, 1, 2])
    ['a', 'b', 'c']
    >>> network([[0, 3], [1, 0]]).arcs
    4
    >>> network([("a", "b"), ("b", "c", 2)]).arcs
    6
    >>> network([("a", "b", "100Gbit/s"), ("b", "c", "200Gbit/s")]).chunk_rate  # of the slowest cable, in bytes a second
    12500000000.0
    """
    # 1. What is asked of whatever is named.
    if (adds := asked.pop("relays_add", None)) is not None:
        return network(source, **asked).adding(adds)
    # 2. Networks, files with words of their own, graphs.
    if isinstance(source, Network):
        return source
    if asked and not isinstance(source, str | PathLike):
        raise NetworkError(f"{', '.join(asked)} can be asked of files: name one")
    if asked or isinstance(source, PathLike):
        path = fspath(cast("str | PathLike[str]", source)).removeprefix("file:")
        return file(path + spell_asked({name.replace("_", "-"): value for name, value in asked.items()}))
    if not isinstance(source, str):  # a graph of networkx, say
        return graph_from(source)
    # 3. Texts: endings first, as they stand behind any name.
    if source.endswith(PAST):
        return network(source.removesuffix(PAST)).past_relays()
    if parted := read_without(source):
        whole, links, nodes = parted
        return network(whole).without(nodes, links)
    # 4. A family, a file, or an error that names the nearest.
    name, colon, arguments = source.partition(":")
    family = family_called(name)
    for end, adds in ADDING.items() if family and name != "file" else ():  # a file may end in such a word by chance
        if source.endswith(end):
            return network(source.removesuffix(end)).adding(adds)
    if family and (colon or not family.arguments):
        return family.network(arguments if colon else None)
    # a family wins over a file of its name
    if family is None and ((path := Path(read_asked(source)[0])).suffix in SUFFIXES or (source and path.exists())):
        return file(source)
    raise no_network(source)
