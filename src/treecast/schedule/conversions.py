"""Schedules in other people's objects: a graph of networkx, a table of pandas."""

from typing import TYPE_CHECKING, Any

import numpy as np

from treecast.description import data_frame

if TYPE_CHECKING:
    import networkx as nx

    from treecast.schedule.schedule import Schedule


def to_networkx(schedule: "Schedule") -> "nx.MultiDiGraph[Any]":
    """Return a schedule as a networkx MultiDiGraph: an arc for each row, whose key is the number of the row.

    Parameters
    ----------
    schedule : Schedule
        The schedule. Of an orbit, the part of node 0's data.

    Returns
    -------
    networkx.MultiDiGraph
        Nodes are numbers with a ``label``; arcs have ``step``, ``steps``, ``port``, ``tree`` and ``chunks``, pairs (first, stop).

    Examples
    --------
    >>> import treecast
    >>> graph = treecast.plan("broadcast", "path:3", messages=5).to_networkx()
    >>> graph.edges[0, 1, 0]
    {'step': 0, 'steps': 5, 'port': 0, 'tree': 0, 'chunks': [(0, 5)]}
    """
    import networkx as nx

    rows, network = schedule.rows, schedule.network
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph(name=repr(schedule))
    graph.add_nodes_from((u, {"label": label}) for u, label in enumerate(network.labels()))
    for number, row in enumerate(rows):
        said = {"step": row.step, "steps": row.steps, "port": row.port, "tree": row.tree}
        graph.add_edge(row.src, row.dst, number, **said, chunks=rows.payloads.ranges(row.payload))
    return graph


def to_pandas(schedule: "Schedule", /) -> Any:
    """Return the rows of a schedule as a DataFrame of pandas, in their order.

    Parameters
    ----------
    schedule : Schedule
        The schedule. Of an orbit, the part of node 0's data.

    Returns
    -------
    pandas.DataFrame
        The columns of ``Rows``; ``from`` and ``to``, the labels of src and dst; ``chunks``, how many chunks a row sends.

    Raises
    ------
    TreecastError
        When pandas is missing.
    """
    rows, labels = schedule.rows, np.array(schedule.network.labels(), object)
    return data_frame({**rows.columns(), "from": labels[rows.src], "to": labels[rows.dst], "chunks": rows.chunks_sent})
