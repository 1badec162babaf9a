"""A machine as a file describes it: nodes of some kind, links with a rate, facts, and complaints."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from treecast.description import Described, Description, count_of, describe, list_few

RANKS = frozenset({"gpu", "chip", "hca", "host"})
"""The kinds of nodes that take part; all others are relays."""
_CALLED = {
    "gpu": "GPU",
    "npu": "NPU",
    "hca": "HCA",
    "nvswitch": "NVSwitch",
    "pci": "PCIe bridge",
    "cpu": "NUMA node",
    "nic": "NIC",
}
Sort = Literal["degraded", "left out", "remark"]


class Node(NamedTuple):
    """A node: its kind, label, host that it is of, other names, where it is drawn, and of a relay whether it adds."""

    kind: str
    label: str = ""
    host: str = ""
    also: tuple[str, ...] = ()
    at: tuple[float, float] | None = None
    adds: bool = False


class Link(NamedTuple):
    """Cables between two nodes: the rate of one each way, in Gbit/s (0: the file says none), and their name in the file.

    ``ports``: the names of the ports at both ends of one cable, where the file says them. Of no cables it is a word of the
    file of which people must say how many it stands for. ``latency``: seconds until what is sent arrives, None where the file
    does not say.
    """

    u: str
    v: str
    rate: float = 0.0
    cables: int = 1
    one_way: bool = False
    called: str = ""
    ports: tuple[str, ...] = ()
    latency: float | None = None


class Complaint(NamedTuple):
    """A remark on parts that are degraded or left out, or that people should know of; and the nodes concerned."""

    text: str
    nodes: tuple[str, ...] = ()
    sort: Sort = "remark"


@dataclass(frozen=True, eq=False)
class Machine(Described):
    """A machine, as a file describes it.

    Parameters
    ----------
    format : str
        The tool that printed the file.
    nodes : mapping from str to Node
        The nodes, by names of the file: GUIDs, bus numbers.
    links : sequence of Link
        Their cables.
    facts : mapping from str to values
        The figures of the file, whatever is made of it.
    complaints : sequence of Complaint
        The parts that are degraded or left out.
    counted : bool
        Whether the file says capacities, not rates: then a cable is a unit.
    named : mapping from str to Machine
        Machines of the same file that are not joined to this one, and have names.

    Examples
    --------
    >>> from treecast.networks.reading.machine import Link, Machine, Node
    >>> pair = Machine("example", {"a": Node("gpu"), "b": Node("gpu")}, [Link("a", "b", 400.0, 2)])
    >>> print(pair)
    machine  example: 2 GPUs
    cables   2 of 400 Gbit/s
    """

    format: str
    nodes: Mapping[str, Node]
    links: Sequence[Link]
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    complaints: Sequence[Complaint] = ()
    counted: bool = False
    named: Mapping[str, "Machine"] = field(default_factory=dict[str, "Machine"])

    def __repr__(self) -> str:
        return f"<machine: {spell_nodes(self)}>"


@dataclass
class Draft:
    """A machine as it is read: its nodes, links and complaints so far."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    links: list[Link] = field(default_factory=list[Link])
    complaints: list[Complaint] = field(default_factory=list[Complaint])

    def complain(
        self, some: Sequence[str], noun: str, words: str, sort: Sort = "remark", nodes: Sequence[str] | None = None
    ) -> None:
        """Add a complaint, if there are some things that it is about: their number, words, and the first few of them."""
        if some:
            text = f"{count_of(len(some), noun)} {words}: {list_few(some, 4)}"
            self.complaints.append(Complaint(text, tuple(some if nodes is None else nodes), sort))

    def remark(self, text: str, *nodes: str, sort: Sort = "remark") -> None:
        """Add a complaint in these words, once."""
        if all(each.text != text for each in self.complaints):
            self.complaints.append(Complaint(text, nodes, sort))

    def machine(self, kind: str, facts: Mapping[str, Any], counted: bool = False) -> Machine:
        """Return the machine when all is read."""
        return Machine(kind, self.nodes, self.links, facts, self.complaints, counted)


def grid(
    names: Sequence[str], sides: Sequence[int], rings: Sequence[bool], rate: float = 0.0, cables: int = 1
) -> Iterator[Link]:
    """Yield the links of a grid, whose last side is numbered fastest, and of which some sides are rings.

    >>> [(link.u, link.v) for link in grid("abcdef", [2, 3], [True, True])]
    [('a', 'd'), ('b', 'e'), ('c', 'f'), ('a', 'b'), ('b', 'c'), ('c', 'a'), ('d', 'e'), ('e', 'f'), ('f', 'd')]
    """
    step = len(names)
    for side, ring in zip(sides, rings, strict=True) if names else ():
        # the step between neighbours along this side
        step //= side
        for place, name in enumerate(names):
            at = place // step % side
            if at + 1 < side or (ring and side > 2):  # a ring of two has one link
                # from the last back to the first
                yield Link(name, names[place + step * ((at + 1) % side - at)], rate, cables)


def is_rank(node: Node) -> bool:
    """Return whether a node takes part."""
    return node.kind in RANKS


def called(machine: Machine, name: str) -> str:
    """Return the label of a node, or its name."""
    return machine.nodes[name].label or name


def spell_nodes(machine: Machine) -> str:
    """Return the tool that printed a machine's file, and how many nodes of each kind there are."""
    kinds = Counter(
        "npu" if node.kind == "gpu" and name.lower().startswith("npu") else node.kind
        for name, node in machine.nodes.items()
    )
    hosts = {node.host for node in machine.nodes.values() if node.kind == "hca" and node.host}
    words = [
        _count(kind, number) + (f" of {count_of(len(hosts), 'host')}" if kind == "hca" and hosts else "")
        for kind, number in kinds.items()
    ]
    return f"{machine.format}: " + (", ".join(words) or "no node")


def _count(kind: str, number: int) -> str:
    noun = _CALLED.get(kind, kind)
    return f"{number:,} {noun}es" if number != 1 and noun.lower().endswith("switch") else count_of(number, noun)


def _spell_cables(machine: Machine) -> str:
    many = Counter[str]()
    for link in machine.links:
        many[link.called or (f"{link.rate:,.6g} Gbit/s" if link.rate else "")] += link.cables or 1
    return ", ".join(f"{number:,}" + (f" of {word}" if word else "") for word, number in many.most_common(6)) or "none"


@describe.register
def _(machine: Machine) -> Description:
    figures = {
        "machine": machine.format,
        "kinds": dict(Counter(node.kind for node in machine.nodes.values())),
        "cables": sum(link.cables for link in machine.links),
        "facts": machine.facts,
        "complaints": [each._asdict() for each in machine.complaints],
        "named": list(machine.named),
    }
    lines: dict[str, object] = {"machine": spell_nodes(machine), "cables": _spell_cables(machine)}
    for sort in ("degraded", "left out", "remark"):
        if some := [each.text for each in machine.complaints if each.sort == sort]:
            lines[sort] = some
    return Description(figures, lines)
