"""Orbits on a network that lacks few arcs of one with a symmetry: what is not sent there, and the rows that make up for it.

All rows are written as on the whole network, ports too. Its symmetry carries those of the orbit as it does there. What would go
over an arc that is not there is not sent, nor what waits for it. The last rows, which stand *alone*, are sent once each, when the
orbit has ended.
"""

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from treecast.networks.arcs import arcs_of, new_arcs
from treecast.ragged import Ints, explode, starts
from treecast.schedule.carrying import carry_chunks, carry_keys, symmetry_of
from treecast.schedule.payloads import Payloads
from treecast.schedule.rows import Rows

if TYPE_CHECKING:
    from treecast.schedule.schedule import Schedule


class Torn:
    """An orbit on a network that lacks arcs of the ``whole`` one, ``base`` by itself there.

    ``moves`` is the base with a row for each run of chunks that go together. Row r as element g carries it has the number
    r · order + g; ``cut`` are those that are not sent, ascending, and ``hits`` those over arcs that are not there, int64.
    """

    def __init__(self, schedule: "Schedule") -> None:
        self.schedule, self.base, self.network = schedule, schedule.base, schedule.network
        self.alone = schedule.rows.take(np.arange(len(self.base), len(schedule.rows)))

    @cached_property
    def moves(self) -> "Schedule":
        """The orbit on the whole network, each row of which carries chunks that all its rows carry together."""
        from treecast.schedule.atoms import cut_into_atoms, find_moves

        atoms = cut_into_atoms(self.base)
        found, rows = find_moves(self.base, atoms), self.base.rows
        columns = {name: column[found.row] for name, column in rows.columns().items()}
        columns |= {"step": found.time, "steps": atoms.steps[found.atom], "payload": found.atom}
        return replace(self.base, rows=Rows.of(Payloads.of_ranges(atoms.bounds[:-1], atoms.bounds[1:]), **columns))

    @cached_property
    def gone(self) -> Ints:
        """The numbers of the arcs of the whole network that are not there."""
        return np.flatnonzero(self._arc < 0)

    @cached_property
    def _arc(self) -> Ints:
        return new_arcs(self.base.network, self.network)

    @cached_property
    def hits(self) -> Ints:
        """The moves that are carried onto arcs that are not there."""
        arcs, rows, symmetry = arcs_of(self.base.network), self.moves.rows, symmetry_of(self.base)
        src, port = rows.src.astype(np.int64), rows.port.astype(np.int64)
        # only rows whose arc the symmetry carries there can hit it
        orbit, found = symmetry.orbit_of(src, port), [np.empty(0, np.int64)]
        tail, by = arcs.tail[self.gone].astype(np.int64), arcs.port[self.gone].astype(np.int64)
        for u, p, of in zip(tail.tolist(), by.tolist(), symmetry.orbit_of(tail, by).tolist(), strict=True):
            some = np.flatnonzero(orbit == of)
            at, element = symmetry.onto(src[some], u)  # which elements carry the source to the tail
            row = some[at]
            there = symmetry.carry_port(element, src[row], port[row]) == p
            found.append((row * symmetry.order + element)[there])
        return np.concatenate(found)

    @cached_property
    def cut(self) -> Ints:
        """The moves that are not sent: the hits, and those that wait for what others of them would bring."""
        order, (first, follower) = symmetry_of(self.base).order, self._followers
        cut = new = np.unique(self.hits)
        while len(new):  # what waits for a cut move is cut, too
            row, element = np.divmod(new, order)
            of, entry = explode(first, row)
            # each move is cut once, so this ends
            new = np.setdiff1d(follower[entry] * order + element[of], cut)
            cut = np.union1d(cut, new)
        return cut

    @cached_property
    def _followers(self) -> tuple[Ints, Ints]:
        """The moves that wait for each: a chunk is sent on when it has come for the first time."""
        moves, rows, nodes = self.moves, self.moves.rows, self.network.nodes
        chunk = rows.payloads.first[rows.payload]  # a payload is one range
        came, left = chunk * nodes + rows.dst, chunk * nodes + rows.src  # chunk and node in one number
        order = np.lexsort((rows.step + moves.late(moves.model), came))
        entry, first = np.unique(came[order], return_index=True)
        # a number past the last entry has no place
        at = np.minimum(np.searchsorted(entry, left), max(len(entry) - 1, 0))
        # a node's own data waits for nothing
        waits = np.flatnonzero((entry[at] == left) & (rows.src != np.array(moves.roots)[chunk // moves.part.chunks]))
        after = order[first[at[waits]]]
        return starts(np.bincount(after, minlength=len(rows))), waits[np.argsort(after, kind="stable")]

    @property
    def transmissions(self) -> int:
        """How many sends there are: those of the orbit but for those that are cut, and those that stand alone."""
        cut = self.moves.rows.chunks_sent[self.cut // symmetry_of(self.base).order]
        return self.base.transmissions - int(cut.sum()) + int(np.maximum(self.alone.chunks_sent, 1).sum())

    @property
    def rest(self) -> "Schedule":
        """What is sent, on this network, of chunks of which something is cut, and the rows that stand alone."""
        rows = self.sent(self.touched)
        return replace(self.schedule, rows=rows, orbit=False, alone=0, claims=None)

    def sent(self, numbers: Ints) -> Rows:
        """Return some moves, but for those that are cut, and the rows that stand alone, with the ports of the rest."""
        numbers = numbers[~np.isin(numbers, self.cut)]
        parts = carry_keys(self.moves, numbers), self.alone
        columns = {name: np.concatenate([part.columns()[name] for part in parts]) for name in parts[0].columns()}
        # numbered behind those of the moves
        columns["payload"] = np.concatenate([parts[0].payload, parts[1].payload + np.int64(len(parts[0].payloads))])
        columns["port"] = self._port(columns["src"].astype(np.int64), columns["port"].astype(np.int64))
        return Rows.of(Payloads.concatenated([part.payloads for part in parts]), **columns)

    @cached_property
    def _runs(self) -> tuple[Ints, Ints]:
        """The runs of chunks of which some move is cut: payloads of moves, and the elements that carry them."""
        order, rows = symmetry_of(self.base).order, self.moves.rows
        row, element = np.divmod(self.cut, order)
        return np.divmod(np.unique(rows.payload[row].astype(np.int64) * order + element), order)

    @property
    def touched(self) -> Ints:
        """The moves of all runs of chunks of which some move is cut."""
        (which, element), payload = self._runs, self.moves.rows.payload
        # moves by their payload
        by, start = np.argsort(payload, kind="stable"), starts(np.bincount(payload))
        of, entry = explode(start, which)
        return by[entry] * symmetry_of(self.base).order + element[of]

    def _port(self, src: Ints, port: Ints) -> Ints:
        """Return by which port an arc of the whole network leaves here; -1 where it is not there."""
        arcs = arcs_of(self.base.network)
        at = np.minimum(arcs.number(src, np.maximum(port, 0)), len(arcs.tail) - 1)
        there = (arcs.tail[at] == src) & (arcs.port[at] == port) & (self._arc[at] >= 0)
        return np.where(there, arcs_of(self.network).port[self._arc[at]], -1)

    @property
    def places(self) -> Ints:
        """The number in the whole network of each arc that is there: int64 (arcs,)."""
        left = np.flatnonzero(self._arc >= 0)
        return left[np.argsort(self._arc[left])]

    @cached_property
    def lost(self) -> tuple[Ints, Ints]:
        """The first chunk of each run of which some move is cut, and how many it has: int64 (runs,)."""
        which, element = self._runs
        table = self.moves.rows.payloads
        return carry_chunks(self.moves, element, table.first[which]), table.lengths[which]
