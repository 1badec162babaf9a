"""The rule ``copies``: every chunk reaches every node over disjoint paths."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.networks.core import Ints
from treecast.ragged import explode, read_only, starts
from treecast.schedule.tree_of_rows import trees_of_rows
from treecast.schedule.trees import nodes_needed
from treecast.steps import NEVER
from treecast.verification.case import Case
from treecast.verification.report import SHOWN, Broken, Violation
from treecast.verification.rules.spreading import Places, first_missing


def copies(case: Case) -> Broken:
    """Rule ``copies``: every chunk reaches every node by the claimed number of ways that share no node, link or arc, as claimed.

    The ways are those of the trees that the rows name; where every node spreads its data, each root has trees of its own, and so
    has each class of a demand. In each tree every node has one source, and gets the data that it sends on over the same tree.
    Ways from several holders begin at different ones. Then at least one way avoids any copies - 1 faults.
    """
    if case.part.sums:
        return 1, [Violation("copies", "a sum has one copy: contributions that went two ways would be added twice")]
    shown, count = list[Violation](), 0
    for of_root in [case] if case.part.traits.blocks == "one" else case.by_root():
        for broken in _tree_breaches(of_root, np.unique(of_root.part.given().node)):
            count += broken[0]
            shown += broken[1]
    return count, shown[:SHOWN]


def _tree_breaches(case: Case, holders: Ints) -> Iterator[Broken]:
    from treecast.verification.kernels.rules import arrivals

    # 1. When each node has what each tree carries.
    rows, atoms, carried = case.rows, case.atoms, _carried(case)
    case.afford(len(carried.atom) * case.nodes, f"{len(carried.atom):,} runs of chunks in trees x {case.nodes:,} nodes")
    arrival = np.full((case.nodes, len(carried.atom)), NEVER, np.int32)
    arrival[holders] = 0
    parent, clash = case.sources
    columns = (rows.step, rows.pace, rows.dst, *carried.places, arrival)
    case.by_node(lambda low, high: arrivals(low, high, case.late, *columns))
    # 2. One source for each node in a tree.
    yield case.broken(
        "copies", clash, lambda row: f"gives {case.label(rows.dst[row])} a second source in tree {rows.tree[row]}"
    )

    # 3. A tree's data goes on only where it came by the same tree.
    missing = first_missing(case, arrival, carried.places)

    def why(row: int) -> str:
        chunk = case.chunk(int(carried.atom[missing[row]]))
        return f"carries chunk {chunk}, which its source has not got by way of tree {rows.tree[row]}"

    yield case.broken("copies", missing >= 0, why)

    # 4. Enough trees to each node that wants an atom.
    by_tree = np.zeros((case.trees, len(atoms)), np.bool_)
    by_tree[carried.tree, carried.atom] = True
    reached = np.zeros((len(atoms), case.nodes), np.int16)
    for tree in range(case.trees):
        reached[by_tree[tree]] += arrival[:, carried.tree == tree].T < NEVER
    needed = np.zeros(case.nodes, np.bool_)
    needed[case.part.wanted().node] = True
    needed[holders] = False
    reached[:, ~needed] = case.schedule.copies
    few = np.argwhere(reached < case.schedule.copies)

    def breach(a: int, v: int) -> Violation:
        chunk, ways_there = case.chunk(a), int(reached[a, v])
        text = f"chunk {chunk} reaches {case.label(v)} by {ways_there} trees, not {case.schedule.copies}"
        return Violation("copies", text, -1, (v,), chunk)

    yield len(few), [breach(a, v) for a, v in few[:SHOWN].tolist()]
    # 5. Ways that share nothing.
    if not clash.any() and not (missing >= 0).any():  # else the parents may run in circles
        ends = np.flatnonzero(needed)
        yield _meetings(case, parent, holders, ends, lambda: _sets_of_trees(carried, arrival[ends] < NEVER))


class _Carried(NamedTuple):
    """The atoms that each tree carries: pair i is ``atom[i]`` in ``tree[i]``, int64, by tree and then by atom.

    ``places``: a number for the chunks that each row carries in its tree, and where such numbers have their pairs, as Atoms says
    it of payloads and atoms. Rows of no tree carry none.
    """

    tree: Ints
    atom: Ints
    places: Places


def _carried(case: Case) -> _Carried:
    rows, atoms, payloads = case.rows, case.atoms, len(case.rows.payloads)
    key = (rows.tree.astype(np.int64) + 1) * payloads + rows.payload
    # few keys are counted in a table, many are sorted
    if (case.trees + 1) * payloads <= 2 * len(rows):
        there = np.bincount(key) > 0
        used, number = np.flatnonzero(there), (np.cumsum(there) - 1)[key]
    else:
        used, number = np.unique(key, return_inverse=True)
    tree, payload = np.divmod(used, max(payloads, 1))
    of, entry = explode(atoms.start, payload)
    of, entry = of[tree[of] > 0], entry[tree[of] > 0]
    pairs, pair = np.unique((tree[of] - 1) * len(atoms) + atoms.atom[entry], return_inverse=True)
    start = starts(np.bincount(of, minlength=len(used)))
    return _Carried(
        *np.divmod(pairs, max(len(atoms), 1)), (read_only(number, np.int32), start, pair, atoms.place[entry])
    )


def _sets_of_trees(carried: _Carried, reached: NDArray[np.bool_]) -> dict[tuple[int, ...], NDArray[np.bool_]]:
    """Return each set of trees by which some chunk reaches a node, and which nodes: bool, as many as rows of ``reached``."""
    order, seen = np.argsort(carried.atom, kind="stable"), set[bytes]()
    sets = dict[tuple[int, ...], NDArray[np.bool_]]()
    for pairs in np.split(order, np.flatnonzero(np.diff(carried.atom[order])) + 1):
        trees, of_atom = carried.tree[pairs], reached[:, pairs]
        if (key := trees.tobytes() + of_atom.tobytes()) in seen:  # as an atom before
            continue
        seen.add(key)
        patterns, of = np.unique(of_atom, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            found = sets.setdefault(tuple(trees[pattern].tolist()), np.zeros(len(reached), np.bool_))
            found |= of.reshape(-1) == number
    return sets


def _meetings(
    case: Case,
    parent: NDArray[np.int32],
    holders: Ints,
    ends: Ints,
    sets: Callable[[], dict[tuple[int, ...], NDArray[np.bool_]]],
) -> Broken:
    """Return the first two ways of one chunk to one node that share a node, link or arc, for each set of trees that brings a
    chunk. ``ends``: the nodes whose ways are looked at; ``sets``: finds those sets, and the ends that each reaches.
    """
    from treecast.compiled import in_parallel
    from treecast.schedule.kernels.trees import sharing

    # 1. Several holders hang below a root that is added: ways may not share them, if they may share no node.
    against, nodes, root = case.schedule.against, case.nodes, int(holders[0])
    if several := len(holders) > 1:
        root, parent = nodes, np.pad(parent, ((0, 0), (0, 1)), constant_values=-1)
        parent[:, holders] = root
    parent, node = read_only(parent, np.int32), np.arange(nodes + several)
    # 2. A number for what a tree enters each node by.
    number, text = nodes_needed(parent, root), "two paths to {} meet at {}, the second in tree {}: one fault cuts both"
    if against == "arcs":
        row = trees_of_rows(case.rows.src, case.rows.dst, nodes, case.rows.tree).row
        row = np.pad(row, ((0, 0), (0, int(several))), constant_values=-1)
        number = np.where(row < 0, -1, parent.astype(np.int64) * case.schedule.network.ports + case.rows.port[row])
    elif against == "links":
        number = np.minimum(parent, node).astype(np.int64) * len(node) + np.maximum(parent, node)
    if against != "nodes":
        text = f"two paths to {{}} share the {against[:-1]} that leads to {{}} in tree {{}}: one fault cuts both"
        if several:  # the links of the added root are none
            number[:, holders] = -1 - np.arange(number.shape[0])[:, None]
        number = np.unique(number, return_inverse=True)[1].reshape(number.shape)
    needs, count = read_only(number, np.int32), int(number.max(initial=0)) + 1

    def first(trees: Ints, ends: Ints) -> tuple[int, int, int]:
        known = read_only(ends, np.int64)

        def look(start: int, stop: int) -> tuple[int, int, int]:
            used = np.full(count, -1, np.int32)
            return sharing(parent, needs, trees, used, root, known, start, stop)

        found = in_parallel(look, len(ends), 1 << 16)
        return next((hit for hit in found if hit[0] >= 0), (-1, -1, -1))

    if first(np.arange(case.trees), ends)[0] < 0:
        return 0, []  # all trees together are disjoint, so any set of them is
    every = (first(np.array(trees, np.int64), ends[some]) for trees, some in sets().items())
    hits = [hit for hit in every if hit[0] >= 0]
    shown = list[Violation]()
    for v, tree, w in hits:
        at = int(parent[tree, w]) if against == "nodes" else w
        shown.append(Violation("copies", text.format(case.label(v), case.label(at), tree), -1, (v, at)))
    return len(hits), shown
