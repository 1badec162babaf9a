"""Machines that one can buy, by name: what joins their GPUs or chips, by public figures.

A new machine is a function under ``@known``, which returns its nodes and links.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

from treecast.errors import NetworkError, did_you_mean
from treecast.networks.family import family
from treecast.networks.reading.machine import Complaint, Link, Machine, Node, grid
from treecast.networks.wired import Wired, network_of

Make = Callable[[], list[Link]]


@dataclass(frozen=True)
class Known:
    """A machine: what it is, where its figures stand, what kind its ranks are, and what makes its links."""

    what: str
    source: str
    kind: str
    make: Make


_KNOWN: dict[str, Known] = {}


def known(name: str, *, what: str, source: str, kind: str = "gpu") -> Callable[[Make], Make]:
    """Register the function below as what joins a machine's ranks; nodes called ``switch…`` are relays."""

    def register(make: Make) -> Make:
        _KNOWN[name] = Known(what, source, kind, make)
        return make

    return register


def machines() -> dict[str, Known]:
    """Return every machine that is known by name."""
    return dict(sorted(_KNOWN.items()))


@family(
    "machine", "NAME", example="machine:mi300x", what="a machine that one can buy: mi250x, dgx-h100, gb200-nvl72, …"
)
def machine(name: str) -> Wired:
    """Return the network of a machine that is known by name."""
    found = _KNOWN.get(name.lower())
    if found is None:
        hint = did_you_mean(name.lower(), _KNOWN) or f": one of {', '.join(machines())}"
        raise NetworkError(f"'machine:{name}' is no network{hint}")
    links = found.make()
    ends = dict.fromkeys(end for link in links for end in (link.u, link.v))
    relay = "switch" if found.kind == "host" else "nvswitch"
    nodes = {end: Node(relay if end.startswith("switch") else found.kind) for end in ends}
    figures = [Complaint(f"by public figures: {found.source}")]
    return network_of(Machine(found.what, nodes, links, complaints=figures), spec=f"machine:{name.lower()}")


def _switched(gpus: int, rate: float, *cables: int) -> list[Link]:
    """Return the links of GPUs that have so many cables to each of some switches."""
    return [Link(f"gpu{gpu}", f"switch{place}", rate, many) for gpu in range(gpus) for place, many in enumerate(cables)]


def _mesh(rows: int, columns: int, rate: float, cables: int) -> list[Link]:
    """Return the links of a grid of chips, row by row."""
    names = [f"chip{place}" for place in range(rows * columns)]
    return [*grid(names, [rows, columns], [False, False], rate, cables)]


@known(
    "mi250x",
    what="4 AMD MI250X, 8 dies with Infinity Fabric of 50 GB/s a link each way",
    source="Frontier User Guide, OLCF; LUMI documentation, CSC: the figure of a node",
)
def mi250x() -> list[Link]:
    """Return the dies of a node of Frontier or LUMI: four links within a package, one or two between dies of others."""
    between = {(0, 2): 1, (0, 6): 2, (1, 3): 1, (1, 5): 1, (2, 4): 2, (3, 7): 1, (4, 6): 1, (5, 7): 1}
    pairs = {**{(die, die + 1): 4 for die in range(0, 8, 2)}, **between}
    return [Link(f"gpu{u}", f"gpu{v}", 400.0, many) for (u, v), many in pairs.items()]


@known(
    "mi300x",
    what="8 AMD MI300X, each joined to each by Infinity Fabric of 64 GB/s each way",
    source="AMD Instinct MI300X data sheet",
)
def mi300x() -> list[Link]:
    """Return eight GPUs, each joined to each."""
    return [Link(f"gpu{u}", f"gpu{v}", 512.0) for u, v in combinations(range(8), 2)]


@known(
    "dgx-1",
    what="DGX-1 with 8 V100, six NVLinks of 25 GB/s each way a GPU, in a hybrid cube mesh",
    source="NVIDIA DGX-1 with Tesla V100 system architecture, white paper WP-08437",
)
def dgx_1() -> list[Link]:
    """Return two quads of GPUs, joined by one or two links a pair."""
    quad = {(0, 1): 1, (0, 2): 1, (0, 3): 2, (1, 2): 2, (1, 3): 1, (2, 3): 2}
    pairs = quad | {(u + 4, v + 4): many for (u, v), many in quad.items()}
    pairs |= {(0, 4): 2, (1, 5): 2, (2, 6): 1, (3, 7): 1}
    return [Link(f"gpu{u}", f"gpu{v}", 200.0, many) for (u, v), many in pairs.items()]


@known(
    "dgx-a100",
    what="DGX A100: 8 GPUs, two NVLinks of 25 GB/s each way to each of six NVSwitches",
    source="NVIDIA DGX A100 system architecture, white paper WP-10083",
)
def dgx_a100() -> list[Link]:
    """Return eight GPUs on six switches."""
    return _switched(8, 200.0, *[2] * 6)


@known(
    "dgx-h100",
    what="DGX H100: 8 GPUs, 18 NVLinks of 25 GB/s each way to four NVSwitches, 4 or 5 to each",
    source="NVIDIA DGX H100/H200 user guide",
)
def dgx_h100() -> list[Link]:
    """Return eight GPUs on four switches."""
    return _switched(8, 200.0, 5, 4, 4, 5)


@known(
    "gb200-nvl72",
    what="GB200 NVL72: 72 GPUs, an NVLink of 50 GB/s each way to each of 18 NVSwitches",
    source="NVIDIA GB200 NVL72 product page and NVLink data sheet",
)
def gb200_nvl72() -> list[Link]:
    """Return the GPUs of a rack on the switches of its nine trays."""
    return _switched(72, 400.0, *[1] * 18)


@known(
    "tt-galaxy",
    what="Tenstorrent Galaxy: 32 Wormhole chips in a mesh of 4 x 8, four cables of 100 Gbit/s a link",
    source="Tenstorrent, Galaxy Wormhole server, documentation",
    kind="chip",
)
def tt_galaxy() -> list[Link]:
    """Return the mesh of a Galaxy."""
    return _mesh(4, 8, 100.0, 4)


@known(
    "tt-loudbox",
    what="Tenstorrent T3000: 8 Wormhole chips in a mesh of 2 x 4, two cables of 100 Gbit/s a link",
    source="Tenstorrent, TT-LoudBox and TT-QuietBox, documentation",
    kind="chip",
)
def tt_loudbox() -> list[Link]:
    """Return the mesh of four cards of two chips."""
    return _mesh(2, 4, 100.0, 2)


@known(
    "frontier",
    what="Frontier: 74 groups of 128 hosts with four cards, and of 32 Slingshot switches; 200 Gbit/s a link",
    source="Atchley et al., Frontier: Exploring Exascale, SC23; assumed, since no figure says it: a host hangs on four "
    "neighbouring switches, and the links of a group to others are spread evenly over its switches",
    kind="host",
)
def frontier() -> list[Link]:
    """Return a dragonfly: all switches of a group are joined, and all groups."""
    groups, switches, between = range(74), range(32), 4
    names = [[f"switch{group}.{switch}" for switch in switches] for group in groups]
    links = [
        Link(f"host{group}.{host}", names[group][host // 16 * 4 + card], 200.0)
        for group in groups
        for host in range(128)
        for card in range(4)
    ]
    links += [Link(u, v, 200.0) for group in names for u, v in combinations(group, 2)]
    for (g, one), (h, other) in combinations(enumerate(names), 2):
        ends = (between * (h - g - 1), between * (len(groups) - 1 - h + g))
        links += [Link(one[(ends[0] + k) % 32], other[(ends[1] + k) % 32], 200.0) for k in range(between)]
    return links
