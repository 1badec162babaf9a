"""The rule ``copies``: every chunk reaches every node over disjoint ways."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from treecast.networks.core import Ints
from treecast.ragged import read_only
from treecast.schedule.tree_of_rows import trees_of_rows
from treecast.steps import NEVER
from treecast.verification.case import BLOCK, Case
from treecast.verification.report import SHOWN, Broken, Violation


def copies(case: Case) -> Broken:
    """Rule ``copies``: every chunk reaches every node by the claimed number of ways that share no node, link or arc, as claimed.

    The ways are those of the trees that the rows name; where every node spreads its data, each root has trees of its own. In
    each tree every node has one source, and gets the data that it sends on over the same tree. Then at least one way avoids any
    copies - 1 faults.
    """
    if case.part.sums:
        return 1, [Violation("copies", "a sum has one copy: contributions that went two ways would be added twice")]
    shown, count = list[Violation](), 0
    for of_root in [case] if case.part.traits.one_to_all else case.by_root():
        for broken in _tree_breaches(of_root, of_root.part.root):
            count += broken[0]
            shown += broken[1]
    return count, shown[:SHOWN]


def _tree_breaches(case: Case, root: int) -> Iterator[Broken]:
    from treecast.kernels.compiled import in_parallel
    from treecast.kernels.verification.rules import not_in_tree, tree_arrivals, ways

    rows, atoms = case.rows, case.atoms
    carried = _atoms_of_trees(case)
    tree_of, atom_of = np.nonzero(carried)
    case.afford(len(tree_of) * case.nodes, f"{len(tree_of):,} runs of chunks in trees x {case.nodes:,} nodes")
    pair = np.full(carried.shape, -1, np.int32)
    pair[tree_of, atom_of] = np.arange(len(tree_of))
    arrival = np.full((len(tree_of), case.nodes), NEVER, np.int32)
    arrival[:, root] = 0
    parent, clash = case.sources
    places = (rows.payload, atoms.start, atoms.atom, atoms.place, pair, arrival)
    columns = (rows.step, case.rows.pace, rows.dst, rows.tree, *places)
    case.by_node(lambda low, high: tree_arrivals(low, high, *columns))
    yield case.broken(
        "copies", clash, lambda row: f"gives {case.label(rows.dst[row])} a second source in tree {rows.tree[row]}"
    )

    missing = np.empty(len(rows), np.int32)
    by_row = (rows.step, case.rows.pace, rows.src, rows.tree, rows.payload)
    in_parallel(
        lambda a, b: not_in_tree(*(column[a:b] for column in by_row), *places[1:], missing[a:b]), len(rows), BLOCK
    )
    yield case.broken(
        "copies",
        missing >= 0,
        lambda row: (
            f"carries chunk {case.chunk(missing[row])}, which its source has not got by way of tree {rows.tree[row]}"
        ),
    )

    reached = np.zeros((len(atoms), case.nodes), np.int16)
    ways(tree_of, atom_of, arrival, NEVER, reached)
    reached[:, [root, *case.part.relays]] = case.schedule.copies
    few = np.argwhere(reached < case.schedule.copies)

    def breach(a: int, v: int) -> Violation:
        chunk, ways_there = case.chunk(a), int(reached[a, v])
        text = f"chunk {chunk} reaches {case.label(v)} by {ways_there} trees, not {case.schedule.copies}"
        return Violation("copies", text, -1, (v,), chunk)

    yield len(few), [breach(a, v) for a, v in few[:SHOWN].tolist()]
    if not clash.any() and not (missing >= 0).any():  # else the parents may run in circles
        yield (_meetings if case.schedule.against == "nodes" else _sharings)(case, carried, parent, root)


def _atoms_of_trees(case: Case) -> NDArray[np.bool_]:
    """Return which atoms each tree carries: bool (trees, atoms)."""
    rows, atoms = case.rows, case.atoms
    carried = np.zeros((case.trees, len(atoms)), bool)
    key = (rows.tree.astype(np.int64) + 1) * len(rows.payloads) + rows.payload
    used = np.flatnonzero(np.bincount(key)) if case.trees * len(rows.payloads) <= len(rows) else np.unique(key)
    for tree, payload in zip(*np.divmod(used, max(len(rows.payloads), 1)), strict=True):
        if tree > 0:
            carried[tree - 1, atoms.atom[atoms.start[payload] : atoms.start[payload + 1]]] = True
    return carried


def _meetings(case: Case, carried: NDArray[np.bool_], parent: NDArray[np.int32], root: int) -> Broken:
    """Return the first two ways of one chunk to one node that meet, for each set of trees that carries a chunk."""
    from treecast.kernels.schedule.trees import meeting

    parent = read_only(parent, np.int32)
    text = "two ways to {} meet at {}, the second in tree {}: one fault cuts both"
    return _first_of_each(case, carried, lambda trees, a, b: meeting(parent, trees, root, case.part.ranks, a, b), text)


def _sharings(case: Case, carried: NDArray[np.bool_], parent: NDArray[np.int32], root: int) -> Broken:
    """Return the same of two ways that share a link, or an arc."""
    from treecast.kernels.schedule.trees import sharing

    nodes, node, row = (
        case.nodes,
        np.arange(case.nodes),
        trees_of_rows(case.rows.src, case.rows.dst, case.nodes, case.rows.tree).row,
    )
    if case.schedule.against == "arcs":
        number = np.where(row < 0, -1, parent.astype(np.int64) * case.schedule.network.ports + case.rows.port[row])
    else:
        number = np.minimum(parent, node).astype(np.int64) * nodes + np.maximum(parent, node)
    known, needs = np.unique(number, return_inverse=True)
    needs = read_only(needs.reshape(number.shape), np.int32)
    parent = read_only(parent, np.int32)

    def first(trees: Ints, start: int, stop: int) -> tuple[int, int, int]:
        return sharing(parent, needs, trees, np.full(len(known), -1, np.int32), root, case.part.ranks, start, stop)

    what = case.schedule.against[:-1]
    return _first_of_each(
        case, carried, first, f"two ways to {{}} share the {what} that leads to {{}} in tree {{}}: one fault cuts both"
    )


def _first_of_each(
    case: Case, carried: NDArray[np.bool_], look: Callable[[Ints, int, int], tuple[int, int, int]], text: str
) -> Broken:
    """Return the first breach of each set of trees that carries a chunk; ``look`` finds that of some trees at some ranks."""
    from treecast.kernels.compiled import in_parallel

    def first(trees: Ints) -> tuple[int, int, int]:
        found = in_parallel(lambda a, b: look(trees, a, b), len(case.part.ranks), 1 << 16)
        return next((hit for hit in found if hit[0] >= 0), (-1, -1, -1))

    if first(np.arange(case.trees))[0] < 0:
        return 0, []  # all trees together are disjoint, so any set of them is
    count, shown = 0, list[Violation]()
    for trees in np.unique(carried, axis=1).T:
        v, tree, w = first(np.flatnonzero(trees))
        if v >= 0:
            count += 1
            shown.append(Violation("copies", text.format(case.label(v), case.label(w), tree), -1, (v, w)))
    return count, shown
