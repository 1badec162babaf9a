"""Networks of files: prints of machines, GraphML, lists of links; the contents of a file become a network here."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.asked import Asked, read_asked
from treecast.description import Description, describe
from treecast.errors import NetworkError, did_you_mean
from treecast.networks.core import Network
from treecast.networks.family import family
from treecast.networks.graph import Graph
from treecast.networks.reading import views
from treecast.networks.reading.degraded import whole
from treecast.networks.reading.joined import joined, together
from treecast.networks.reading.links import Parts, check_parallel
from treecast.networks.reading.machine import Complaint, Link, Machine, Node, called, is_rank, spell_nodes
from treecast.networks.reading.objects import parts_of
from treecast.networks.reading.registry import Files, read_file
from treecast.networks.reading.text import plain

MOST_NODES = 1 << 18
_MOST_SAID = 1 << 18  # arcs of a graph whose parts are named in an error
_MOST_UNITS = 64  # parts of the least rate
_MOST_ALIKE = 64  # times the least rate; cables of one that differ more are arcs with costs of their own


@dataclass(frozen=True)
class Unit:
    """The rate of a capacity of 1, by how much of itself a rate was rounded at most, and the capacities of all rates."""

    rate: float
    worst: float
    capacities: NDArray[np.int64]


def unit_of(rates: ArrayLike, rounding: float = 0.05, unit: float = 0.0) -> Unit:
    """Return the unit in which rates, each above 0 and in any unit, are whole numbers, nearly.

    It is the least rate in the fewest parts, at most 64, in which no rate is rounded by more than ``rounding`` of itself; if
    there are none, in those in which the worst is rounded least. Where ``unit`` is given, it is that.

    >>> found = unit_of([126.0, 192.0, 252.0])
    >>> found.rate, found.capacities.tolist(), f"{found.worst:.1%}"
    (63.0, [2, 3, 4], '1.6%')
    """
    every = np.asarray(rates, np.float64)
    if not every.size:
        return Unit(unit or 1.0, 0.0, np.zeros(0, np.int64))
    some, place = np.unique(every, return_inverse=True)
    best: tuple[float, float, NDArray[np.float64]] | None = None
    for tried in [unit] if unit else [float(some[0]) / parts for parts in range(1, _MOST_UNITS + 1)]:
        counts = np.maximum(1.0, np.rint(some / tried))  # no capacity is 0
        worst = float(np.abs(counts * tried / some - 1).max())
        if best is None or worst < best[1] - 1e-12:  # fewer parts where they are as good
            best = tried, worst, counts
        if worst <= rounding:
            break
    rate, worst, counts = best or (1.0, 0.0, some)
    # bounded, as they are multiplied later
    return Unit(rate, worst, np.minimum(counts, 2.0**40).astype(np.int64)[place])


class Wired(Graph):
    """A network that a file of a machine describes, as it is asked for, spelled ``spec`` or else ``graph:N``.

    Its nodes and links are those of ``view``, made of the ``machine``; ``unit`` says the rate that a capacity of 1 stands
    for, and has the capacities of the view's pairs of nodes, those that are joined both ways first; a rate given for ``unit``,
    in the file's own measure, is that one. Raises ValueError when there
    is no such network, and NetworkError when no node takes part.

    >>> from treecast import network
    >>> where = network("machine:dgx-h100")
    >>> where.rank_count, where.kinds[:2], where.chunk_rate
    (8, ('gpu', 'nvswitch'), 25000000000.0)
    >>> pair = Machine("example", {"a": Node("gpu"), "b": Node("gpu")}, [Link("a", "b", 400.0, 2)])
    >>> Wired(pair).chunk_rate  # 800 Gbit/s, in bytes a second
    100000000000.0
    """

    described: ClassVar[str] = "a machine"

    def __init__(self, machine: Machine, asked: Asked | None = None, spec: str = "", unit: float = 0.0) -> None:
        # 1. What is asked for of the machine.
        asked = asked or Asked()
        self.machine, self.asked, self.view = machine, asked, (view := view_of(machine, asked))
        if len(view.nodes) > MOST_NODES:
            raise ValueError(f"it has {len(view.nodes):,} nodes: the most are {MOST_NODES:,}")
        rated = any(link.rate for link in view.links)
        if asked.unit and not rated:
            raise ValueError(
                "it says no rates, so there is nothing for --unit to divide: leave it out, or name the --gpu"
            )
        # 2. Capacities: rates as whole numbers of a unit. Unlike links have costs instead.
        both, one = views.sums(view)
        unlike = rated and not (unit or asked.unit) and _differ(view, [*both.values(), *one.values()])
        if unlike:
            # cables are counted, and costs tell rates
            both, one = views.sums(replace(view, links=[link._replace(rate=0.0) for link in view.links]))
        usual = 1.0 if machine.counted or unlike else 0.0  # where cables are counted a capacity is a number of cables
        found = unit_of([*both.values(), *one.values()], asked.rounding, unit or asked.unit or usual)
        self.unit = found
        spec = spec or f"graph:{len(view.nodes)}"
        # 3. Nodes are numbered; an arc for each unit of capacity.
        if not any(map(is_rank, view.nodes.values())):
            why = "".join(f"; {each.text}" for each in view.complaints[:1])
            raise NetworkError(f"{spec!r} has no node that takes part: {spell_nodes(view)}{why}")
        number = {name: u for u, name in enumerate(view.nodes)}
        ends = np.array([(number[u], number[v]) for u, v in [*both, *one]], np.int64).reshape(-1, 2)
        check_parallel(int(found.capacities.sum()), len(ends), "give a larger --unit")
        there = np.repeat(ends, found.capacities, axis=0)
        # the pairs that are joined both ways come first
        back = np.repeat(ends[: len(both), ::-1], found.capacities[: len(both)], axis=0)
        relays = [not is_rank(node) for node in view.nodes.values()]
        self._also = {other: u for u, (name, node) in enumerate(view.nodes.items()) for other in (name, *node.also)}
        super().__init__(spec, _labels(view), np.concatenate([there, back]), relays)
        # 4. What else the file says of nodes, for whoever prints or draws them.
        adds = [asked.relays_add == "yes" or (not asked.relays_add and node.adds) for node in view.nodes.values()]
        self.adds = self.adding_relays(adds)
        self.remarks = tuple(each.text.partition(":")[0] for each in view.complaints if each.sort == "degraded")
        self.kinds = tuple(node.kind for node in view.nodes.values())
        places = [node.at for node in view.nodes.values() if node.at is not None]
        self.at = np.array(places) if len(places) == self.nodes else None
        self.chunk_rate = found.rate * 1e9 / 8 if rated and not unlike else None  # gigabits to bytes
        self.notes = tuple(each.text for each in view.complaints if each.sort == "remark")
        # 5. Costs of unlike links, and what users should know.
        if unlike:
            self.own_costs = _costs(view, number)
            self.notes += (
                "its links differ in rate or latency: plans of --bytes know each, and steps count all alike",
            )
        if not rated and found.rate != 1:
            self.notes += (f"an arc stands for {found.rate:,.6g} cables, and a rate is that of them all",)
        self.remedy = "" if self.connected else _remedy(view, self.both_ways)

    def _parse_label(self, text: str) -> int | None:
        found = super()._parse_label(text)
        return self._also.get(text) if found is None else found


def _differ(view: Machine, rates: Sequence[float]) -> bool:
    """Return whether links say latencies, or rates between nodes so unlike that no small number of cables stands for each."""
    return any(link.latency is not None for link in view.links) or max(rates) > _MOST_ALIKE * min(rates)


def _costs(view: Machine, number: Mapping[str, int]) -> dict[tuple[int, int], tuple[float | None, float]]:
    """Return the latency and the bytes a second of the arcs between two nodes; of unlike cables those of the slowest."""
    found = dict[tuple[int, int], tuple[float | None, float]]()
    for link in view.links:
        u, v = number[link.u], number[link.v]
        for arc in [(u, v)] if link.one_way else [(u, v), (v, u)]:
            latency, rate = found.get(arc, (link.latency, link.rate * 1e9 / 8))  # the file has gigabits a second
            known = [each for each in (latency, link.latency) if each is not None]
            found[arc] = max(known, default=None), min(rate, link.rate * 1e9 / 8)  # the slowest of unlike cables
    return found


def _remedy(view: Machine, both_ways: bool) -> str:
    """Return the options that help with a file some of whose ranks do not reach others."""
    found = views.parts(view)
    if len(found) > 1 and len(found[1]) > 1:
        other = _word(called(view, found[1][0]))
        return f"it is in parts, {views.spell_parts(view, found)}: take one, by --part 1 or --part {other}"
    return "" if both_ways else "if these are cables, give --undirected"


def _word(text: str) -> str:
    """Return a text as one word, without control characters."""
    return text if text.isalnum() and len(text) <= 256 else "_".join(plain(text).split())


def _labels(view: Machine) -> list[str]:
    """Return the labels of the nodes, no two alike: a name behind a label that stands twice."""
    said = [_word(node.label) or _word(name) for name, node in view.nodes.items()]
    many = Counter(said)
    both = [
        label if many[label] == 1 else f"{label}.{_word(name)}" for label, name in zip(said, view.nodes, strict=True)
    ]
    if len(set(both)) < len(both):  # a label that is another's with its name
        both = [f"{label}.{u}" for u, label in enumerate(both)]
    return both


def view_of(machine: Machine, asked: Asked) -> Machine:
    """Return the ranks, links or part of a machine that are asked for. Raises ValueError when there is no such part."""
    if asked.part in machine.named:
        machine, asked = machine.named[asked.part], replace(asked, part="")
    machine = views.counted(machine, dict(asked.links_called))
    if asked.whole:
        machine = whole(machine)
    if asked.undirected:
        machine = views.undirected(machine)
    if asked.uplinks > 1:
        relays = {name for name, node in machine.nodes.items() if not is_rank(node)}
        links = [
            link._replace(cables=link.cables * asked.uplinks) if link.u in relays and link.v in relays else link
            for link in machine.links
        ]
        machine = replace(machine, links=links)
    if asked.node:
        machine = joined(machine, [_kind_of(each) for each in asked.node])
        machine = machine if asked.keep_relays else views.contracted(machine)
    else:
        machine = _as_asked(machine, asked)
    return views.part_of(machine, asked.part) if asked.part else machine


def _as_asked(machine: Machine, asked: Asked) -> Machine:
    """Return the ranks and links of a machine that are asked for."""
    kinds = {node.kind for node in machine.nodes.values()}
    if asked.ranks == "gpus" and "gpu" not in kinds:
        raise ValueError("it has no GPUs: --node node.xml says which each host has")
    if asked.gpu and "gpu" not in kinds:
        raise ValueError("it has no GPUs, so --gpu says nothing: leave it out, and say how fast a link is by --rate")
    named = any(node.host for node in machine.nodes.values())
    if "hca" in kinds and (asked.ranks or ("hosts" if named else "hcas")) == "hosts":
        machine = views.by_hosts(machine)
    if kinds.isdisjoint({"gpu", "pci", "cpu", "nic", "nvswitch"}):
        return machine
    # a node: the links of its GPUs alone where they join all, or else without relays that do nothing
    machine = views.rated(machine, asked.gpu, asked.pcie_rate)
    alone = views.gpu_links(machine)
    if asked.links == "gpu" or (not asked.links and views.joins_all(alone)):
        return alone
    machine = views.only(machine, {name for name, node in machine.nodes.items() if node.kind != "nic"})  # they lead out
    return machine if asked.keep_relays else views.contracted(machine)


def _kind_of(text: str) -> tuple[str, Machine]:
    """Return the pattern of hosts and the node of ``PATTERN=FILE``, or of ``FILE``."""
    pattern, equals, path = text.rpartition("=")
    found = _read(path, Asked())
    if isinstance(found, Parts) or not any(node.kind == "gpu" for node in found.nodes.values()):
        raise ValueError(f"{path!r} is no node with GPUs: give the file of NCCL_TOPO_DUMP_FILE")
    return pattern if equals else "*", found


def machine_of(parts: Parts) -> Machine:
    """Return a graph as a machine: nodes are hosts, relays switches, and a parallel arc is a cable."""
    names = parts.names
    said = zip(names, parts.relays.tolist(), parts.adds.tolist(), strict=True)
    kinds = {name: Node("switch" if relay else "host", name, adds=adds) for name, relay, adds in said}
    links = list[Link]()
    pairs, cables_of = np.unique(parts.arcs @ np.array([len(names), 1]), return_counts=True)  # both ends in one number
    many = {divmod(pair, len(names)): cables for pair, cables in zip(pairs.tolist(), cables_of.tolist(), strict=True)}
    for (u, v), cables in many.items():
        back = many.get((v, u), 0)
        if u < v and min(cables, back):  # cables there and back are links; the rest leads one way
            links.append(Link(names[u], names[v], cables=min(cables, back)))
        if cables > back or u == v:
            links.append(Link(names[u], names[v], cables=cables - back or cables, one_way=True))
    remarks = [Complaint(text) for text in parts.remarks]
    return Machine("a graph", kinds, links, parts.facts, remarks, counted=True)


def machine(path: str | PathLike[str], format: str = "") -> Machine:  # noqa: A002
    r"""Return the machine that a file describes: its nodes with their kinds, its links with their rates, facts, and complaints.

    Parameters
    ----------
    path : str or path
        The file, printed by ibnetdiscover, NCCL, ``nvidia-smi topo -m``, Slurm or others, or a graph.
    format : str
        The kind of file, where its first bytes do not tell.

    Returns
    -------
    Machine
        ``print`` shows its parts. ``network`` takes the path, too, and returns the network.

    Raises
    ------
    NetworkError
        When the file cannot be read, or describes no machine.

    Examples
    --------
    >>> import pathlib, tempfile, treecast
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "two.ibnetdiscover"
    >>> _ = file.write_text('Switch 2 "S-1"\n[1] "H-1"[1] # 4xHDR\n[2] "H-2"[1] # 4xHDR\nCa 1 "H-1"\nCa 1 "H-2"')
    >>> print(treecast.machine(file))
    machine   ibnetdiscover: 1 switch, 2 HCAs
    cables    2 of 4xHDR
    degraded  2 cables that only one end reports: port 1 of H-1 and port 1 of S-1, port 1 of H-2 and port 2 of S-1
    """
    found = _read(fspath(path), Asked(format=format))
    return machine_of(found) if isinstance(found, Parts) else found


def _read(path: str, asked: Asked) -> Machine | Parts:
    if not path:
        raise NetworkError("'file:' is no network: write a file's name, as in file:net.graphml")
    several = [path] if "," not in path or Path(path).exists() else path.split(",")  # a comma may be part of a name
    try:
        found = [read_file(each, asked.format) for each in several]
        if isinstance(found[0], Files):
            found = [read_file(each) for each in found[0].beside(path)]
        elif len(found) == 1:
            return found[0]
        return together(found)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if isinstance(error, FileNotFoundError) and (folder := Path(path).parent).is_dir():
            said += did_you_mean(Path(path).name, [each.name for each in folder.iterdir()])
        reason = plain(" ".join(said.split())) or type(error).__name__
        raise NetworkError(f"cannot read the network {path!r}: {reason}") from error


def graph_from(source: Any, spec: str | None = None) -> Graph:
    """Return a graph that is an object in Python as a network: see ``reading.objects.parts_of``.

    It is spelled ``spec`` or else ``graph:N``, which cannot be looked up again. Raises NetworkError when it is no graph, or one
    that does not do as a network (see ``Graph``).
    """
    try:
        parts = parts_of(source)
        if isinstance(parts, Machine):
            return Wired(parts, spec=spec or "")
    except NetworkError:
        raise
    except ValueError as error:
        raise NetworkError(f"this graph is no network: {error}") from None
    return Graph.made(spec or f"graph:{len(parts.names)}", parts)


@family(
    "file",
    "PATH",
    example="file:net.graphml",
    summary="the output of a tool (ibnetdiscover, NCCL's XML, Slurm, …), GraphML, or a list of links",
)
def file(path: str) -> Network:
    """Return the network in a file; settings may stand behind its name, as in ``with part 2``."""
    where, asked = read_asked(path)
    found = _read(where, asked)
    if isinstance(found, Parts):
        if replace(asked, relays_add="") == Asked(format=asked.format):
            adds = {"yes": found.relays, "no": np.zeros(len(found.relays), np.bool_)}.get(asked.relays_add, found.adds)
            graph = Graph.made(f"file:{path}", found._replace(adds=adds))
            if not graph.connected and graph.arcs <= _MOST_SAID:
                graph.remedy = _remedy(machine_of(found), graph.both_ways)
            return graph
        found = machine_of(found)
    try:
        return Wired(found, asked, f"file:{path}")
    except NetworkError:
        raise
    except ValueError as error:
        raise NetworkError(f"cannot read the network {where!r}: {error}") from error


@describe.register
def _(where: Wired) -> Description:
    said = describe(replace(where.machine, complaints=where.view.complaints))
    said = replace(said, lines={name: line for name, line in said.lines.items() if name != "remark"})  # it is a note
    found = describe.dispatch(Network)(where)
    unit: dict[str, object] = {}
    if where.chunk_rate is not None:
        rounded = (
            f"rates are rounded by up to {where.unit.worst:.1%}" if where.unit.worst > 1e-9 else "no rate is rounded"
        )
        unit["unit"] = f"a chunk a step is {where.unit.rate:,.6g} Gbit/s; {rounded}"
    parts = views.parts(where.view)
    if len(parts) > 1:
        unit["parts"] = f"{len(parts):,}: {views.spell_parts(where.view, parts)}"
    figures: Mapping[str, Any] = {
        "unit_gbit": None if where.chunk_rate is None else where.unit.rate,
        "worst_rounding": where.unit.worst,
        "parts": [len(part) for part in parts],
    }
    return found.adding(figures, unit).joined(said, after="network")
