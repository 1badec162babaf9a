"""Graphs that are objects in Python: of networkx, matrices of numpy or scipy, dicts, lists of links."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.reading.links import Links, Parts, label_of, passed_over, place_of

if TYPE_CHECKING:
    import networkx as nx

_FORMS = "give a networkx graph, an adjacency matrix, a dict, a list of links, or a text like star:5"


def parts_of(source: Any) -> Parts:
    """Return the nodes and arcs of a graph that is an object in Python, in one of the forms that ``network`` takes.

    Raises NetworkError when it is none of these, and ValueError when it is, but its links have no capacity, or its nodes are no
    relays.
    """
    if isinstance(source, Mapping):
        return _of_mapping(cast("Mapping[Any, Any]", source))
    if _is_links(source):
        return _of_links(source)
    if hasattr(source, "tocoo") or isinstance(source, np.ndarray | list | tuple):
        return _of_matrix(source)
    import networkx as nx

    if isinstance(source, nx.Graph):
        return _of_networkx(cast("nx.Graph[Any]", source))
    raise NetworkError(f"a {type(source).__name__} is no network: {_FORMS}")


def _of_networkx(graph: "nx.Graph[Any]") -> Parts:
    links, one_way = Links(), graph.is_directed()
    for name, about in graph.nodes(data=True):
        links.add(name, about.get("relay", False), about.get("adds", False), place_of(about))
    passed = dict[str, None]()
    for u, v, said in graph.edges(data=True):
        links.join(u, v, said.get("capacity", 1), one_way)
        passed |= dict.fromkeys(map(str, said))
    passed.pop("capacity", None)
    return links.parts()._replace(remarks=passed_over(passed))


def _is_links(source: Any) -> bool:
    """Return whether something is a list of tuples; the rows of a matrix are lists."""
    rows = cast("list[Any]", source) if isinstance(source, list) else []
    return bool(rows) and all(isinstance(row, tuple) and len(cast("tuple[Any, ...]", row)) in (2, 3) for row in rows)


def _of_links(source: "Sequence[tuple[Any, ...]]") -> Parts:
    links = Links()
    for u, v, *more in source:
        links.join(u, v, _capacity(more[0] if more else None))
    return links.parts()


def _capacity(said: Any) -> Any:
    """Return the capacity in attributes, as networkx has them, or the bare capacity."""
    return cast("Mapping[Any, Any]", said).get("capacity", 1) if isinstance(said, Mapping) else said


def _of_mapping(source: Mapping[Any, Any]) -> Parts:
    links = Links()
    for u in source:
        links.add(u)
    for u, there in source.items():
        if isinstance(there, str) or not hasattr(there, "__iter__"):
            raise ValueError(
                f"node {label_of(u)!r} has {there!r}: write the nodes that arcs lead to, as in {{'a': ['b', 'c']}}"
            )
        pairs: Iterable[tuple[Any, Any]] = ((v, None) for v in there)
        if isinstance(there, Mapping):
            pairs = cast("Mapping[Any, Any]", there).items()
        for v, capacity in pairs:
            links.join(u, v, _capacity(capacity), one_way=True)
    return links.parts()


def _of_matrix(source: Any) -> Parts:
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
    links = Links()
    for u in range(shape[0]):
        links.add(u)
    for u, v, capacity in zip(*(np.asarray(column).tolist() for column in columns), strict=True):
        if capacity:
            links.join(u, v, int(capacity) if isinstance(capacity, bool) else capacity, one_way=True)
    return links.parts()
