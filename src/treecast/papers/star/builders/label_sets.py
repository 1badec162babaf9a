"""Allgather by label sets on stars and tori: x copies in the fewest steps there can be, where such sets are known or found.

**Stars.** The trees are those of Fragopoulou & Akl as the paper has them: their depth does not count here. For x = 1 there is a
rule: a node whose symbol 1 is at position j receives by T_j, and a node with symbol 1 in front by any tree, in which it is a
leaf. T_j's part with symbol 1 at j leads to the root, so these labels are closed. Necklaces of fewer than n-1 nodes have symbol
1 in front, so nothing hangs below a ragged pair (papers/label_sets.py), and the steps are ⌈M (N - 1) / (n - 1)⌉. For 2 ≤ x
≤ n-2 no rule is known. Sets that a search found come with the package (star_labels.npz); the sets that are read there are
checked to be closed. ``search`` looks for others.

**Tori of two axes**, up to four copies. The trees are those of plans/ways/trees/directions.py. Four copies use all of them, and
every port is busy in every step. For fewer a search finds the label sets (label_search.py), anew each time: that takes much
less than a second for some hundred nodes. It met the bound on all tori tried; that is not proved, and each schedule shows it.

Source: treecast's own.
"""

import zlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from zipfile import BadZipFile

import numpy as np

from treecast.errors import PlanError
from treecast.networks import Network, Star, Torus
from treecast.networks.core import Ints
from treecast.networks.permutations import inverse, symbol_at
from treecast.papers.label_sets import Preferences, Ranges, by_rotation, by_sets, left_over
from treecast.papers.star.builders.label_search import find
from treecast.plans.built import Built, Job
from treecast.plans.registry import Option, builder, every_port, whole_number
from treecast.plans.search import best_of
from treecast.plans.times.pipelines import rows_into
from treecast.plans.times.timetable import Packed, pack
from treecast.plans.ways.trees import directions
from treecast.plans.ways.trees import star as star_trees
from treecast.plans.whole.all_port.allgather import walked
from treecast.schedule import Payloads, Rows
from treecast.schedule.trees import TreeSet

_FILE = "star_labels.npz"
_HOT = 0.7, 0.9  # at which heat a search begins on a star, for n ≤ 6 and above
_TRIES, _MOVES, _HOT_ON_TORUS, _SEED = 12, 2_000_000, 0.5, 3


@cache
def known_sets() -> dict[tuple[int, int], bytes]:
    """Return the sets that come with the package, by (n, x): bytes, as ``read_sets`` takes them.

    Raises PlanError when their file is missing or damaged.
    """
    try:
        with files("treecast.papers.star.builders").joinpath(_FILE).open("rb") as file, np.load(file) as table:
            return {_numbers(name): table[name].tobytes() for name in table}
    except (OSError, EOFError, ValueError, BadZipFile, zlib.error) as error:
        raise PlanError(f"the label sets that come with treecast cannot be read: {error}; install it again") from error


def _numbers(name: str) -> tuple[int, int]:
    n, copies = name.split("-")
    return int(n), int(copies)


def read_sets(star: Star, copies: int, data: bytes) -> Ints:
    """Return the masks of stored label sets, int64 (N,); ``data``: a byte for each node, by necklaces.

    It has the set that the node would have if its necklace were turned back until the node is the least: in sets that rotation
    keeps, all nodes of a necklace have the same byte, and files of them are small. Raises PlanError when there are not
    ``copies`` labels for each node but the root. Whether they are closed, ``pack`` checks.
    """
    if len(data) != star.nodes - 1:
        raise PlanError(f"label sets of {star.spec} have {star.nodes - 1:,} bytes, not {len(data):,}")
    masks = _all_masks(star, np.frombuffer(data, np.uint8).astype(np.int64))
    few = np.flatnonzero(np.bitwise_count(masks[1:]) < copies)
    if len(few):
        raise PlanError(f"label sets that give {star.label(int(few[0]) + 1)} fewer than {copies} copies")
    return masks


def _all_masks(star: Star, kept: Ints) -> Ints:
    """Return the masks of all nodes, int64 (N,), from those that they would have if their necklaces were turned back."""
    (node, turn), masks = by_necklaces(star), np.zeros(star.nodes, np.int64)
    masks[node] = _turn(kept, turn, star.ports)
    return masks


def _turn(mask: Ints, turn: Ints | int, k: int) -> Ints:
    """Return sets of trees turned so far: tree t becomes t + ``turn``, modulo k."""
    return ((mask << turn) | (mask >> (k - turn))) & ((1 << k) - 1)


def by_necklaces(star: Star) -> tuple[Ints, Ints]:
    """Return all nodes but the root, necklace by necklace, and how far each is turned from the least."""
    first, size = star.necklaces()
    turn = np.arange(star.ports)
    node = np.stack([star.rotate(first, int(i)) for i in turn], axis=1)
    # short necklaces come round before all turns are made
    there = turn < size[:, None]
    return node[there], np.broadcast_to(turn, node.shape)[there]


SEARCH = Option(
    name="search",
    read=whole_number("number of millions of moves", 1, 999_999),
    summary="For how many million moves to look for label sets; a million takes about a second.",
)


def _fits(job: Job[Star]) -> str:
    if job.copies == 1 or not left_over(job):
        return (
            "has nothing to search for where whole trees or the rule of one copy do" if "search" in job.options else ""
        )
    if "search" in job.options or (job.network.n, job.copies) in known_sets():
        return ""
    return f"knows no label sets of {job.copies} copies on {job.network.spec}: give the option search to look for some"


@builder(
    "label-sets",
    "allgather",
    on=Star,
    most_copies=every_port,
    fits=_fits,
    options=(SEARCH,),
    summary="each node by trees chosen so that all ports are used alike",
)
def on_stars(job: Job[Star]) -> Built:
    """All-port: each node receives by x of the n-1 disjoint trees, chosen node by node so that all ports are used alike.

    ⌈Mx(N-1)/(n-1)⌉ steps with one copy; with more where the known sets have no conflict, which is all of S_4 … S_6, x ≤ 4 on
    S_7, and x = 2 on S_8. Of M messages those whose copies fill all trees go by whole trees, the others by label sets. Raises
    PlanError when the sets that come with the package are not closed: then the file is damaged.
    """
    star = job.network
    trees = star_trees.disjoint_trees(star, paper=True)  # over which the known sets were found
    if job.copies == 1:
        return by_rotation(job, _rule_of_one_copy(star, trees))

    def whole(carried: Ranges, each: int) -> tuple[Rows, int]:
        return walked(star, trees, carried, each), each * (star.nodes - 1)

    return by_sets(job, trees, whole, lambda rest: pack(trees, np.stack(_turned(star, trees, _sets(job, trees), rest))))


def _rule_of_one_copy(star: Star, trees: TreeSet) -> Preferences:
    """Return which tree the least node of each necklace prefers: that of the position of symbol 1, if it is not in front."""
    node, size = star.necklaces()
    hole = symbol_at(inverse(star.words(node), star.n), 0)  # where symbol 1 is; words count from 0
    depth = trees.depths[:, node].astype(np.int64)
    tree = np.arange(star.ports)[:, None]
    key = np.where(tree == hole - 1, -1, depth)
    key[tree >= size] = star.nodes  # rotations of trees before them
    order = np.argsort(key, axis=0, kind="stable")
    return Preferences(
        node, size, order, trees.port[:, node].astype(np.int64), trees.parent[:, node].astype(np.int64), depth
    )


def _sets(job: Job[Star], trees: TreeSet) -> Ints:
    """Return the label sets of a job: those that come with the package, or those that the search asked for finds."""
    star = job.network
    if "search" not in job.options:
        return read_sets(star, job.copies, known_sets()[star.n, job.copies])
    return find(trees, begin(star, job.copies), moves=job.options["search"] * 10**6, hot=_HOT[star.n > 6])


def begin(star: Star, copies: int) -> Ints:
    """Return the label sets with which a search begins: int64 masks (N,), the same for all nodes of a full necklace.

    With symbol 1 at position j: T_j, the tree of the first symbol, and T_(j+1), T_(j+2) … in a circle. With symbol 1 in front:
    the trees of the symbols that are least far right of their own positions, those that are at home last.
    """
    k, (node, size) = star.ports, star.necklaces()
    words = star.words(node)
    back, tree = inverse(words, star.n), np.arange(k)[:, None]
    hole, first = symbol_at(back, 0), symbol_at(words, 0)
    away = (tree + 1 - symbol_at(back, tree + 1)) % k
    behind = np.where(tree == hole - 1, -2, np.where(tree == first - 1, -1, (tree - hole + 1) % k))
    key = np.where(hole == 0, np.where(away == 0, k, away), behind)
    mask = (np.int64(1) << np.argsort(key, axis=0, kind="stable")[:copies]).sum(axis=0)
    return _all_masks(star, np.repeat(mask, size))


def _turned(star: Star, trees: TreeSet, masks: Ints, count: int) -> list[Ints]:
    """Return rotations of label sets, one for each of ``count`` chunks, such that together they use the ports alike."""
    k, found, load = star.ports, list[Ints](), np.zeros(star.ports, np.int64)
    uses = np.zeros(k, np.int64)
    for tree in range(k):
        has = (masks >> tree & 1 == 1) & (trees.port[tree] >= 0)
        uses += np.bincount(trees.port[tree][has], minlength=k)

    def crowd(turn: int) -> list[int]:
        # As lists compare: the busiest port first, then the next one.
        return sorted((load + np.roll(uses, turn)).tolist(), reverse=True)

    for _ in range(count):
        turn = min(range(k), key=crowd)
        load += np.roll(uses, turn)
        moved = np.zeros_like(masks)
        moved[star.rotate(np.arange(star.nodes), turn)] = _turn(masks, turn, k)
        found.append(moved)
    return found


def _lacks_torus(network: Network) -> str:
    """Say that a search is for tori: a condition, so that builders without a search are tried before it."""
    return "" if network.grid and network.seen_alike else f"needs {Torus.described}"


def _lacks_axes(network: Network) -> str:
    sides = [side for side in network.grid.sides if side > 1] if network.grid else []
    return "" if len(sides) == 2 and min(sides) > 2 else "needs a torus of two axes of three or more nodes"


@builder(
    "label-sets",
    "allgather",
    on=(_lacks_torus, _lacks_axes),
    most_copies=every_port,
    summary="each node by trees chosen so that all ports are used alike",
)
def on_tori(job: Job[Torus]) -> Built:
    """All-port: each node receives by x of four disjoint trees, chosen node by node so that all ports are used alike.

    Of M messages those whose copies fill all trees go by whole trees, the others by label sets.
    """
    trees = directions.disjoint_trees(job.network)

    def whole(carried: Ranges, each: int) -> tuple[Rows, int]:
        packed = pack(trees, np.full((1, job.network.nodes), (1 << len(trees)) - 1))
        step, table = packed.step * each, Payloads.of(carried)
        return rows_into(trees, table, packed.tree, packed.node, step, payload=packed.tree), packed.steps * each

    return by_sets(job, trees, whole, lambda rest: _find_sets(trees, job.copies, rest))


def _find_sets(trees: TreeSet, copies: int, messages: int) -> Packed:
    """Return the sends of some messages by label sets: the best of several searches; the first that meets the bound ends it.

    The search for the sets of each message starts from the uses of ports by those before it. One copy is exactly one, so that
    sums can go the same way back.
    """
    k, nodes = len(trees), trees.network.nodes
    sends = messages * copies * (nodes - 1)

    def tried() -> Iterator[Packed]:
        # First without a search: the same trees for all nodes.
        yield pack(trees, np.full((messages, nodes), (1 << copies) - 1))
        for attempt in range(_TRIES):
            first = sum(1 << (attempt + i) % k for i in range(copies))
            uses, sets = np.zeros(k, np.int64), list[Ints]()
            for seed in range(_SEED + attempt * messages, _SEED + (attempt + 1) * messages):
                masks = np.full(nodes, first, np.int64)
                sets.append(find(trees, masks, moves=_MOVES, hot=_HOT_ON_TORUS, seed=seed, uses=uses))
            packed = pack(trees, np.stack(sets))
            if copies > 1 or len(packed.step) == sends:
                yield packed

    return best_of(tried(), lambda packed: (packed.steps,), -(-sends // k))
