"""A schedule as arrays that are replayed under many sets of faults, 64 sets at once."""

from typing import NamedTuple

import numpy as np

from treecast.collectives import Holdings
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.schedule.atoms import Atoms, cut_into_atoms, find_moves


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
            order, own = np.roll(order[:stop], stop - first), stop - first
            order = np.concatenate([order, np.arange(stop, len(atoms))])
        # arrays that can be written to, as those that another process is sent: the compiler tells them from others
        # the columns of rows, by move: a replay reads it from beginning to end, for each 64 sets, and looks nothing up
        row, back = moves.row, schedule.arcs_back
        src, dst, arc = rows.src[row], rows.dst[row], network.arc(rows.src, rows.port)[row]
        given, wanted = (_by_atom(atoms, h) for h in (schedule.part.given(), schedule.part.wanted()))
        self.bounds = atoms.bounds
        self.work = 2 * len(row) + network.nodes * (len(atoms) + 1) + network.nodes * network.ports
        self._elements = (node, arcs)
        self._moves = (moves.start, np.arange(len(row)), moves.time, src, dst, arc)
        self._sizes = (network.nodes, network.nodes * network.ports + 1)
        self._known = (back[row] if len(back) else back.copy(), order, own, *given, *wanted)

    def try_sets(self, sets: Ints) -> tuple[Ints, Hit | None]:
        """Replay under each set, int64 (sets, size); return how many living nodes lack something, and the first such set.

        The numbers are int64 (sets,).
        """
        from treecast.kernels.simulation.replay import first_failing

        lacking = np.zeros(len(sets), np.int64)
        index, node, atom = first_failing(sets, *self._elements, *self._moves, *self._sizes, *self._known, lacking)
        return lacking, None if index < 0 else Hit(sets[index], int(node), int(atom))


def _by_atom(atoms: Atoms, holdings: Holdings) -> tuple[Ints, Ints]:
    """Return where in the second array the nodes of each atom begin, and those nodes."""
    node, atom = atoms.table(holdings)
    order = np.argsort(atom, kind="stable")
    return np.searchsorted(atom[order], np.arange(len(atoms) + 1)), node[order]
