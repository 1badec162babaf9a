"""The verifier: is a schedule right, under a model of the machine, and how far is it from the lower bound?

Each rule is a small function with a stable name. A rule that cannot be decided counts as broken. Streams are judged as a
whole, never chunk by chunk, and an orbit by the rows of node 0 alone; ``method="expanded"`` judges every single send
instead, slowly and by other means.
"""

import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.atoms import Atoms, cut, streaming
from treecast.errors import PlanError, ScheduleError
from treecast.lower_bounds import bounds
from treecast.models import Model
from treecast.models import model as find_model
from treecast.networks import Cayley
from treecast.networks.core import Ints
from treecast.report import SHOWN, Broken, Report, Violation
from treecast.schedule import Schedule
from treecast.verifier_expanded import check_expanded

_NEVER = np.iinfo(np.int32).max
_BLOCK = 1 << 18  # rows that one thread takes at a time
_FREE_CELLS = 2**25  # of a table that any schedule may have: 128 MiB
_CELLS_PER_ROW = 128
_MOST_SENDS = 10_000_000
_MOST_CELLS = 2**31  # of the table of nodes x atoms: 8 GiB


def verify(schedule: Schedule, model: str | Model | None = None, method: str = "fast") -> Report:
    """Check a schedule against every rule, under its own model or another one.

    ``method``: ``fast`` judges streams and orbits as a whole; ``expanded`` judges every send of every chunk.
    Raises ScheduleError when the schedule is too large to judge in memory.
    """
    began = time.perf_counter()
    chosen = schedule.model if model is None else find_model(model)
    if method not in ("fast", "expanded"):
        raise ScheduleError(f"method must be fast or expanded, not {method!r}")
    if method == "expanded":
        cells = schedule.transmissions + schedule.network.nodes * schedule.collective.chunks
        if cells > _MOST_SENDS:
            raise ScheduleError(f"{cells:,} sends and holdings are too many to judge one by one: use the fast method")
        found, depth = check_expanded(schedule, chosen)
        how = "expanded"
    else:
        case = _Case(schedule, chosen)
        found = {rule: check(case) for rule, check in _rules(schedule, chosen).items()}
        depth = case.depth
        how = "by symmetry" if schedule.orbit else "by streams"
    found["claims"] = claims_broken(schedule)
    shown = [violation for broken in found.values() for violation in broken[1]]
    try:
        lower = bounds(schedule.network, schedule.collective, schedule.copies, chosen)
    except PlanError:  # more copies are claimed than there can be: the rule says so
        lower = []
    return Report(
        chosen, how, {rule: broken[0] for rule, broken in found.items()}, tuple(shown),
        schedule.steps, schedule.transmissions, depth, tuple(lower), time.perf_counter() - began,
    )  # fmt: skip


def claims_broken(schedule: Schedule) -> Broken:
    """Rule ``claims``: the steps and transmissions are those that the builder claims."""
    claims, broken = schedule.claims, list[Violation]()
    if claims is not None:
        for what, claimed, measured in (
            ("steps", claims.steps, schedule.steps),
            ("transmissions", claims.transmissions, schedule.transmissions),
        ):
            if claimed != measured:
                broken.append(Violation("claims", f"{claimed} {what} are claimed, {measured} are in the rows"))
    return len(broken), broken


class _Case:
    """A schedule under judgement, and what several rules need of it, computed once."""

    def __init__(self, schedule: Schedule, model: Model) -> None:
        self.schedule, self.model, self.rows = schedule, model, schedule.rows
        self.nodes = schedule.network.nodes
        self.afford(self.nodes, f"{self.nodes:,} nodes")

    def affordable(self, cells: int) -> bool:
        """Return whether a table of so many cells is in proportion to the rows, or small."""
        return cells <= min(_MOST_CELLS, max(_FREE_CELLS, _CELLS_PER_ROW * len(self.rows)))

    def afford(self, cells: int, what: str) -> None:
        """Raise ScheduleError when a table of so many cells would be out of proportion."""
        if not self.affordable(cells):
            raise ScheduleError(f"{what} are too many to judge for a schedule of {len(self.rows):,} rows")

    @cached_property
    def atoms(self) -> Atoms:
        atoms = cut(self.schedule)
        self.afford(self.nodes * len(atoms), f"{self.nodes:,} nodes x {len(atoms):,} runs of chunks")
        return atoms

    @cached_property
    def streaming(self) -> NDArray[np.bool_]:
        return streaming(self.schedule)

    @cached_property
    def arrival(self) -> NDArray[np.int32]:
        """The step at which each node first holds the first chunk of each atom: int32 (N, atoms)."""
        from treecast.kernels.rules import arrivals

        table = np.full((self.nodes, len(self.atoms)), _NEVER, np.int32)
        table[self.atoms.table(self.schedule.part.given())] = 0
        rows, atoms = self.rows, self.atoms
        columns = (rows.step, self.streaming, rows.dst, rows.payload, atoms.start, atoms.atom, atoms.place, table)
        self.by_node(lambda low, high: arrivals(low, high, *columns))
        return table

    @cached_property
    def trees(self) -> int:
        return int(self.rows.tree.max(initial=-1)) + 1

    @cached_property
    def sources(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """The source of each node in each tree, int32 (trees, N), -1 for none; and the rows that give a node a second one."""
        from treecast.kernels.rules import sources

        self.afford(self.trees * self.nodes, f"{self.trees:,} trees of {self.nodes:,} nodes")
        rows = self.rows
        parent, clash = np.full((self.trees, self.nodes), -1, np.int32), np.zeros(len(rows), bool)
        self.by_node(lambda low, high: sources(low, high, rows.src, rows.dst, rows.tree, parent, clash))
        return parent, clash

    @property
    def depth(self) -> int:
        """The greatest number of arcs from the root to a node in a tree that the rows name; 0 when they name none."""
        from treecast.kernels.rules import tree_depths

        if self.schedule.part.kind != "broadcast" or not self.affordable(self.trees * self.nodes):
            return 0
        depth = np.zeros((self.trees, self.nodes), np.int32)
        return int(tree_depths(self.rows.src, self.rows.dst, self.rows.tree, depth))

    def by_node(self, work: Callable[[int, int], object], keys: int | None = None) -> None:
        """Run ``work(low, high)`` for the two halves of the nodes (or of ``keys``) at once: each fills its half of a table."""
        from treecast.kernels.compiled import in_parallel

        total = self.nodes if keys is None else keys
        in_parallel(work, total, max(1, -(-total // 2)))

    def label(self, node: int) -> str:
        return self.schedule.network.label(int(node))

    def said(self, row: int) -> str:
        """Return the beginning of a sentence about a row."""
        rows = self.rows
        return f"row {row}: {self.label(rows.src[row])} > {self.label(rows.dst[row])} at step {rows.step[row]}"

    def broken(self, rule: str, where: NDArray[np.bool_], sentence: Callable[[int], str]) -> Broken:
        """Return the breaches at the rows that a mask marks."""
        bad = np.flatnonzero(where)
        shown = [
            Violation(
                rule,
                f"{self.said(row)} {sentence(row)}",
                row,
                (int(self.rows.src[row]), int(self.rows.dst[row])),
            )
            for row in bad[:SHOWN].tolist()
        ]
        return len(bad), shown


def _rules(schedule: Schedule, model: Model) -> dict[str, Callable[[_Case], Broken]]:
    """Return the rules that apply, by name."""
    rules: dict[str, Callable[[_Case], Broken]] = {"adjacent": adjacent, "link-once": link_once}
    if not model.combining:
        rules["one-chunk"] = one_chunk
    if model.ports == "one":
        rules |= {"send-port": send_port, "recv-port": recv_port}
        if model.partner == "same":
            rules["one-partner"] = one_partner
    if model.duplex == "half":
        rules["duplex"] = duplex
    rules |= {"holds": holds, "delivered": delivered}
    if schedule.copies > 1:
        rules["copies"] = copies
    return rules


def adjacent(case: _Case) -> Broken:
    """Rule ``adjacent``: the arc that a row names exists: it leaves ``src`` by ``port`` and leads to ``dst``."""
    from treecast.kernels.compiled import in_parallel
    from treecast.kernels.rules import wrong_arcs

    rows, network = case.rows, case.schedule.network
    wrong = np.zeros(len(rows), bool)
    if len(rows) * 2 > case.nodes and case.affordable(case.nodes * network.ports):
        table, columns = network.neighbor_table(), (rows.src, rows.dst, rows.port, wrong)
        in_parallel(lambda a, b: wrong_arcs(table, *(column[a:b] for column in columns)), len(rows), _BLOCK)
    else:
        named = (rows.port >= 0) & (rows.port < network.ports)
        wrong[~named] = True
        wrong[named] = network.neighbor(rows.src[named], rows.port[named]) != rows.dst[named]

    def why(row: int) -> str:
        src, dst = int(rows.src[row]), int(rows.dst[row])
        right = int(network.port_between(src, dst))
        there = "; arcs lead to " + ", ".join(map(case.label, network.neighbors(src))) if network.ports <= 64 else ""
        return f"by port {rows.port[row]}: " + (
            f"there is no such arc{there}" if right < 0 else f"the arc leaves by port {right}"
        )

    return case.broken("adjacent", wrong, why)


def _busy(case: _Case, rule: str, node: NDArray[Any], port: NDArray[Any], ports: int, why: str) -> Broken:
    """Return the rows that begin while an earlier row of the same node and port is under way."""
    from treecast.kernels.rules import overlaps

    clash = np.zeros(len(case.rows), np.bool_)
    nodes = int(node.max(initial=-1)) + 1
    if not case.affordable(nodes * ports):  # number only the keys that occur
        key = np.where((port >= 0) & (port < ports), node.astype(np.int64) * ports + port, -1)
        node, port, ports = np.unique(key, return_inverse=True)[1].reshape(-1), np.where(key < 0, -1, 0), 1
        nodes = int(node.max(initial=-1)) + 1
    columns = (node, port, ports, case.rows.step, case.rows.steps, np.zeros(nodes * ports, np.int32), clash)
    case.by_node(lambda low, high: overlaps(low, high, *columns), nodes)
    return case.broken(rule, clash, lambda row: why)


def link_once(case: _Case) -> Broken:
    """Rule ``link-once``: an arc carries one message a step.

    Of an orbit, exactly when no two rows of a step share a port (Lemma 7): the translates of a row use every arc of its
    port once.
    """
    port, ports = case.rows.port, case.schedule.network.ports
    if case.schedule.orbit:
        return _busy(case, "link-once", np.zeros_like(port), port, ports, "uses a port that an earlier row is using")
    return _busy(case, "link-once", case.rows.src, port, ports, "uses an arc that is busy with an earlier row")


def one_chunk(case: _Case) -> Broken:
    """Rule ``one-chunk``, where messages do not combine: a row sends one chunk a step."""
    return case.broken("one-chunk", ~case.streaming, lambda row: "combines several chunks in one message")


def send_port(case: _Case) -> Broken:
    """Rule ``send-port``: a node sends to one neighbour at a time. Of an orbit: one row at a time."""
    none = np.zeros_like(case.rows.src)
    node = none if case.schedule.orbit else case.rows.src
    return _busy(case, "send-port", node, none, 1, "leaves a node that is still sending")


def recv_port(case: _Case) -> Broken:
    """Rule ``recv-port``: a node receives from one neighbour at a time. Of an orbit: one row at a time."""
    none = np.zeros_like(case.rows.dst)
    node = none if case.schedule.orbit else case.rows.dst
    return _busy(case, "recv-port", node, none, 1, "reaches a node that is still receiving")


def one_partner(case: _Case) -> Broken:
    """Rule ``one-partner``: a node that sends to one neighbour and receives from another does so in different steps."""
    from treecast.kernels.rules import partners

    rows, network = case.rows, case.schedule.network
    step, steps, src, dst = rows.step, rows.steps, rows.src, rows.dst
    row = np.arange(len(rows))
    if case.schedule.orbit and isinstance(network, Cayley):
        # of the translates of a row u > v, node 0 sends to u⁻¹v and receives from v⁻¹u: these are its partners
        ends = np.stack([network.untranslate(src, dst), network.untranslate(dst, src)], axis=1).reshape(-1)
        row = np.repeat(row, 2)
        step, steps, src, dst = step[row], steps[row], np.zeros(len(row), np.int64), ends
    clash = np.zeros(len(step), np.bool_)
    partners(step, steps, src, dst, np.zeros(case.nodes, np.int32), np.zeros(case.nodes, np.int64), clash)
    wrong = np.zeros(len(rows), np.bool_)
    wrong[row[clash]] = True
    return case.broken("one-partner", wrong, lambda row: "joins a node that is busy with a third one")


def duplex(case: _Case) -> Broken:
    """Rule ``duplex``, of half-duplex links: a link carries messages one way at a time.

    The translates of a row u > v go over all links of the kind u⁻¹v; both ways when u⁻¹v = v⁻¹u.
    """
    rows, network = case.rows, case.schedule.network
    why = "uses a link that an earlier row, or its own translate, is using"
    if case.schedule.orbit and isinstance(network, Cayley):
        there, back = network.untranslate(rows.src, rows.dst), network.untranslate(rows.dst, rows.src)
        low, high, own = np.zeros_like(there), np.minimum(there, back), (there == back) & (there != 0)
    else:
        low, high = np.minimum(rows.src, rows.dst).astype(np.int64), np.maximum(rows.src, rows.dst).astype(np.int64)
        own = np.zeros(len(rows), np.bool_)
    link = np.unique(low * case.nodes + high, return_inverse=True)[1].reshape(-1)
    count, shown = _busy(case, "duplex", link, np.zeros_like(link), 1, why)
    return case.broken("duplex", own, lambda row: why) if own.any() else (count, shown)


def holds(case: _Case) -> Broken:
    """Rule ``holds``: a node has received a chunk, by an earlier row, before it sends it on."""
    from treecast.kernels.compiled import in_parallel
    from treecast.kernels.rules import not_held

    rows, atoms = case.rows, case.atoms
    missing = np.empty(len(rows), np.int32)
    by_row = (rows.step, case.streaming, rows.src, rows.payload)
    tables = (atoms.start, atoms.atom, atoms.place, case.arrival)
    in_parallel(lambda a, b: not_held(*(column[a:b] for column in by_row), *tables, missing[a:b]), len(rows), _BLOCK)

    def why(row: int) -> str:
        atom = int(missing[row])
        first = int(case.arrival[rows.src[row], atom])
        when = "never receives it" if first == _NEVER else f"first holds it at step {first}"
        return f"carries chunk {atoms.bounds[atom]}, but {case.label(rows.src[row])} {when}"

    return case.broken("holds", missing >= 0, why)


def delivered(case: _Case) -> Broken:
    """Rule ``delivered``: after the last step every node holds what the collective wants it to hold."""
    from treecast.kernels.rules import undelivered

    wanted = case.schedule.part.wanted()
    first, stop = case.atoms.spans(wanted)
    found = np.empty((SHOWN, 2), np.int64)
    count = int(undelivered(wanted.node, first, stop, case.arrival, _NEVER, found))
    return count, [_not_delivered(case, node, atom) for node, atom in found[:count].tolist()]


def _not_delivered(case: _Case, node: int, atom: int) -> Violation:
    first, stop = int(case.atoms.bounds[atom]), int(case.atoms.bounds[atom + 1])
    what = f"chunk {first}" if stop == first + 1 else f"chunks {first}-{stop - 1}"
    return Violation("delivered", f"{case.label(node)} never receives {what}", -1, (node,), first)


def copies(case: _Case) -> Broken:
    """Rule ``copies``: every chunk reaches every node by the claimed number of node-disjoint ways.

    The ways are those of the trees that the rows name: in each, every node has one source, and gets what it sends on by
    way of the same tree. Then at least one way avoids any copies - 1 faults.
    """
    schedule = case.schedule
    if schedule.part.kind != "broadcast":
        return 1, [Violation("copies", "copies are checked of an orbit, not of its translates")]
    root, shown, count = schedule.part.root, list[Violation](), 0
    for broken in _tree_breaches(case, root):
        count += broken[0]
        shown += broken[1]
    return count, shown[:SHOWN]


def _tree_breaches(case: _Case, root: int) -> Iterator[Broken]:
    from treecast.kernels.compiled import in_parallel
    from treecast.kernels.rules import not_in_tree, tree_arrivals, ways

    rows, atoms = case.rows, case.atoms
    carried = _atoms_of_trees(case)
    tree_of, atom_of = np.nonzero(carried)
    case.afford(len(tree_of) * case.nodes, f"{len(tree_of):,} runs of chunks in trees x {case.nodes:,} nodes")
    pair = np.full(carried.shape, -1, np.int32)
    pair[tree_of, atom_of] = np.arange(len(tree_of))
    arrival = np.full((len(tree_of), case.nodes), _NEVER, np.int32)
    arrival[:, root] = 0
    parent, clash = case.sources
    places = (rows.payload, atoms.start, atoms.atom, atoms.place, pair, arrival)
    columns = (rows.step, case.streaming, rows.dst, rows.tree, *places)
    case.by_node(lambda low, high: tree_arrivals(low, high, *columns))
    yield case.broken(
        "copies",
        clash,
        lambda row: f"gives {case.label(rows.dst[row])} a second source in tree {rows.tree[row]}",
    )

    missing = np.empty(len(rows), np.int32)
    by_row = (rows.step, case.streaming, rows.src, rows.tree, rows.payload)
    in_parallel(
        lambda a, b: not_in_tree(*(column[a:b] for column in by_row), *places[1:], missing[a:b]), len(rows), _BLOCK
    )
    yield case.broken(
        "copies", missing >= 0,
        lambda row: f"carries chunk {atoms.bounds[missing[row]]}, which its source has not got by way of tree {rows.tree[row]}",
    )  # fmt: skip

    reached = np.zeros((len(atoms), case.nodes), np.int16)
    ways(tree_of, atom_of, arrival, _NEVER, reached)
    reached[:, root] = case.schedule.copies
    few = np.argwhere(reached < case.schedule.copies)
    yield len(few), [
        Violation(
            "copies", f"chunk {atoms.bounds[a]} reaches {case.label(v)} by {reached[a, v]} trees, not {case.schedule.copies}",
            -1, (int(v),), int(atoms.bounds[a]),
        )
        for a, v in few[:SHOWN].tolist()
    ]  # fmt: skip
    if not clash.any() and not (missing >= 0).any():  # else the parents may run in circles
        yield _meetings(case, carried, parent, root)


def _atoms_of_trees(case: _Case) -> NDArray[np.bool_]:
    """Return which atoms each tree carries: bool (trees, atoms)."""
    rows, atoms = case.rows, case.atoms
    carried = np.zeros((case.trees, len(atoms)), bool)
    key = (rows.tree.astype(np.int64) + 1) * len(rows.payloads) + rows.payload
    used = np.flatnonzero(np.bincount(key)) if case.trees * len(rows.payloads) <= len(rows) else np.unique(key)
    for tree, payload in zip(*np.divmod(used, max(len(rows.payloads), 1)), strict=True):
        if tree > 0:
            carried[tree - 1, atoms.atom[atoms.start[payload] : atoms.start[payload + 1]]] = True
    return carried


def _meetings(case: _Case, carried: NDArray[np.bool_], parent: NDArray[np.int32], root: int) -> Broken:
    """Return the first two ways of one chunk to one node that meet, for each set of trees that carries a chunk."""
    from treecast.kernels.compiled import in_parallel
    from treecast.kernels.trees import meeting

    def first(trees: Ints) -> tuple[int, int, int]:
        found = in_parallel(lambda a, b: meeting(parent, trees, root, a, b), case.nodes, 1 << 16)
        return next((hit for hit in found if hit[0] >= 0), (-1, -1, -1))

    if first(np.arange(case.trees))[0] < 0:
        return 0, []  # all trees together are disjoint, so any set of them is
    count, shown = 0, list[Violation]()
    for trees in np.unique(carried, axis=1).T:
        v, tree, w = first(np.flatnonzero(trees))
        if v >= 0:
            count += 1
            text = (
                f"two ways to {case.label(v)} meet at {case.label(w)}, the second in tree {tree}: one fault cuts both"
            )
            shown.append(Violation("copies", text, -1, (v, w)))
    return count, shown
