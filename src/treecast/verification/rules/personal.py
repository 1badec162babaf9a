"""Rules of personal data, which goes from one node to one node: senders hold it, and it arrives, over disjoint paths.

There are at least as many chunks as nodes, and each visits few nodes. So the rules keep one entry per visit, never a table
of nodes x chunks. A visit is numbered atom · N + node; visits are sorted, and found by bisection.
"""

from functools import cached_property

import numpy as np

from treecast.networks.core import Ints
from treecast.schedule.atoms import find_moves
from treecast.steps import NEVER
from treecast.verification.case import Case
from treecast.verification.report import SHOWN, Broken, Violation


class Visits:
    """The moves of a personal collective, and which nodes each atom visits when."""

    def __init__(self, case: Case) -> None:
        found, atoms, rows = find_moves(case.schedule, case.atoms), case.atoms, case.rows
        self.case, self.row, self.time = case, found.row, found.time
        self.atom, self.late = found.atom, case.late[found.row]
        self.src, self.dst = rows.src[self.row].astype(np.int64), rows.dst[self.row].astype(np.int64)
        self.tree = rows.tree[self.row].astype(np.int64)
        first = atoms.bounds[:-1]
        self.source, self.destination = case.part.source_of(first), case.part.destination_of(first)
        self.wanted = case.is_wanted(first)

    def at(self, node: Ints, atom: Ints) -> Ints:
        """Return the number of the visit of an atom at a node."""
        return atom * self.case.nodes + node

    @cached_property
    def arrivals(self) -> tuple[Ints, Ints]:
        """The visits, sorted, and the step of the first arrival of each."""
        given = np.flatnonzero(self.wanted)
        begun = self.at(self.source[given], given)
        return _earliest(
            np.concatenate([begun, self.at(self.dst, self.atom)]),
            np.concatenate([np.zeros_like(begun), self.time + self.late]),
        )


def holds(visits: Visits) -> Broken:
    """Rule ``holds``: a node has received a chunk, by an earlier row, before it sends it on."""
    case = visits.case
    there = _look_up(*visits.arrivals, visits.at(visits.src, visits.atom))
    late = np.flatnonzero(there > visits.time)
    move = dict(zip(visits.row[late][::-1].tolist(), late[::-1].tolist(), strict=True))  # the first of each row

    def why(row: int) -> str:
        i = move[row]
        when = "never receives it" if there[i] == NEVER else f"first holds it at step {there[i]}"
        return f"carries chunk {case.atoms.bounds[visits.atom[i]]}, but {case.label(int(visits.src[i]))} {when}"

    return case.broken("holds", case.marked(visits.row[late]), why)


def delivered(visits: Visits) -> Broken:
    """Rule ``delivered``: every chunk reaches the node that it is for."""
    case, atoms = visits.case, np.arange(len(visits.source))
    there = _look_up(*visits.arrivals, visits.at(visits.destination, atoms))
    lost = np.flatnonzero((there == NEVER) & visits.wanted)
    shown = zip(lost[:SHOWN].tolist(), visits.destination[lost[:SHOWN]].tolist(), strict=True)
    return len(lost), [case.missed(v, a) for a, v in shown]


def copies(visits: Visits) -> Broken:
    """Rule ``copies``: every chunk reaches its node over the claimed number of ways that share no node, link or arc, as claimed.

    The rows of a chunk in one tree are one way: each node on it has one source, and gets the chunk over the same tree.
    """
    # 1. One source for each visit, and nothing leaves before it came by the same tree.
    case, wanted = visits.case, visits.case.schedule.copies
    used = np.flatnonzero(visits.tree >= 0)
    trees = case.trees
    # a visit by way of a tree is numbered (atom · trees + tree) · N + node
    way = visits.atom[used] * trees + visits.tree[used]
    keys = way * case.nodes + visits.dst[used]
    entry, first = np.unique(keys, return_index=True)
    came_from = visits.src[used][first]
    second = visits.src[used] != came_from[np.searchsorted(entry, keys)]
    own = visits.source[visits.atom[used]]
    there = _look_up(*_earliest(keys, (visits.time + visits.late)[used]), way * case.nodes + visits.src[used])
    early = (visits.src[used] != own) & (there > visits.time[used])

    shown, count = list[Violation](), 0
    for wrong, sentence in (
        (second, "gives its target a second source of a chunk in one tree"),
        (early, "carries a chunk that its source has not got by way of the same tree"),
    ):
        broken = case.broken("copies", case.marked(visits.row[used[wrong]]), lambda row, sentence=sentence: sentence)
        count, shown = count + broken[0], shown + broken[1]
    if count:
        return count, shown[:SHOWN]  # the ways may run in circles

    # 2. Enough trees bring each atom to its node.
    pair = np.unique(way)  # of atom and tree, those that occur
    ends = pair * case.nodes + visits.destination[pair // trees] if len(pair) else pair
    ends = ends[np.isin(ends, entry)]
    apart = (visits.source != visits.destination) & visits.wanted
    ends = ends[apart[ends // case.nodes // max(trees, 1)]]
    arrived = np.bincount(ends // case.nodes // max(trees, 1), minlength=len(apart))
    few = np.flatnonzero((arrived < wanted) & apart)
    shown = list[Violation]()
    for a, v in zip(few[:SHOWN].tolist(), visits.destination[few[:SHOWN]].tolist(), strict=True):
        text = f"{case.chunks(a)} of {case.label(v)} arrives by {arrived[a]} trees, not {wanted}"
        shown.append(case.at_atom("copies", v, a, text))
    # 3. Ways that share nothing.
    if case.schedule.against == "nodes":
        met, clash = _meetings(visits, entry, came_from, ends), "meet"
    else:
        clash = f"share the {case.schedule.against[:-1]} over which one arrives"
        met = _sharings(visits, entry, visits.row[used][first], ends)
    shown += [
        case.at_atom("copies", v, a, f"two paths of {case.chunks(a)} {clash} at {case.label(v)}: one fault cuts both")
        for a, v in (divmod(key, case.nodes) for key in met[:SHOWN].tolist())
    ]
    return len(few) + len(met), shown[:SHOWN]


def _meetings(visits: Visits, entry: Ints, came_from: Ints, ends: Ints) -> Ints:
    """Return the visits at which two ways of an atom meet; two ways of a single arc meet at the source."""
    nodes, trees = visits.case.nodes, visits.case.trees
    way, node = np.divmod(ends, nodes)
    passed, direct = list[Ints](), True
    while len(way):
        atom, before = way // trees, came_from[np.searchsorted(entry, way * nodes + node)]
        inside = before != visits.source[atom]
        passed.append(visits.at(before[inside], atom[inside]))
        if direct:  # ways of a single arc all come from the source itself
            passed.append(visits.at(before[~inside], atom[~inside]))
            direct = False
        way, node = way[inside], before[inside]
    seen, times = np.unique(np.concatenate(passed) if passed else np.empty(0, np.int64), return_counts=True)
    return seen[times > 1]


def _sharings(visits: Visits, entry: Ints, by: Ints, ends: Ints) -> Ints:
    """Return visits to which two ways of an atom come over the same link, or arc; ``by``: the row of each entry."""
    case = visits.case
    nodes, trees, rows = case.nodes, case.trees, case.rows
    way, node = np.divmod(ends, nodes)
    passed = [np.empty((3, 0), np.int64)]
    while len(way):
        atom, row = way // trees, by[np.searchsorted(entry, way * nodes + node)]
        src = rows.src[row].astype(np.int64)
        used = src * case.schedule.network.ports + rows.port[row]
        if case.schedule.against == "links":
            used = np.minimum(src, node) * nodes + np.maximum(src, node)
        passed.append(np.array([atom, used, node]))
        on = src != visits.source[atom]
        way, node = way[on], src[on]
    atom, used, node = np.concatenate(passed, axis=1)
    order = np.lexsort((used, atom))
    again = (np.diff(atom[order]) == 0) & (np.diff(used[order]) == 0)
    return np.unique(visits.at(node, atom)[order[1:][again]])


def _earliest(keys: Ints, times: Ints) -> tuple[Ints, Ints]:
    """Return the different keys, sorted, and the earliest time of each."""
    order = np.lexsort((times, keys))
    entry, first = np.unique(keys[order], return_index=True)
    return entry, times[order][first]


def _look_up(entry: Ints, value: Ints, keys: Ints) -> Ints:
    """Return the value of each key; NEVER where the key is not in the sorted ``entry``."""
    if not len(entry):
        return np.full(keys.shape, NEVER, np.int64)
    at = np.minimum(np.searchsorted(entry, keys), len(entry) - 1)
    return np.where(entry[at] == keys, value[at], NEVER)
