"""A graph in the header of a plan: its nodes, links and relays, so that the plan is judged on the graph that it was planned on.

A network that a family makes is found again by its spelling. A graph lived in memory, or in a file that may have changed
when the plan is read. So its plan holds it.
"""

import re

import numpy as np

from treecast.errors import FormatError
from treecast.networks import Graph, Network, families, network
from treecast.networks.core import Ints
from treecast.networks.past_relays import PAST, whole_of

NODES, LINKS, RELAYS = WORDS = ("nodes", "links", "relays")
"""The words of a header that hold a graph; ``links`` and ``relays`` may be left out."""
ADDS = "relays-add"
"""The word that says which relays add: yes, no, or their numbers."""
_LINK = re.compile(r"([0-9]{1,10})([->])([0-9]{1,10})(?:\*([0-9]{1,10}))?")
_NUMBER = re.compile("[0-9]{1,10}")
_MOST_ARCS = 2**22  # a small file is not to become a huge network
_MOST_CELLS = 2**28  # of a table of nodes and ports: 2 GiB
_MOST_PORTS = 2**15  # as many as a column of ports can tell apart


def words_of(graph: Network) -> dict[str, str]:
    """Return the words that hold a graph; none for a network that its spelling finds again. Past relays: of the whole.

    Raises FormatError when the network is neither, or has too many arcs.

    >>> words_of(network([[0, 2, 0], [1, 0, 0], [0, 1, 0]]))
    {'nodes': '0 1 2', 'links': '0-1 0>1 2>1'}
    """
    graph = whole_of(graph)
    if not graph.stored:
        if not graph.spelled:
            raise FormatError(
                f"{graph.spec} cannot be found again by its name: plan on a graph or on a family's member"
            )
        return {}
    _check_size(graph)
    first, target, _ = graph.arc_lists()
    nodes = graph.nodes
    key, count = np.unique(np.repeat(np.arange(nodes), np.diff(first)) * nodes + target, return_counts=True)
    u, v = np.divmod(key, nodes)
    # where the pair back stands
    there = np.minimum(np.searchsorted(key, v * nodes + u), max(len(key) - 1, 0))
    # cables that both ways have are links; the rest leads one way
    both = np.minimum(count, np.where(key[there] == v * nodes + u, count[there], 0))
    links = _spell(u, "-", v, np.where(u < v, both, 0)) + _spell(u, ">", v, count - both)
    words = {NODES: " ".join(graph.labels(np.arange(nodes)))}
    words |= {LINKS: " ".join(links)} if links else {}
    if graph.relays is not None:
        words[RELAYS] = " ".join(graph.labels(np.flatnonzero(graph.relays)))
    if graph.adds is not None:
        words[ADDS] = adds_of(graph)
    return words


def adds_of(network: Network) -> str:
    """Return which relays of a network add, as a header says it: all, none, or their numbers."""
    if network.adds is None:
        return "no"
    return "yes" if bool(network.adds[network.relays].all()) else " ".join(map(str, np.flatnonzero(network.adds)))


def network_of(header: dict[str, str]) -> Network:
    """Return the network of a header: the graph that it holds, or else the one of its spelling.

    Raises FormatError or NetworkError when there is no such network.
    """
    # 1. A spelling alone.
    spec, said = header["network"], header.get(ADDS, "no")
    if NODES not in header:
        for word in (LINKS, RELAYS):
            if word in header:
                raise FormatError(f"there are {word} without nodes: a graph needs a line 'nodes …'")
        found = network(spec)
        if ADDS in header and said != adds_of(found):
            raise FormatError(
                f"the relays of {spec[:60]} are said to add: {said[:60]!r}, where it has {adds_of(found)!r}"
            )
        return found
    # 2. A graph that the header holds.
    family = spec.partition(":")[0]
    if family in families() and family != "file":
        raise FormatError(f"{spec[:60]!r} is known by its name: delete the lines {', '.join(WORDS)}")
    names = header[NODES].split()
    numbers = {name: number for number, name in enumerate(names)}
    relays = np.zeros(len(names), np.bool_)
    for name in header.get(RELAYS, "").split():
        if name not in numbers:
            raise FormatError(f"relay {name[:60]!r} is none of the nodes")
        relays[numbers[name]] = True
    found = Graph(spec.removesuffix(PAST), names, _arcs(header.get(LINKS, ""), len(names)), relays)
    _check_size(found)
    # 3. Which relays add, and whether routes go past them.
    if said not in ("yes", "no"):
        numbered = [int(word) for word in said.split() if _NUMBER.fullmatch(word) and int(word) < len(names)]
        if not numbered or len(numbered) < len(said.split()) or not relays[numbered].all():
            raise FormatError(f"which relays add is said by yes, no, or numbers of relays, not by {said[:60]!r}")
        found.adds = found.adding_relays(np.isin(np.arange(len(names)), numbered))
    elif said == "yes":
        found.adds = found.relays
    return found.past_relays() if spec.endswith(PAST) else found


def _check_size(graph: Network) -> None:
    """Raise FormatError when a graph is larger than a plan can hold."""
    cells = graph.nodes * graph.ports
    if graph.arcs > _MOST_ARCS or graph.ports > _MOST_PORTS or cells > _MOST_CELLS:
        raise FormatError(
            f"{graph.spec[:60]} has {graph.arcs:,} arcs, and {graph.ports:,} ports at each of {graph.nodes:,} nodes: "
            f"a plan holds a graph of up to {_MOST_ARCS:,} arcs, {_MOST_PORTS:,} ports, and {_MOST_CELLS:,} of ports x nodes"
        )


def _spell(u: Ints, sign: str, v: Ints, count: Ints) -> list[str]:
    some = count > 0
    columns = (column[some].tolist() for column in (u, v, count))
    return [f"{a}{sign}{b}" + (f"*{c}" if c > 1 else "") for a, b, c in zip(*columns, strict=True)]


def _arcs(text: str, nodes: int) -> Ints:
    """Return the sources and targets of the arcs of some links: int64 (arcs, 2)."""
    rows = list[tuple[int, int, int, bool]]()
    for word in text.split():
        part = _LINK.fullmatch(word)
        if part is None or max(int(part[1]), int(part[3])) >= nodes or part[4] == "0":
            raise FormatError(
                f"{word[:60]!r} is no link: write U-V, U>V one way, U-V*C with C cables, U and V numbers below {nodes:,}"
            )
        rows.append((int(part[1]), int(part[3]), int(part[4] or 1), part[2] == "-"))
    table = np.array(rows, np.int64).reshape(-1, 4)
    if int(table[:, 2].sum()) > _MOST_ARCS:
        raise FormatError(f"there are more than {_MOST_ARCS:,} cables: too many for a plan")
    arcs = np.repeat(table[:, :2], table[:, 2], axis=0)
    return np.concatenate([arcs, arcs[np.repeat(table[:, 3] > 0, table[:, 2]), ::-1]])
