"""Faults: nodes and arcs that carry nothing, from the start or from a given step, and sweeps over sets of them.

No node is told of a fault or reacts to one. The schedule runs on, and a node skips what it does not hold.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import comb
from typing import Literal, NamedTuple

import numpy as np

from treecast.collectives import Collective, Holdings
from treecast.description import Described, Description, describe, list_few
from treecast.errors import FaultError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.progress import Progress, part_of, reporting
from treecast.ragged import places, runs
from treecast.schedule import Schedule
from treecast.schedule.atoms import cut, moves
from treecast.steps import NEVER

Kind = Literal["nodes", "arcs", "links", "nodes+arcs", "nodes+links"]
"""What fails in a sweep. A link is both arcs between two nodes."""
KINDS: tuple[Kind, ...] = ("nodes", "arcs", "links", "nodes+arcs", "nodes+links")


@dataclass(frozen=True)
class Faults:
    """Nodes and arcs that fail, each with the step from which it carries nothing (0: from the start).

    ``arcs`` are named by their source and port.
    """

    nodes: Mapping[int, int] = field(default_factory=dict[int, int])
    arcs: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def describe(self, network: Network) -> list[str]:
        """Return the faults as people write them: ``2143@5`` for a node, ``1234>2134@5`` for an arc."""
        at = [(network.label(u), step) for u, step in sorted(self.nodes.items())]
        for (u, port), step in sorted(self.arcs.items()):
            at.append((f"{network.label(u)}>{network.label(int(network.neighbor(u, port)))}", step))
        return [name + (f"@{step}" if step else "") for name, step in at]

    def by_step(self, network: Network) -> tuple[Ints, Ints]:
        """Return the step from which each node and each arc fails; for one that does not fail, a step beyond all others.

        int64 (N,), and int64 (arcs + 1,) as Network.arc numbers them, the last one for "no arc".
        """
        nodes = np.full(network.nodes, NEVER)
        arcs = np.full(network.nodes * network.ports + 1, NEVER)
        for node, step in self.nodes.items():
            nodes[node] = step
        for (node, port), step in self.arcs.items():
            arcs[network.arc(node, port)] = step
        return nodes, arcs

    def check(self, schedule: Schedule) -> None:
        """Raise FaultError or NetworkError when a fault names something that does not exist, or when nothing would be sent."""
        network, collective = schedule.network, schedule.collective
        self.check_names(network)
        if not collective.all_source and self.nodes.get(collective.root) == 0:
            raise FaultError(
                f"the root {network.label(collective.root)} cannot be dead from the start: nothing would be delivered"
            )

    def check_names(self, network: Network) -> None:
        """Raise FaultError or NetworkError when a fault names a node, arc or step that is not there."""
        for node in self.nodes:
            network.check_node(node)
        for node, port in self.arcs:
            if int(network.neighbor(node, port)) < 0:
                raise FaultError(f"no arc of {network.spec} leaves node {node} by port {port}")
        if min((*self.nodes.values(), *self.arcs.values()), default=0) < 0:
            raise FaultError("a fault happens at a step from 0 on")

    def __len__(self) -> int:
        return len(self.nodes) + len(self.arcs)


def wanted(collective: Collective, faults: Faults) -> Holdings:
    """Return what each node must end with under faults, the ranges of a node in ascending order.

    Nothing where the node fails, and nothing that came from one node alone which was dead from the start: there never was
    anything to send. To a sum every node adds, so it is wanted without those.
    """
    holdings = collective.wanted()
    living = ~np.isin(holdings.node, list(faults.nodes))
    node, first, stop = holdings.node[living], holdings.first[living], holdings.stop[living]
    dead = [node for node, step in faults.nodes.items() if step == 0]
    if collective.sums or not dead:
        return Holdings(node, first, stop)
    ends = collective.ends()  # between two of them all chunks come from one node
    begins, behind = (ends[place] for place in runs(~np.isin(collective.source_of(ends[:-1]), dead)))
    low = np.searchsorted(behind, first, side="right")  # the first part of what was ever there that a range meets
    count = np.searchsorted(begins, stop, side="left") - low
    which, part = np.repeat(np.arange(len(node)), count), np.repeat(low, count) + places(count)
    return Holdings(node[which], np.maximum(first[which], begins[part]), np.minimum(stop[which], behind[part]))


def parse_faults(network: Network, nodes: Iterable[str] = (), links: Iterable[str] = ()) -> Faults:
    """Return the faults that people write: nodes ``2143`` or ``2143@5``; links ``1234-2134`` (both ways), arcs ``1234>2134``.

    ``@5``: from step 5 on; without it from the start. Raises FaultError or NetworkError for what does not exist.
    """
    dead: dict[int, int] = {}
    cut_arcs: dict[tuple[int, int], int] = {}
    for text in nodes:
        name, step = _at_step(text)
        dead[network.node(name)] = step
    for text in links:
        name, step = _at_step(text)
        for u, v in _ends(network, name):
            cut_arcs[u, int(network.port_between(u, v))] = step
    return Faults(dead, cut_arcs)


def _at_step(text: str) -> tuple[str, int]:
    name, at, step = text.rpartition("@")
    if not at:
        return text, 0
    if not (step.isascii() and step.isdigit() and len(step) < 10):
        raise FaultError(f"{text!r} names no fault: write NODE or NODE@STEP, as in {name or 17}@5")
    return name, int(step)


def _ends(network: Network, name: str) -> list[tuple[int, int]]:
    """Return the arcs, as pairs of nodes, of ``A>B`` or ``A-B``; either sign may also be part of a label."""
    for sign in ">-":
        for i in (i for i, c in enumerate(name) if c == sign):
            try:
                u, v = network.node(name[:i]), network.node(name[i + 1 :])
            except ValueError:
                continue
            arcs = [(u, v)] if sign == ">" else [(u, v), (v, u)]
            arcs = [(a, b) for a, b in arcs if int(network.port_between(a, b)) >= 0]
            if not arcs:
                near = ", ".join(network.label(w) for w in network.neighbors(u))
                raise FaultError(f"{name!r} is no link of {network.spec}: {network.label(u)} is joined to {near}")
            return arcs
    raise FaultError(f"{name!r} names no link: write A-B (both ways) or A>B (one way), A and B nodes of {network.spec}")


def random_faults(network: Network, count: int, seed: int, spare: Iterable[int] = ()) -> Faults:
    """Return ``count`` different nodes, dead from the start, chosen by ``seed``; those in ``spare`` are never chosen."""
    spared = set(spare)
    _check_seed(seed)
    if not 0 <= count <= network.nodes - len(spared):
        raise FaultError(f"{count} nodes cannot fail: choose 0 to {network.nodes - len(spared)} of {network.spec}")
    chosen: dict[int, int] = {}
    random = np.random.default_rng(seed)
    while len(chosen) < count:
        node = int(random.integers(network.nodes))
        if node not in spared:
            chosen[node] = 0
    return Faults(chosen)


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise FaultError(f"a seed is a whole number from 0, not {seed}")


@dataclass(frozen=True)
class Sweep(Described):
    """What a sweep over fault sets found.

    ``sets``: how many were tried, each with at most ``most`` faults of ``kind``; ``exhaustive``: they are
    all that there are (a sweep that stops at the first failing set has not tried all).
    ``failing``: how many of them left a living node without a chunk; a sweep may stop at the first.
    ``counterexample``: the first of them, ``node`` and ``chunk`` what was lost under it (-1 when nothing was).
    """

    schedule: Schedule = field(repr=False, compare=False)
    kind: Kind
    most: int
    sets: int
    exhaustive: bool
    failing: int
    counterexample: Faults | None
    node: int
    chunk: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether every living node got everything under every set tried."""
        return self.failing == 0


@describe.register
def _(found: Sweep) -> Description:
    figures: dict[str, object] = {
        "kind": found.kind,
        "most": found.most,
        "sets": found.sets,
        "exhaustive": found.exhaustive,
        "failing": found.failing,
        "seconds": round(found.seconds, 6),
    }
    size = f"{found.most} {found.kind.replace('+', ' and ')}"
    tried = f"{'every set of at most' if found.exhaustive else 'random sets of'} {size}"
    if found.counterexample is None:
        return Description({"sweep": figures}, {"faults": f"survives {tried}: {found.sets:,} sets"})
    network = found.schedule.network
    dead, node = found.counterexample.describe(network), network.label(found.node)
    verb = "fails" if len(dead) == 1 else "fail"
    lost = f"when {list_few(dead)} {verb}, {node} never gets chunk {found.chunk}"
    words = [f"does NOT survive {tried}: {lost}", f"{found.failing:,} of the {found.sets:,} sets tried fail"]
    counterexample = {"faults": dead, "node": node, "chunk": found.chunk}
    return Description({"sweep": figures, "counterexample": counterexample}, {"faults": words}, holds=False)


def sweep(
    schedule: Schedule,
    most: int | None = None,
    kind: Kind = "nodes",
    *,
    sample: int | None = None,
    seed: int = 0,
    keep_going: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Replay a schedule under every set of at most ``most`` faults (default: as many as it claims to survive).

    ``sample``: instead, that many random sets of exactly ``most`` faults. The sources of a one-source collective never
    fail. ``keep_going``: count all failing sets, instead of stopping at the first. Faults are there from the start.
    Exact: the replay goes through all moves in time, 64 sets at once. Raises FaultError when there are no such sets, and for
    sums, which survive no fault.
    """
    began = time.perf_counter()
    most = schedule.copies - 1 if most is None else most
    if schedule.collective.sums:
        raise FaultError("a sum has one copy and survives no fault: there are no sets of faults to try")
    case = _Case(schedule.plain(), kind)
    if not 0 <= most <= case.elements:
        raise FaultError(f"a set cannot have {most} faults: there are {case.elements} {kind} that can fail")
    if sample is not None:
        if sample < 1 or most < 1:
            raise FaultError(f"a sample needs at least 1 set of at least 1 fault, not {sample} of {most}")
        _check_seed(seed)
        parts: list[tuple[int, _Sets]] = [(sample, partial(case.random_sets, size=most, seed=seed))]
    else:
        parts = [(comb(case.elements, size), partial(case.sets, size=size)) for size in range(most + 1)]
    total = sum(count for count, _ in parts)
    if total > _MOST_SETS:
        raise FaultError(f"{total:,} sets of faults are too many to try: take fewer faults, or a sample of the sets")
    tried = failing = 0
    first: _Hit | None = None
    for count, sets in parts:
        with reporting(progress), part_of(before=tried, total=total):
            done, fails, hit = case.try_all(count, sets, keep_going)
        tried, failing, first = tried + done, failing + fails, first or hit
        if first and not keep_going:
            break
    node, chunk = (-1, -1) if first is None else (first.node, int(case.atoms.bounds[first.atom]))
    counterexample = None if first is None else case.faults(first.elements)
    seconds = time.perf_counter() - began
    exhaustive = sample is None and tried == total
    return Sweep(schedule, kind, most, tried, exhaustive, failing, counterexample, node, chunk, seconds)


_BLOCK = 1 << 13
_MOST_SETS = 10**10
_Sets = Callable[[int, int], Ints]
"""Gives the sets number start … stop-1 as rows of elements."""


class _Hit(NamedTuple):
    """A failing set, and a node and an atom that are lost under it."""

    elements: Ints
    node: int
    atom: int


class _Case:
    """A plain schedule, and the elements that can fail, as arrays."""

    def __init__(self, schedule: Schedule, kind: Kind) -> None:
        if kind not in KINDS:
            raise FaultError(f"{kind!r} cannot fail: write one of {', '.join(KINDS)}")
        network, self.schedule = schedule.network, schedule
        self.atoms = cut(schedule)
        self.moves = moves(schedule, self.atoms)
        spared = () if schedule.collective.all_source else (schedule.collective.root,)
        names, arcs = list[int](), list[tuple[int, int]]()
        if kind.startswith("nodes"):
            names = [u for u in range(network.nodes) if u not in spared]
            arcs = [(-1, -1)] * len(names)
        if not kind.endswith("nodes"):
            table = network.neighbor_table()
            for u, port in np.argwhere(table >= 0).tolist():
                arc, v = u * network.ports + port, int(table[u, port])
                back = int(network.port_between(v, u))
                if kind.endswith("links") and back >= 0:
                    if u < v:
                        arcs.append((arc, v * network.ports + back))
                else:
                    arcs.append((arc, -1))
        self.element_node = np.array(names + [-1] * (len(arcs) - len(names)), np.int64)
        self.element_arcs = np.array(arcs, np.int64).reshape(-1, 2)
        self.elements = len(arcs)
        rows = schedule.rows
        self.arc = network.arc(rows.src, rows.port)
        self.given, self.wanted = (self._by_atom(h) for h in (schedule.part.given(), schedule.part.wanted()))

    def _by_atom(self, holdings: Holdings) -> tuple[Ints, Ints]:
        node, atom = self.atoms.table(holdings)
        order = np.argsort(atom, kind="stable")
        return np.searchsorted(atom[order], np.arange(len(self.atoms) + 1)), node[order]

    def sets(self, start: int, stop: int, size: int) -> Ints:
        """Return the sets number ``start … stop-1`` of ``size`` elements, in lexicographic order: int64 (sets, size)."""
        from treecast.kernels.replay import next_sets

        first, rank, low = list[int](), start, 0
        for place in range(size):
            while rank >= (skipped := comb(self.elements - low - 1, size - place - 1)):
                rank -= skipped
                low += 1
            first.append(low)
            low += 1
        sets = np.empty((stop - start, size), np.int64)
        next_sets(np.array(first, np.int64), self.elements, sets)
        return sets

    def random_sets(self, start: int, stop: int, size: int, seed: int) -> Ints:
        """Return random sets of ``size`` different elements, the same for the same block and seed."""
        random = np.random.default_rng([seed, start])
        sets = np.full((stop - start, size), -1, np.int64)
        for place, most in enumerate(range(self.elements - size, self.elements)):  # Floyd's way to draw without repeats
            drawn = random.integers(most + 1, size=stop - start)
            taken = (sets[:, :place] == drawn[:, None]).any(axis=1)
            sets[:, place] = np.where(taken, most, drawn)
        return sets

    def try_all(self, count: int, sets: _Sets, keep_going: bool) -> tuple[int, int, _Hit | None]:
        """Try ``count`` sets; return how many were tried, how many of them fail, and the first that does."""
        from treecast.kernels.compiled import in_parallel

        found: list[_Hit] = []  # blocks begin in order, so that none before the first failing one is skipped

        def work(start: int, stop: int) -> tuple[int, int, _Hit | None]:
            if found and not keep_going:
                return 0, 0, None
            fails, hit = self.try_sets(sets(start, stop))
            if hit:
                found.append(hit)
            return stop - start, fails, hit

        results = in_parallel(work, count, _BLOCK if count < 10**8 else 8 * _BLOCK, "fault sets")
        first = next((hit for _, _, hit in results if hit), None)
        return sum(r[0] for r in results), sum(r[1] for r in results), first

    def try_sets(self, sets: Ints) -> tuple[int, _Hit | None]:
        """Replay under each set; return how many sets fail, and the first that does."""
        from treecast.kernels.replay import first_failing

        network, rows = self.schedule.network, self.schedule.rows
        failing = np.zeros(len(sets), np.bool_)
        index, node, atom = first_failing(
            sets, self.element_node, self.element_arcs, self.moves.start, self.moves.row, self.moves.time,
            rows.src, rows.dst, self.arc, network.nodes, network.nodes * network.ports + 1,
            self.schedule.arcs_back, *self.given, *self.wanted, failing,
        )  # fmt: skip
        return int(failing.sum()), None if index < 0 else _Hit(sets[index], int(node), int(atom))

    def faults(self, elements: Ints) -> Faults:
        ports = self.schedule.network.ports
        nodes = {int(self.element_node[e]): 0 for e in elements if self.element_node[e] >= 0}
        arcs = {divmod(int(arc), ports): 0 for e in elements for arc in self.element_arcs[e] if arc >= 0}
        return Faults(nodes, arcs)
