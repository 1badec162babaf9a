"""All ways to join nodes of so many ports without a switch, up to renaming: those to which no cable can be added."""

from collections.abc import Iterator
from functools import cache

Table = tuple[tuple[int, ...], ...]
"""How many cables join each two nodes, row by row."""
State = tuple[Table, tuple[int, ...]]
"""A graph, and those of its nodes that have all their cables."""


def saturated(nodes: int, ports: int, parallel: bool = True, most: int = 1 << 14) -> list[Table]:
    """Return every connected graph of so many nodes, each with at most so many ports, to which no cable can be added.

    Any other connected one is part of one of these, so whatever can be done on it can be done on one of these. At most one node
    has free ports, or else a cable could join two; unless ``parallel`` is false, and two such nodes are joined already. No two
    of the graphs are the same under other names. Raises OverflowError when more than ``most`` graphs, finished or not, are
    looked at.

    >>> len(saturated(6, 2)), len(saturated(6, 3)), len(saturated(6, 3, parallel=False))
    (1, 10, 4)
    """
    start: State = tuple((0,) * nodes for _ in range(nodes)), ()
    ahead, seen, found = list[State]([start]), set[State]([start]), set[Table]()
    while ahead:
        table, done = ahead.pop()
        used = [sum(row) for row in table]
        # the next one has a cable already, so that the graph hangs together
        at = next((u for u in range(nodes) if u not in done and (used[u] or not done)), None)
        if at is None:
            # a node without any cable is joined to none
            if all(used) or nodes == 1:
                found.add(_canonical(table, ())[0])
            continue
        for bigger in _completed(table, at, ports, parallel, done):
            state = _canonical(bigger, (*done, at))
            if state not in seen:
                seen.add(state)
                ahead.append(state)
                if len(seen) > most:
                    raise OverflowError(f"there are more than {most:,} graphs of {nodes} nodes with {ports} ports")
    return sorted(found)


def _completed(table: Table, at: int, ports: int, parallel: bool, done: tuple[int, ...]) -> Iterator[Table]:
    """Yield the graphs in which a node gets all of its cables: as many as it has ports, or fewer if no other lacks one."""
    nodes = len(table)
    used = [sum(row) for row in table]
    free = [
        0 if u == at or u in done else min(ports - used[u], ports if parallel else 1 - table[at][u])
        for u in range(nodes)
    ]
    lacking = [u for u in done if used[u] < ports]
    wanted = ports - used[at]
    # two that lack a cable could be joined, so this one gets all
    least = wanted if parallel and lacking else 0

    def spread(u: int, left: int, chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if u == nodes:
            if wanted - left >= least:
                yield chosen
            return
        for many in range(min(free[u], left) + 1):
            yield from spread(u + 1, left - many, (*chosen, many))

    for chosen in spread(0, wanted, ()):
        rows = [list(row) for row in table]
        for u, many in enumerate(chosen):
            rows[u][at] += many
            rows[at][u] += many
        bigger = tuple(map(tuple, rows))
        if _maximal_so_far(bigger, (*done, at), ports, parallel):
            yield bigger


def _maximal_so_far(table: Table, done: tuple[int, ...], ports: int, parallel: bool) -> bool:
    """Return whether no cable can join two nodes that have all of theirs."""
    lacking = [u for u in done if sum(table[u]) < ports]
    return all(not parallel and table[u][v] for i, u in enumerate(lacking) for v in lacking[i + 1 :])


@cache
def _canonical(table: Table, done: tuple[int, ...]) -> State:
    """Return a graph and some of its nodes under the names that all its copies have."""
    nodes = len(table)
    colours = _refined(table, [int(u in done) for u in range(nodes)])
    best: State | None = None
    ahead = [colours]
    while ahead:
        colours = ahead.pop()
        cells = [[u for u in range(nodes) if colours[u] == colour] for colour in range(max(colours) + 1)]
        cell = next((some for some in cells if len(some) > 1), None)
        if cell is None:
            order = sorted(range(nodes), key=colours.__getitem__)
            place = {u: i for i, u in enumerate(order)}
            named = tuple(tuple(table[u][v] for v in order) for u in order), tuple(sorted(place[u] for u in done))
            best = named if best is None else min(best, named)
            continue
        for u in _apart(table, cell):
            # u alone gets a colour of its own, just before that of its cell
            ahead.append(_refined(table, [2 * colour - (v == u) for v, colour in enumerate(colours)]))
    return best or (table, done)


def _apart(table: Table, cell: list[int]) -> list[int]:
    """Return one of each nodes of a cell that change places without a trace."""
    found = list[int]()
    for u in cell:
        others = [w for w in range(len(table)) if w != u]
        if not any(all(table[u][w] == table[v][w] for w in others if w != v) for v in found):
            found.append(u)
    return found


def _refined(table: Table, colours: list[int]) -> list[int]:
    """Return colours, from 0, that tell nodes apart by those around them, too."""
    while True:
        seen = [
            (colour, tuple(sorted((colours[v], many) for v, many in enumerate(row) if many)))
            for colour, row in zip(colours, table, strict=True)
        ]
        numbers = {key: number for number, key in enumerate(sorted(set(seen)))}
        finer = [numbers[key] for key in seen]
        if len(numbers) == len(set(colours)):
            return finer
        colours = finer
