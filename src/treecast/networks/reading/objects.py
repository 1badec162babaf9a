"""Graphs that are objects in Python: of networkx, matrices of numpy or scipy, dicts, lists of links."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.reading.drawn import LABELS, Drawn
from treecast.networks.reading.links import LinkList, Parts, label_of
from treecast.networks.reading.machine import Machine

if TYPE_CHECKING:
    import networkx as nx

_FORMS = "give a networkx graph, an adjacency matrix, a dict, a list of links, or a text like star:5"


def parts_of(source: Any) -> Parts | Machine:
    """Return the nodes and arcs of a graph that is an object in Python, in one of the forms that ``network`` takes.

    A machine where every link says its rate, as of files. Raises NetworkError when it is none of these, and ValueError when it
    is, but its links have no capacity, or its nodes are no relays.
    """
    if isinstance(source, Mapping):
        return _of_mapping(cast("Mapping[Any, Any]", source))
    if _is_links(source):
        return _of_links(source)
    if hasattr(source, "tocoo") or isinstance(source, np.ndarray | list | tuple):
        return parts_of_matrix(source)
    import networkx as nx

    if isinstance(source, nx.Graph):
        return _of_networkx(cast("nx.Graph[Any]", source))
    raise NetworkError(f"a {type(source).__name__} is no network: {_FORMS}")


def _of_networkx(graph: "nx.Graph[Any]") -> Parts | Machine:
    found, one_way = Drawn("a networkx graph"), graph.is_directed()
    called = _Labels()
    for name, about in graph.nodes(data=True):  # nodes are called by their names, whatever label they have
        found.node(called[name], {str(key): value for key, value in about.items() if key not in LABELS})
    found.passed.clear()  # of nodes nothing is remarked
    for u, v, said in graph.edges(data=True):
        found.join(called[u], called[v], _said(said), one_way)
    return found.parts()


def _is_links(source: Any) -> bool:
    """Return whether something is a list of tuples; the rows of a matrix are lists."""
    rows = cast("list[Any]", source) if isinstance(source, list) else []
    return bool(rows) and all(isinstance(row, tuple) and len(cast("tuple[Any, ...]", row)) in (2, 3) for row in rows)


def _of_links(source: "Sequence[tuple[Any, ...]]") -> Parts | Machine:
    found, called = Drawn("a list of links"), _Labels()
    for u, v, *more in source:
        found.join(called[u], called[v], _said(more[0] if more else None))
    return found.parts()


class _Labels(dict[Any, str]):
    """The labels of nodes by their names; two names of one label are refused."""

    def __init__(self) -> None:
        self._first = dict[str, Any]()

    def __missing__(self, name: Any) -> str:
        label = self[name] = label_of(name)
        if self._first.setdefault(label, name) != name:
            raise ValueError(f"it has two nodes named {label!r}")
        return label


def _said(said: Any) -> Mapping[str, object]:
    """Return the attributes of a link, as networkx has them; what is none is its capacity, or rate."""
    given = cast("Mapping[Any, Any]", said) if isinstance(said, Mapping) else {"capacity": said}
    return {str(key): value for key, value in given.items()}


def _of_mapping(source: Mapping[Any, Any]) -> Parts | Machine:
    found, called = Drawn("a mapping"), _Labels()
    for u in source:
        found.node(called[u], {})
    for u, there in source.items():
        if isinstance(there, str) or not hasattr(there, "__iter__"):
            raise ValueError(
                f"node {label_of(u)!r} has {there!r}: write the nodes that arcs lead to, as in {{'a': ['b', 'c']}}"
            )
        pairs: Iterable[tuple[Any, Any]] = ((v, None) for v in there)
        if isinstance(there, Mapping):
            pairs = cast("Mapping[Any, Any]", there).items()
        for v, capacity in pairs:
            found.join(called[u], called[v], _said(capacity), one_way=True)
    return found.parts()


def parts_of_matrix(source: Any) -> Parts:
    """Return the nodes and arcs of a matrix of capacities. Raises NetworkError when it is none."""
    if hasattr(source, "tocoo"):
        sparse = source.tocoo()
        shape, columns = tuple(sparse.shape), (sparse.row, sparse.col, sparse.data)
    else:
        try:
            table = np.asarray(source)
        except ValueError:
            raise NetworkError(
                "a matrix whose rows differ in length is no network: it has a row and a column for each node"
            ) from None
        shape, columns = table.shape, (*np.nonzero(table), table[np.nonzero(table)])
    if len(shape) != 2 or shape[0] != shape[1]:
        raise NetworkError(
            f"a matrix of shape {shape} is no network: it has a row and a column for each node, and capacities in it"
        )
    links = LinkList()
    for u in range(shape[0]):
        links.add(u)
    for u, v, capacity in zip(*(np.asarray(column).tolist() for column in columns), strict=True):
        if capacity:
            # True is one cable
            links.join(u, v, int(capacity) if isinstance(capacity, bool) else capacity, one_way=True)
    return links.parts()
