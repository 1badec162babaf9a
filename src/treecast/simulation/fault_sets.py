"""Which sets of nodes, arcs and links a sweep lets fail, which of them lie, and their replay, 64 sets at once."""

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Literal, NamedTuple

import numpy as np

from treecast.collectives import Holdings
from treecast.errors import FaultError
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.schedule.atoms import Atoms, cut_into_atoms, find_moves
from treecast.simulation.faults import Faults

Kind = Literal["nodes", "arcs", "links", "nodes+arcs", "nodes+links"]
"""The parts that fail in a sweep. A link is both arcs between two nodes; of parallel ones each is a link of its own."""


KINDS: tuple[Kind, ...] = ("nodes", "arcs", "links", "nodes+arcs", "nodes+links")
Elements = tuple[int, ...]
"""Some of the elements that can fail, by number."""


class FaultSets:
    """The elements that can fail, and the sets of them. An element is a node, an arc or a link.

    Element e is node ``node[e]``, or -1, and the arcs ``arcs[e]``, -1 for none: int64 (elements,) and (elements, 2).
    """

    def __init__(self, schedule: Schedule, kind: Kind) -> None:
        if kind not in KINDS:
            raise FaultError(f"{kind!r} cannot fail: write one of {', '.join(KINDS)}")
        network = schedule.network
        spared = schedule.initiator if schedule.collective.all_source else schedule.collective.root
        nodes, arcs = list[int](), np.empty((2, 0), np.int64)
        if kind.startswith("nodes"):
            nodes = [u for u in range(network.nodes) if u != spared]
        if not kind.endswith("nodes"):
            every = arcs_of(network)
            # of a link one arc counts, the one from the lower node
            back, ahead = network.arc(every.head, network.back(every.tail, every.port)), every.tail < every.head
            links = (network.back(every.tail, every.port) >= 0) & kind.endswith("links")
            # a link is both of its arcs; others have one
            arcs = np.stack([network.arc(every.tail, every.port), np.where(links, back, -1)])[:, ~links | ahead]
        self.node = np.append(np.array(nodes, np.int64), np.full(arcs.shape[1], -1))
        self.arcs = np.append(np.full((len(nodes), 2), -1), arcs.T, axis=0)
        self.kind, self.elements, self.ports = kind, len(self.node), network.ports

    def random_sets(self, start: int, stop: int, size: int, seed: int) -> Ints:
        """Return random sets of ``size`` different elements, the same for the same block and seed."""
        return draw_sets(np.random.default_rng([seed, start]), self.elements, stop - start, size)

    def lying_sets(self, sizes: list[tuple[int, int]]) -> Iterator[tuple[Elements, Elements]]:
        """Yield every pair of a set that fails and one that lies, of these sizes, that have no element in common."""
        for dying, lying in sizes:
            for dead in combinations(range(self.elements), dying):
                # who is dead cannot lie
                others = [e for e in range(self.elements) if e not in dead]
                yield from ((dead, liars) for liars in combinations(others, lying))

    def random_lying_sets(self, sizes: tuple[int, int], count: int, seed: int) -> Iterator[tuple[Elements, Elements]]:
        """Yield random pairs of sets of these sizes, of elements that fail and others that lie, the same for the same seed."""
        random = np.random.default_rng(seed)
        for _ in range(count):
            drawn = random.choice(self.elements, sum(sizes), replace=False).tolist()
            yield tuple(drawn[: sizes[0]]), tuple(drawn[sizes[0] :])

    def faults(self, elements: Ints | Elements) -> Faults:
        """Return the faults that some elements are, from the start."""
        nodes = {int(self.node[e]): 0 for e in elements if self.node[e] >= 0}
        arcs = {divmod(int(arc), self.ports): 0 for e in elements for arc in self.arcs[e] if arc >= 0}
        return Faults(nodes, arcs)


def sets_in_order(elements: int, start: int, stop: int, size: int) -> Ints:
    """Return the sets number ``start … stop-1`` of ``size`` of ``0 … elements-1``, in lexicographic order: int64 (sets, size)."""
    from treecast.simulation.kernels.replay import next_sets

    first, rank, low = list[int](), start, 0
    for place in range(size):
        # sets that begin with a lesser element are passed over all at once
        while rank >= (skipped := comb(elements - low - 1, size - place - 1)):
            rank -= skipped
            low += 1
        first.append(low)
        low += 1
    sets = np.empty((stop - start, size), np.int64)
    next_sets(np.array(first, np.int64), elements, sets)
    return sets


def draw_sets(random: np.random.Generator, elements: int, count: int, size: int) -> Ints:
    """Return ``count`` random sets of ``size`` of ``0 … elements-1``, each as likely as any other: int64 (count, size)."""
    sets = np.full((count, size), -1, np.int64)
    for place, most in enumerate(range(elements - size, elements)):  # Floyd's way to draw without repeats
        drawn = random.integers(most + 1, size=count)  # one of 0 … most, and ``most`` itself where that is taken
        taken = (sets[:, :place] == drawn[:, None]).any(axis=1)
        sets[:, place] = np.where(taken, most, drawn)
    return sets


class Hit(NamedTuple):
    """A failing set, and a node and an atom that are lost under it."""

    elements: Ints
    node: int
    atom: int


class SetReplay:
    """A schedule and the elements that can fail, as arrays and nothing else, so that other processes can be sent it.

    The elements are ``node`` and ``arcs``, as in FaultSets. ``bounds``: the first chunk of each atom, int64 (atoms + 1,).
    ``work``: about how many words a replay of 64 sets reads.
    """

    def __init__(self, schedule: Schedule, node: Ints, arcs: Ints) -> None:
        schedule = schedule.plain()
        network, rows = schedule.network, schedule.rows
        atoms = cut_into_atoms(schedule)
        moves = find_moves(schedule, atoms)
        order, own = np.arange(len(atoms)), 0
        if schedule.initiator is not None:
            # its atoms go first: nodes send others from when they have the first of them
            first, stop = atoms.of_source(schedule.collective, schedule.initiator)
            # the initiator's atoms are the last of those up to ``stop``: turned to the front
            order, own = np.roll(order[:stop], stop - first), stop - first
            order = np.concatenate([order, np.arange(stop, len(atoms))])
        # arrays that can be written to, as those that another process is sent: the compiler tells them from others
        # the columns of rows, by move: a replay reads it from beginning to end, for each 64 sets, and looks nothing up
        row, back = moves.row, schedule.arcs_back
        src, dst, arc = rows.src[row], rows.dst[row], network.arc(rows.src, rows.port)[row]
        late = schedule.late(schedule.model)
        given, wanted = (_by_atom(atoms, h) for h in (schedule.part.given(), schedule.part.wanted()))
        self.bounds = atoms.bounds
        self.work = 2 * len(row) + network.nodes * (len(atoms) + 1) + network.nodes * network.ports
        by_move = moves.start, np.arange(len(row)), moves.time, src, dst, arc, late[row], moves.coming(late)
        sizes = network.nodes, network.nodes * network.ports + 1  # one more: no arc
        back = back[row] if len(back) else back.copy()
        self._given = (node, arcs), by_move, sizes, back, order, own, given, wanted

    def try_sets(self, sets: Ints) -> tuple[Ints, Hit | None]:
        """Replay under each set, int64 (sets, size); return how many living nodes lack something, and the first such set.

        The numbers are int64 (sets,).
        """
        from treecast.simulation.kernels.replay import first_failing

        lacking = np.zeros(len(sets), np.int64)
        index, node, atom = first_failing(sets, *self._given, lacking)
        return lacking, None if index < 0 else Hit(sets[index], int(node), int(atom))


def _by_atom(atoms: Atoms, holdings: Holdings) -> tuple[Ints, Ints]:
    """Return where in the second array the nodes of each atom begin, and those nodes."""
    node, atom = atoms.table(holdings)
    order = np.argsort(atom, kind="stable")
    return np.searchsorted(atom[order], np.arange(len(atoms) + 1)), node[order]
