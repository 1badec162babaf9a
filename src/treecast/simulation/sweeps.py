"""Sweeps: a schedule under every set of a few faults, or under many random ones."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import comb
from typing import Literal, NamedTuple

import numpy as np

from treecast.collectives import Holdings
from treecast.description import Described, Description, count_of, describe, list_few
from treecast.errors import FaultError
from treecast.networks.core import Ints
from treecast.progress import Progress, part_of, reporting
from treecast.schedule import Schedule
from treecast.schedule.atoms import cut, moves
from treecast.simulation.faults import Faults, check_seed

Kind = Literal["nodes", "arcs", "links", "nodes+arcs", "nodes+links"]
"""What fails in a sweep. A link is both arcs between two nodes."""


KINDS: tuple[Kind, ...] = ("nodes", "arcs", "links", "nodes+arcs", "nodes+links")


@dataclass(frozen=True, repr=False)
class Sweep(Described):
    """What a sweep over sets of faults found.

    Parameters
    ----------
    schedule : Schedule
        What was replayed.
    kind : str
        What failed: ``nodes``, ``arcs``, ``links``, ``nodes+arcs`` or ``nodes+links``.
    most : int
        The most faults of a set.
    sets : int
        How many sets were tried.
    exhaustive : bool
        Whether they are all that there are. A sweep that stops at the first failing set has not tried all.
    failing : int
        How many of them left a living node without a chunk.
    counterexample : Faults, optional
        The first of them.
    node, chunk : int
        What was lost under it; -1 when nothing was.
    seconds : float
        The time that it took.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=1)
    >>> treecast.sweep(schedule)
    <Sweep of 24 sets of at most 1 nodes: holds>
    >>> found = treecast.sweep(schedule, 2)
    >>> found.holds, len(found.counterexample)
    (False, 2)
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

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else f"{self.failing:,} failing"
        return f"<Sweep of {count_of(self.sets, 'set')} of at most {self.most} {self.kind}: {verdict}>"


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
        check_seed(seed)
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
