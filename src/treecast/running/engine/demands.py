"""The plan of a demand, carried out on the buffers of its ranks, over any transport.

Each rank tells the others how long its classes are: so who only passes them on knows it, too, and ranks that disagree all learn
so. Then each does its part. A plan of several copies has ways around fewer dead ranks. A call in which some living rank lacks
data in the end is an error at all.
"""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from treecast.collectives import Demand
from treecast.errors import DeliveryError, PlanError
from treecast.networks.core import Ints
from treecast.running.algorithms.sums import Sums
from treecast.running.calls.call import Call
from treecast.running.calls.reader import Entries
from treecast.running.calls.sums import how_of
from treecast.running.calls.table import Caller, Failed, Given, RankCall, name_of
from treecast.running.engine.blocks import bytes_of
from treecast.running.engine.lane import Lane
from treecast.running.engine.memory import Part
from treecast.running.engine.planned import tell_all
from treecast.running.engine.transfers import Transfer, transfers_of
from treecast.running.engine.turns import Turns
from treecast.running.execution.layout import Bytes, check_plan, chunks_of, digest_of, layout_at, ranges_at, sums_at
from treecast.running.groups.group import Group
from treecast.running.groups.members import name_ranks
from treecast.running.groups.shape import Shape
from treecast.running.groups.words import Words
from treecast.running.transport.base import Steps
from treecast.schedule import Schedule

_UNTOLD = -1


class DemandBuffers(NamedTuple):
    """The classes of a demand that a rank gives and wants, in bytes, and how sums are added."""

    demand: Demand
    given: dict[int, Bytes]
    wanted: dict[int, Bytes]
    how: Sums

    @property
    def item(self) -> int:
        """How many bytes an entry has; 0 where this rank does not know it."""
        return 0 if self.how.datatype is None else int(self.how.datatype.extent)


def job_of(ours: Caller, lane_of: Callable[[Group], Lane], plan: Any, ends: tuple[Any, Any], op: Any) -> RankCall:
    """Return the job of a rank: see ``Member.run``. ``ends``: what it sends, and where it receives."""

    def read() -> Given:
        if not isinstance(plan, Schedule):
            raise PlanError(f"a plan is a Schedule, as treecast.plan makes it, not {type(plan).__name__}")
        demand = check_plan(plan, ours.size)
        sent = _read(ours, demand, demand.given_by(ours.rank), ends[0], writable=False)
        received = _read(ours, demand, demand.wanted_by(ours.rank), ends[1], writable=True)
        every = [entries for _, entries in (*sent, *received)]
        how = _how(ours, demand, every, ours.mpi.SUM if op is None else op)

        def finish() -> None:
            for entries in every:
                if entries.finish is not None:
                    entries.finish()

        # -1 is a whole buffer, which is there for its last step alone
        given, wanted = ({k: bytes_of(each.piece) for k, each in side if k >= 0} for side in (sent, received))
        spelled = "" if how.datatype is None else ours.reader.spell(how.datatype)
        words = Words("", None, spelled, name_of(ours.mpi, how.op) if demand.sums else "")
        parts = (DemandBuffers(demand, given, wanted, how),)
        return Given(parts, sum(len(each.piece) for each in every), finish, words, how.bits if demand.sums else "")

    def carry(call: Call, given: Given) -> tuple[None, Failed]:
        _carry(call, lane_of, plan, given.parts[0])
        if given.finish is not None:
            given.finish()
        return None, ()

    name = f"run of plan {digest_of(plan)[:8]}" if isinstance(plan, Schedule) else "run"
    return RankCall(read, carry, words=Words(name))


def _how(ours: Caller, demand: Demand, every: Sequence[Entries], op: Any) -> Sums:
    """Return how entries are added, of a type that a rank without any need not know where nothing is."""
    datatype = every[0].datatype if every else None
    if any(each.datatype != datatype for each in every):
        raise PlanError("all classes of a call have one type of entries: give arrays of one")
    if demand.sums:
        if datatype is None:
            raise PlanError("a rank that has nothing says the type of entries: give an empty array of it")
        ours.reader.check_sum(datatype, op)
        if not op.Is_commutative():
            raise PlanError("sums of a plan are added in its own order: the operation has to commute")
        # a plan adds in an order of its own
        return how_of(ours._replace(sums="any"), datatype, op, 0)
    return Sums(datatype, op, 0)


def _read(
    ours: Caller, demand: Demand, classes: list[int], buffer: Any, *, writable: bool
) -> list[tuple[int, Entries]]:
    """Return the entries of each class in a list of arrays, or in one buffer, in which chunks have as many; -1: of no class."""
    arrays: Any = [] if buffer is None else buffer
    if isinstance(arrays, (list, tuple)) and all(isinstance(each, np.ndarray) for each in cast("list[Any]", arrays)):
        arrays = cast("list[Any]", arrays)
        if len(arrays) != len(classes):
            side = "wants" if writable else "gives"
            raise PlanError(f"rank {ours.rank} {side} classes {classes}, and there are {len(arrays)} arrays")
        return [(k, ours.reader.entries(each, writable=writable)) for k, each in zip(classes, arrays, strict=True)]
    whole: Entries = ours.reader.entries(buffer, writable=writable)
    chunks = int(demand.size[classes].sum())
    # without chunks there must be no entries
    if whole.number % chunks if chunks else whole.number:
        raise PlanError(
            f"{whole.number:,} entries are no {chunks:,} chunks of one length: give an array for each class"
        )
    found, at = [(-1, whole)], 0
    for number in classes:
        size = len(whole.piece) // chunks * int(demand.size[number])
        # the whole has the last step
        found.append((number, whole._replace(piece=whole.piece[at : at + size], finish=None)))
        at += size
    return found


@lru_cache(16)
def _part(plan: Schedule, rank: int, tags: int) -> tuple[Schedule, tuple[Transfer, ...], Any]:
    """Return the rows of a rank, its transfers, and its sums."""
    program = plan.at(rank)
    return program, transfers_of(program, rank, tags), sums_at(program, rank)


def _carry(call: Call, lane_of: Callable[[Group], Lane], plan: Schedule, buffers: DemandBuffers) -> None:
    """Tell how long classes are, and do this rank's part in memory of its own."""
    rank, collective, sums = call.group.rank, plan.collective, plan.collective.sums
    own = digest_of(plan).encode()
    if any(
        other != own for _, other in call.run(tell_all(call.group, own))
    ):  # little data of MPI's has no digest with it
        call.find_unlike()
    lengths, item = _lengths(call, buffers, plan.copies)
    program, transfers, (missing, results) = _part(plan, rank, lane_of(call.group).tags)
    # Chunk c lies in memory[bounds[c] : bounds[c + 1]].
    # chunks are cut between entries, not inside of one
    bounds: list[int] = (layout_at(program, rank, [size // (item or 1) for size in lengths]).bounds * item).tolist()
    memory = np.empty(bounds[-1], np.uint8)

    def view(chunk: int) -> Bytes:
        chunk -= sums * (sums <= chunk < 2 * sums)  # a finished sum takes the place of the sum
        return memory[bounds[chunk] : bounds[chunk + 1]]

    def whole(number: int) -> Bytes:
        first, stop = chunks_of(collective, number)
        return memory[bounds[first] : bounds[stop]]

    def add(into: Bytes, contribution: Bytes) -> None:
        buffers.how.reduce(contribution, into, len(into) // item)

    for number, data in buffers.given.items():
        whole(number)[:] = data
    given = {chunk for number in buffers.given for chunk in range(*chunks_of(collective, number))}
    # A sum is never held from the beginning: it is complete when all contributions are in. `bare`: those to which
    # this rank contributes nothing, so that the first contribution is copied.
    held, bare = (chunk for chunk in given if chunk >= sums), missing.keys() - given
    wanted = {c for a, b in ranges_at(collective.wanted(), rank) for c in range(a, b)}
    part = Part(view, held, missing, results, add, bare=bare)

    def lacks() -> bool:
        members = call.group.agreement.members
        gone = call.group.size - len(members)
        # the lane numbers those that live
        left = tuple(each._replace(peer=members.index(each.peer)) for each in transfers if each.peer in members)
        lost = [each for each in transfers if each.peer not in members]
        return gone >= plan.copies or not wanted <= lane_of(call.group).carry(left, part, Turns(), lost).held

    call.run(_bring(call.group, lacks))
    for number, data in buffers.wanted.items():
        data[:] = whole(number)


def _lengths(call: Call, buffers: DemandBuffers, copies: int) -> tuple[list[int], int]:
    """Return the bytes of each class, and of an entry, as ranks tell them. Raises PlanError at all, where some disagree."""
    classes = len(buffers.demand)
    #   bytes of class 0 | of class 1 | ... | bytes of an entry      int64 each, -1: this rank does not know it
    mine = np.full(classes + 1, _UNTOLD, np.int64)
    mine[-1] = buffers.item or _UNTOLD
    for number, data in (*buffers.given.items(), *buffers.wanted.items()):
        mine[number] = len(data)
    said = dict(call.run(tell_all(call.group, mine.tobytes())))
    if len(gone := [rank for rank in range(call.group.size) if rank not in said]) >= copies:
        raise DeliveryError(_failed(gone))
    ranks = sorted(said)
    table: Ints = np.array([np.frombuffer(said[rank], np.int64) for rank in ranks])
    most = table.max(axis=0)
    # All ranks have the same table, so all find the same difference, and raise alike.
    other, number = np.nonzero((table != most) & (table != _UNTOLD))
    if len(number):
        k, at, first = int(number[0]), int(other[0]), int(np.argmax(table[:, number[0]]))
        what = f"class {k + 1}" if k < classes else "an entry"
        raise PlanError(
            f"{what} has {most[k]:,} bytes at rank {ranks[first]}, and {table[at, k]:,} at rank {ranks[at]}"
        )
    return most[:-1].tolist(), max(int(most[-1]), 0)


def _bring(group: Group, lacks: Callable[[], bool]) -> Steps[None]:
    """Do this rank's part, and end the call as one. Raises DeliveryError at all that live where some lack data."""
    gone = set(range(group.size)) - set(group.agreement.members)
    # This rank lacks something. Any rank's lack is said under its own number, which ends the call for all.
    if lacks():
        group.lack(group.rank)
    try:
        yield from group.settle(Shape("run"))
    except DeliveryError as error:
        gone |= set(group.began) - set(group.agreement.members)
        if not gone:
            raise
        raise DeliveryError(_failed(gone)) from error


def _failed(ranks: Collection[int]) -> str:
    return f"run: {name_ranks(ranks)} failed, and the plan has no way without: plan again for those that live"
