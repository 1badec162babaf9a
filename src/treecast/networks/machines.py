"""Machines that one can buy, by name: the links of their GPUs or chips, by public figures.

A new machine is an entry in the table at the end: nodes called ``switch…`` are relays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product

from treecast.errors import NetworkError, did_you_mean
from treecast.networks.family import family
from treecast.networks.reading.machine import Complaint, Link, Machine, Node, grid
from treecast.networks.wired import MOST_NODES, Wired

Pairs = dict[tuple[int, int], int]
"""How many cables join two nodes, by their numbers."""


@dataclass(frozen=True)
class Known:
    """A machine: its description, the source of its figures, the function that makes its links, and the kind of its ranks.

    ``card``: the rate of the network card that each GPU has, in Gbit/s; 0 where not each has one. ``adds``: whether its switches
    add, as those with NVLS do.
    """

    summary: str
    source: str
    make: Callable[[], list[Link]]
    kind: str = "gpu"
    card: float = 0.0
    adds: bool = False

    def nodes(self, links: list[Link], relay: str) -> dict[str, Node]:
        """Return its nodes, by the ends of its links."""
        ends = dict.fromkeys(end for link in links for end in (link.u, link.v))  # in order, each once
        return {end: Node(relay, adds=self.adds) if end.startswith("switch") else Node(self.kind) for end in ends}


def machines() -> dict[str, Known]:
    """Return every machine that is known by name."""
    return dict(sorted(_KNOWN.items()))


@family(
    "machine", "NAME", example="machine:mi300x", summary="a machine that one can buy: mi250x, dgx-h100, gb200-nvl72, …"
)
def machine(name: str) -> Wired:
    """Return the network of a machine that is known by name."""
    found = _KNOWN.get(name.lower())
    if found is None:
        hint = did_you_mean(name.lower(), _KNOWN) or f": one of {', '.join(machines())}"
        raise NetworkError(f"'machine:{name}' is no network{hint}")
    links = found.make()
    nodes = found.nodes(links, "switch" if found.kind == "host" else "nvswitch")
    figures = [Complaint(f"by public figures: {found.source}")]
    return Wired(Machine(found.summary, nodes, links, complaints=figures), spec=f"machine:{name.lower()}")


@family(
    "rails",
    "NAME,BLOCKS,HOSTS[,SPINES]",
    example="rails:dgx-h100,2,4",
    summary="blocks of machines; card r of each is on leaf switch r of its block, which SPINES spines join to leaf r of others",
)
def rails(text: str) -> Wired:
    """Return the network of machines whose cards are on switches of their own, one rail for each card.

    A machine's GPU r has a card on leaf switch r of its block. With several blocks, each leaf of rail r has a cable of the card's
    rate to each spine of that rail, of which there are as many as hosts, unless it is said.
    """
    # 1. The numbers of a spelling.
    name, _, counts = text.lower().partition(",")
    # numbers of any length would take for ever
    numbers = [int(each) for each in counts.split(",") if each.isascii() and each.isdigit() and len(each) < 7]
    if len(numbers) != counts.count(",") + 1 or len(numbers) not in (2, 3) or min(numbers) < 1:
        raise NetworkError(
            f"'rails:{text}' is no network: write rails:NAME,BLOCKS,HOSTS[,SPINES], as in rails:dgx-h100,2,4"
        )
    found = _KNOWN.get(name)
    if found is None or not found.card:
        having = [each for each, known in machines().items() if known.card]
        raise NetworkError(f"'rails:{text}' is no network: a card for each GPU is known of {', '.join(having)}")
    # 2. One machine: its GPUs and what joins them.
    # three numbers, or two and as many spines as hosts
    blocks, hosts, spines = (*numbers, numbers[1])[:3]
    inside = found.make()
    own = found.nodes(inside, "nvswitch")
    gpus = [end for end, node in own.items() if node.kind == found.kind]
    # counted before anything is made
    if (count := blocks * (hosts * len(own) + len(gpus)) + (blocks > 1) * len(gpus) * spines) > MOST_NODES:
        raise NetworkError(f"rails:{text} has {count:,} nodes: the most are {MOST_NODES:,}")
    # 3. All machines, each GPU on the leaf of its rail.
    nodes, links = dict[str, Node](), list[Link]()
    for block, host in product(range(blocks), range(hosts)):
        at = f"{block}.{host}."
        nodes |= {at + end: node for end, node in own.items()}
        links += [Link(at + link.u, at + link.v, link.rate, link.cables) for link in inside]
        links += [Link(at + gpu, f"leaf{block}.{rail}", found.card) for rail, gpu in enumerate(gpus)]
    # 4. Leaves, and the spines of each rail above them.
    for block, rail in product(range(blocks), range(len(gpus))):
        nodes[f"leaf{block}.{rail}"] = Node("switch")
        if blocks > 1:
            links += [Link(f"leaf{block}.{rail}", f"spine{rail}.{spine}", found.card) for spine in range(spines)]
    if blocks > 1:
        nodes |= {f"spine{rail}.{spine}": Node("switch") for rail in range(len(gpus)) for spine in range(spines)}
    figures = [Complaint(f"by public figures: {found.source}")]
    return Wired(Machine(f"rails of {found.summary}", nodes, links, complaints=figures), spec=f"rails:{text.lower()}")


def _joined(pairs: Pairs, rate: float) -> list[Link]:
    """Return the links of GPUs."""
    return [Link(f"gpu{u}", f"gpu{v}", rate, many) for (u, v), many in pairs.items()]


def _switched(gpus: int, rate: float, *cables: int) -> list[Link]:
    """Return the links of GPUs that have so many cables to each of some switches."""
    return [Link(f"gpu{gpu}", f"switch{place}", rate, many) for gpu in range(gpus) for place, many in enumerate(cables)]


def _mesh(rows: int, columns: int, rate: float, cables: int) -> list[Link]:
    """Return the links of a grid of chips, row by row."""
    names = [f"chip{place}" for place in range(rows * columns)]
    return [*grid(names, [rows, columns], [False, False], rate, cables)]


_BETWEEN_DIES: Pairs = {(0, 2): 1, (0, 6): 2, (1, 3): 1, (1, 5): 1, (2, 4): 2, (3, 7): 1, (4, 6): 1, (5, 7): 1}
_QUAD: Pairs = {(0, 1): 1, (0, 2): 1, (0, 3): 2, (1, 2): 2, (1, 3): 1, (2, 3): 2}
_TWO_QUADS = (
    _QUAD | {(u + 4, v + 4): many for (u, v), many in _QUAD.items()} | {(0, 4): 2, (1, 5): 2, (2, 6): 1, (3, 7): 1}
)


def _frontier() -> list[Link]:
    """Return a dragonfly: all switches of a group are joined, and all groups."""
    groups, switches, between = range(74), range(32), 4
    names = [[f"switch{group}.{switch}" for switch in switches] for group in groups]
    links = [
        # sixteen hosts on four neighbouring switches, a card on each
        Link(f"host{group}.{host}", names[group][host // 16 * 4 + card], 200.0)
        for group in groups
        for host in range(128)
        for card in range(4)
    ]
    links += [Link(u, v, 200.0) for group in names for u, v in combinations(group, 2)]
    for (g, one), (h, other) in combinations(enumerate(names), 2):
        # the k-th cable between two groups goes to the next switch of either
        ends = (between * (h - g - 1), between * (len(groups) - 1 - h + g))
        links += [Link(one[(ends[0] + k) % 32], other[(ends[1] + k) % 32], 200.0) for k in range(between)]
    return links


_KNOWN = {
    "mi250x": Known(
        "4 AMD MI250X, 8 dies with Infinity Fabric of 50 GB/s a link each way",
        "Frontier User Guide, OLCF; LUMI documentation, CSC: the figure of a node",
        lambda: _joined({**{(die, die + 1): 4 for die in range(0, 8, 2)}, **_BETWEEN_DIES}, 400.0),
    ),
    "mi300x": Known(
        "8 AMD MI300X, each joined to each by Infinity Fabric of 64 GB/s each way",
        "AMD Instinct MI300X data sheet",
        lambda: _joined(dict.fromkeys(combinations(range(8), 2), 1), 512.0),
    ),
    "dgx-1": Known(
        "DGX-1 with 8 V100, six NVLinks of 25 GB/s each way a GPU, in a hybrid cube mesh",
        "NVIDIA DGX-1 with Tesla V100 system architecture, white paper WP-08437",
        lambda: _joined(_TWO_QUADS, 200.0),
    ),
    "dgx-a100": Known(
        "DGX A100: 8 GPUs, two NVLinks of 25 GB/s each way to each of six NVSwitches",
        "NVIDIA DGX A100 system architecture, white paper WP-10083",
        lambda: _switched(8, 200.0, *[2] * 6),
        card=200.0,
    ),
    "dgx-h100": Known(
        "DGX H100: 8 GPUs, 18 NVLinks of 25 GB/s each way to four NVSwitches, 4 or 5 to each, which add (NVLS)",
        "NVIDIA DGX H100/H200 user guide",
        lambda: _switched(8, 200.0, 5, 4, 4, 5),
        card=400.0,
        adds=True,
    ),
    "gb200-nvl72": Known(
        "GB200 NVL72: 72 GPUs, an NVLink of 50 GB/s each way to each of 18 NVSwitches, which add (NVLS)",
        "NVIDIA GB200 NVL72 product page and NVLink data sheet",
        lambda: _switched(72, 400.0, *[1] * 18),
        card=400.0,
        adds=True,
    ),
    "tt-galaxy": Known(
        "Tenstorrent Galaxy: 32 Wormhole chips in a mesh of 4 x 8, four cables of 100 Gbit/s a link",
        "Tenstorrent, Galaxy Wormhole server, documentation",
        lambda: _mesh(4, 8, 100.0, 4),
        kind="chip",
    ),
    "tt-loudbox": Known(
        "Tenstorrent T3000: 8 Wormhole chips in a mesh of 2 x 4, two cables of 100 Gbit/s a link",
        "Tenstorrent, TT-LoudBox and TT-QuietBox, documentation",
        lambda: _mesh(2, 4, 100.0, 2),
        kind="chip",
    ),
    "frontier": Known(
        "Frontier: 74 groups of 128 hosts with four cards, and of 32 Slingshot switches; 200 Gbit/s a link",
        "Atchley et al., Frontier: Exploring Exascale, SC23; assumed, since no figure says it: a host hangs on four "
        "neighbouring switches, and the links of a group to others are spread evenly over its switches",
        _frontier,
        kind="host",
    ),
}
