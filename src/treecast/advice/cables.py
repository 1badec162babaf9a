"""Which cables to plug between machines without a switch: the graph on which a collective takes the least time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from treecast.advice.networks import Design, Requirements
from treecast.advice.saturated import saturated
from treecast.description import Description, Table, count_of, describe
from treecast.errors import NetworkError, PlanError
from treecast.networks import Network, families
from treecast.networks import network as find_network
from treecast.plans.amounts import Amount
from treecast.progress import report
from treecast.schedule.costs import Costs
from treecast.schedule.sizes import spell_total
from treecast.units import spell_seconds

_EXHAUSTIVE = 10  # nodes up to which every graph is looked at
_MOST_GRAPHS = 1 << 14  # finished or not, while they are listed
_PLANNED = 12  # graphs on which plans are made, those with the least bounds first
_RANDOM = 8  # regular graphs drawn by chance, where not all are looked at
# Equal but for the rounding of floats.
_SAME = 1 + 1e-9


@dataclass(frozen=True)
class Cabling:
    """A graph without switches, the plan on it, and how many dead nodes, or dead cables, leave the others joined."""

    where: Network
    option: Design
    dead_nodes: int
    dead_cables: int

    @property
    def cables(self) -> list[tuple[str, int, str, int]]:
        """Each cable: a node and its port, counted from 1, and those of its other end."""
        ends = list[tuple[str, int, str, int]]()
        for u in range(self.where.nodes):
            for port in range(self.where.degree_at(u)):
                v = int(self.where.neighbor(u, port))
                # Each cable once, from its lower end.
                if u < v:
                    cable = int(self.where.cable(u, port))
                    back = int(self.where.port_of_cable(v, u, cable))
                    ends.append((self.where.label(u), port + 1, self.where.label(v), back + 1))
        return ends


@dataclass(frozen=True)
class Switchless:
    """The best graphs, the best first, of how many and of which class; and the share by which another might be faster."""

    kind: str
    amount: Amount
    ports: int
    wirings: tuple[Cabling, ...]
    looked_at: int
    every: str
    sooner: float

    @property
    def proved(self) -> bool:
        """Whether no other graph can do it sooner."""
        return bool(self.every) and self.sooner <= 0


def switchless(kind: str, nodes: int, ports: int, amount: Amount, costs: Costs, *, survive: int = 0) -> Switchless:
    """Return the graphs of so many nodes, each with so many ports, on which a collective takes the least time.

    Up to 10 nodes every graph is looked at, as far as they are not too many; on more, those of the families, and some by
    chance. Those with the least lower bounds are planned. If the best plan takes no longer than the bound of all others, it
    is proved to be the best. ``survive``: how many faults must do no harm. Raises PlanError when there is no such graph, or
    no plan on one.

    >>> found = switchless("allgather", 5, 2, Amount(1 << 20), Costs.of("1us", "12.5GB/s"))
    >>> found.proved, found.wirings[0].cables[0]
    (True, ('m1', 1, 'm2', 1))
    """
    if not 2 <= nodes <= 64 or not 1 <= ports <= 16:
        raise PlanError(f"{nodes} nodes of {ports} ports will not do: write 2 to 64 nodes of 1 to 16 ports")
    # 1. A lower bound for each graph.
    graphs, every = _graphs(nodes, ports)
    asked = Requirements(kind, "all-port", survive, amount, costs, ports, "link")
    bounded = list[tuple[float, int, Network]]()
    why = ""
    for place, where in enumerate(graphs):
        report(place, len(graphs), "bounds")
        try:
            bound = asked.search(where)[0].bound
        except (NetworkError, PlanError) as error:
            why = why or str(error)
            continue
        bounded.append((bound.seconds if bound else 0.0, place, where))
    # 2. Plans, the least bound first. When the best plan meets the next bound, no other graph can be better.
    bounded.sort(key=lambda each: each[:2])
    found, least = list[Cabling](), float("inf")
    for bound, place, where in bounded:
        if found and (least <= bound * _SAME or len(found) >= _PLANNED):
            break
        report(len(found), _PLANNED, "plans")
        option = asked.option(f"graph {place + 1}", where)
        if option is not None:
            found.append(Cabling(where, option, *_survives(where)))
            least = min(least, option.seconds)
    if not found:
        raise PlanError(
            f"no graph of {nodes} nodes with {ports} ports has a plan of {kind} that survives "
            f"{count_of(survive, 'fault')}" + (f": {why}" if why else "")
        )
    # 3. How much sooner some other graph might be, by its bound.
    found.sort(key=lambda each: (each.option.seconds, -each.dead_nodes, -each.dead_cables))
    others = [bound for bound, _, where in bounded if where is not found[0].where]
    sooner = max(0.0, 1 - min(others, default=least) * _SAME / least)
    return Switchless(kind, amount, ports, tuple(found), len(bounded), every, sooner)


def _graphs(nodes: int, ports: int) -> tuple[list[Network], str]:
    """Return the graphs to look at, and the class of which they are all; an empty text where they are a sample."""
    if nodes <= _EXHAUSTIVE:
        for parallel, every in ((True, "graphs"), (False, "graphs without parallel cables")):
            try:
                tables = saturated(nodes, ports, parallel, _MOST_GRAPHS)
            except OverflowError:
                continue
            if tables:
                return [_named(table) for table in tables], every
    return list(_some(nodes, ports)), ""


def _named(table: tuple[tuple[int, ...], ...]) -> Network:
    names = [f"m{u + 1}" for u in range(len(table))]
    return find_network(
        {name: {names[v]: many for v, many in enumerate(row) if many} for name, row in zip(names, table, strict=True)}
    )


def _some(nodes: int, ports: int) -> Iterator[Network]:
    """Yield the members of families that fit, with all cables that their ports allow, and regular graphs by chance."""
    import networkx

    nx: Any = networkx  # its functions have no types
    for family in families().values():
        for spelling in family.with_ranks(nodes):
            where = find_network(spelling)
            if where.degree <= ports and where.relays is None and where.both_ways and not where.parallel_arcs:
                # What ports are left double the cables, as far as all links get as many.
                spare = ports // where.degree
                rows = [[spare * where.neighbors(u).count(v) for v in range(nodes)] for u in range(nodes)]
                yield _named(tuple(map(tuple, rows)))
    for seed in range(_RANDOM):
        if nodes * ports % 2 == 0 and ports < nodes:
            graph = nx.random_regular_graph(ports, nodes, seed=seed)
            if nx.is_connected(graph):
                yield _named(tuple(tuple(int(v in graph[u]) for v in range(nodes)) for u in range(nodes)))


def _survives(where: Network) -> tuple[int, int]:
    """Return how many dead nodes, and how many dead cables, leave the others joined."""
    import networkx

    nx: Any = networkx  # its functions have no types
    graph = nx.Graph()
    for u in range(where.nodes):
        for v in where.neighbors(u):
            graph.add_edge(u, v, weight=where.neighbors(u).count(v))
    cut, nodes = nx.stoer_wagner(graph)[0], nx.node_connectivity(graph)
    return max(0, int(nodes) - 1), int(cut) - 1


def cables(found: Switchless) -> Description:
    """Return the cables of the best graph, a line each."""
    every = found.wirings[0].cables
    lines = [f"{u} port {port} - {v} port {other}" for u, port, v, other in every]
    return Description({"cables": every}, notes=lines)


@describe.register
def _(found: Switchless) -> Description:
    # 1. A row for each graph.
    best = found.wirings[0]
    columns = ("", "cables", "degrees", "builder", "chunks", "steps", "time", "bound", "dead nodes", "dead cables")
    rows = [
        (
            "*" if each is best else "",
            len(each.cables),
            f"{min(each.where.degree_at(u) for u in range(each.where.nodes))}-{each.where.degree}",
            each.option.builder,
            each.option.sizes.messages,
            each.option.steps,
            spell_seconds(each.option.seconds),
            spell_seconds(each.option.bound.seconds) if each.option.bound else "",
            each.dead_nodes,
            each.dead_cables,
        )
        for each in found.wirings
    ]
    # 2. What is proved, in words.
    count, said = f"{found.looked_at:,}", f"by their bounds, others could do it {found.sooner:.1%} sooner"
    of = f"all {count} {found.every}" if found.every else f"{count} graphs, not all that there are"
    said = "no other can do it sooner" if found.proved else said
    notes = [f"*: the best of {of}; {said}", "dead nodes, dead cables: how many leave the others joined"]
    notes += ["the cables of the best:", *cables(found).notes]
    # 3. Figures, and the table.
    figures = {
        "collective": found.kind,
        "bytes": found.amount.total,
        "ports": found.ports,
        "looked_at": found.looked_at,
        "proved": found.proved,
        "sooner_at_most": found.sooner,
        "wirings": [
            {
                "cables": each.cables,
                "time": each.option.seconds,
                "steps": each.option.steps,
                "builder": each.option.builder,
                "time_lower_bound": each.option.bound and each.option.bound.seconds,
                "dead_nodes": each.dead_nodes,
                "dead_cables": each.dead_cables,
            }
            for each in found.wirings
        ],
    }
    machines = f"{count_of(best.where.nodes, 'machine')} of {count_of(found.ports, 'port')}"
    title = f"{found.kind} of {spell_total(found.kind, found.amount.total)}, {machines}, no switch"
    return Description(figures, tables=(Table(columns=columns, rows=rows, title=title, of="graphs"),), notes=notes)
