"""Interconnection networks: one small vectorised interface, one spelling in Python and on the command line."""

from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from treecast.description import Description, describe
from treecast.errors import NetworkError, did_you_mean
from treecast.networks import description as description
from treecast.networks.complete import Complete
from treecast.networks.core import Cayley, Network, Rotational
from treecast.networks.graph import Graph
from treecast.networks.grid import Mesh, Torus
from treecast.networks.hypercube import Hypercube
from treecast.networks.star import Star
from treecast.networks.tree import Tree

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "FAMILIES",
    "Cayley",
    "Complete",
    "Family",
    "Graph",
    "Hypercube",
    "Mesh",
    "Network",
    "Rotational",
    "Star",
    "Torus",
    "Tree",
    "network",
]


class Family(NamedTuple):
    """A family of networks: how it is spelled, what it is, and what makes one of its members from the text after the colon."""

    spelling: str
    example: str
    what: str
    make: Callable[[str], Network]


@describe.register
def _(family: Family) -> Description:
    found = {"spelling": family.spelling, "example": family.example, "what": family.what}
    return Description(found, found)


def _whole(family: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        known = FAMILIES[family]
        raise NetworkError(f"'{family}:{text}' is no network: write {known.spelling}, as in {known.example}")
    return int(text)


def _star(text: str) -> Network:
    return Star(_whole("star", text))


def _complete(text: str) -> Network:
    return Complete(_whole("complete", text))


def _hypercube(text: str) -> Network:
    return Hypercube(_whole("hypercube", text))


FAMILIES: dict[str, Family] = {
    "star": Family("star:N", "star:5", "the N! permutations, swapped with their first symbol (not K(1,N))", _star),
    "hypercube": Family("hypercube:D", "hypercube:6", "2^D words of D bits, one flipped", _hypercube),
    "complete": Family("complete:N", "complete:24", "every node joined to every other: one switch, or one memory", _complete),
    "mesh": Family("mesh:AxBx…", "mesh:8x8x8", "grid without wrap-around", Mesh.parse),
    "torus": Family("torus:AxBx…", "torus:4x4x4", "grid with wrap-around", Torus.parse),
    "path": Family("path:N", "path:9", "mesh of one dimension", Mesh.parse_path),
    "ring": Family("ring:N", "ring:8", "torus of one dimension", Torus.parse_ring),
    "tree": Family("tree:ARITY,DEPTH", "tree:3,2", "complete tree, root 0", Tree.parse),
    "file": Family("file:PATH", "file:net.graphml", "any graph: GraphML, or an edge list of two names a line", Graph.read),
}  # fmt: skip
"""Every family of networks, by the word before the colon."""


def network(what: "str | Network | nx.Graph[Any]") -> Network:
    """Return the network that ``what`` spells (``star:5``, ``mesh:8x8``, ``file:net.graphml``), or that a networkx graph is.

    Raises NetworkError when it spells none.
    """
    if isinstance(what, Network):
        return what
    if not isinstance(what, str):
        return Graph.from_networkx(what)
    family, colon, arguments = what.partition(":")
    if colon and family in FAMILIES:
        return FAMILIES[family].make(arguments)
    if PurePath(what).suffix in {".graphml", ".edges", ".edgelist"} and family not in FAMILIES:
        return Graph.read(what)
    examples = ", ".join(known.example for known in FAMILIES.values())
    raise NetworkError(f"{what!r} is no network: write one of {examples}{did_you_mean(family, FAMILIES)}")
