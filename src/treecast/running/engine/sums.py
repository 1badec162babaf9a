"""Sums by plans of a network, by the way that takes least time of those that leave the same bits.

Where the order of additions does not matter, contributions are added on the way, along the trees of the schedule. By rank they
are added at owners, or along a chain of the ranks. Exact sums are added at owners, or along trees as partial sums that are true
or marked. Then all know alike which entries of the result are marked, and sum these anew, at owners.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treecast.collectives import COLLECTIVES, Kind
from treecast.errors import DeliveryError
from treecast.networks import Network
from treecast.running.algorithms.little import copy_here
from treecast.running.algorithms.spread import scratches
from treecast.running.algorithms.sums import Sums, fold, width_of
from treecast.running.calls.call import Call
from treecast.running.calls.table import Failed
from treecast.running.engine.blocks import bytes_of, carry_sum, shape_of, task_of
from treecast.running.engine.choose import AT_OWNERS, SumWay
from treecast.running.groups.memory import scratch
from treecast.running.transport.base import SMALL, Piece, Steps

if TYPE_CHECKING:
    from treecast.running.engine.planned import Planned


class PlannedSum:
    """A sum of one call. ``ends``: the arguments of its algorithm, which ``straight`` takes where there is no plan."""

    def __init__(
        self, planned: "Planned", call: Call, kind: Kind, ends: Sequence[Any], straight: Callable[..., Steps[Failed]]
    ) -> None:
        given, self._out, *self._rest = ends
        self._planned, self._call, self._kind, self._straight = planned, call, kind, straight
        self._shape, self._group, how = shape_of(kind, ends), call.group, self._rest[-1]
        self._how: Sums = how
        self._work: Piece = scratch(len(given)) if self._out is None else self._out
        self._given: Piece = self._work if given is None else given
        if given is None and (how.exact is not None or self._group.terms.survive):  # it may be needed again
            self._given = scratch(len(self._work))
            copy_here(self._given, self._work)
        self._way = SumWay(kind.name)

    def bring(self, *, at_owners: bool = False) -> Failed:
        """Bring the sum of all contributions to who wants it; return the failed ranks whose contributions are not in it.

        Where a rank dies before marked entries are summed anew, whose contributions are in the others, all are.
        """
        failed = set[int]()
        while True:
            failed.update(self._call.run(self._add(at_owners)))
            again = self._marked()
            if not len(again):
                return tuple(sorted(failed))
            among, entries = set(self._group.began) - failed, self._how.entries
            # Only the marked entries, packed one behind the other. With true sums at owners nothing can be marked a
            # second time.
            mine = bytes_of(self._given).reshape(entries, -1)[again]
            found = np.empty_like(mine)
            ends = [mine.reshape(-1).data, None if self._out is None else found.reshape(-1).data]
            ends += [*self._rest[:-1], self._how._replace(entries=len(again))]
            if mine.nbytes < SMALL:
                lost = self._call.run(self._straight(*ends))
            else:
                few = PlannedSum(self._planned, self._call, self._kind, ends, self._straight)
                lost = few.bring(at_owners=True)
            # The other entries have the contributions of `among`. With an entry of fewer ranks beside them the sum
            # would be that of no one set.
            if (left := set(self._group.began) - set(lost)) == among:
                bytes_of(self._work).reshape(entries, -1)[again] = found
                return tuple(sorted({*failed, *lost}))
            failed |= among - left

    def _marked(self) -> Sequence[int]:
        """Return the entries that are to be summed anew, the same at all ranks."""
        exact = self._how.exact
        return exact.marked(self._work, self._how.entries).tolist() if exact and self._way.is_partial else ()

    def _add(self, at_owners: bool) -> Steps[Failed]:
        """Bring the sum to who wants it, by plans or straight; ``at_owners``: by no other way."""
        how, shape = self._how, self._shape

        def go(where: Network) -> tuple[set[int], int]:
            if at_owners or (how.exact is not None and how.exact.columns):
                self._way = AT_OWNERS
            elif not (how.any_order or how.bits == "any"):
                size, exact = len(self._given), how.exact is not None
                self._way = self._planned.way(self._group, self._kind, where, size, exact=exact)
            is_whole = self._add_at_owners(where) if self._way == AT_OWNERS else self._add_on_the_way(where)
            if self._group.carrier.alone and not is_whole:
                rank = self._group.rank
                raise DeliveryError(f"{shape.name}: rank {rank} lacks parts of the sum; survive=0 outlives no death")
            return set() if is_whole else {self._group.rank}, 0

        failed = yield from self._planned.settle(self._group, shape, go)
        if failed is None or shape.target in failed:
            self._way = AT_OWNERS  # nothing is marked
        return (yield from self._straight(self._given, self._out, *self._rest)) if failed is None else failed

    def _add_on_the_way(self, where: Network) -> bool:
        """Add contributions along the plan of a sum, and return whether all of it has come."""
        way, exact, received = self._way, self._how.exact, bytes_of(self._work)
        mine = exact.begin(self._given) if exact is not None and way.is_partial else None
        copy_here(self._work, self._given)
        end, size = self._shape.target if way.kind == self._kind.name else None, len(received if mine is None else mine)
        sizes = [size if COLLECTIVES[way.kind].blocks == "one" else -(-size // where.nodes)]
        me, (_, role, _), run = self._planned.part(self._group, where, way.kind, sizes, end, by_rank=way.by_rank)
        return carry_sum(received, self._how, me, role, run, partial=mine)

    def _add_at_owners(self, where: Network) -> bool:
        """Sum block b at the b-th member, by the plan of an alltoall, and bring it to who wants it by another.

        Return whether all has come. The block of an owner that lacks contributions goes out, too: it says so, and all begin anew.
        """
        given, out, how, group, bring = self._given, self._out, self._how, self._group, self._planned.bring
        members, nothing, me, width = group.agreement.members, given[:0], group.rank, width_of(given, how)
        bounds = [how.entries * k // len(members) * width for k in range(len(members) + 1)]
        # The b-th member owns block b: cut between entries, and as even as that allows.
        block = {rank: slice(bounds[k], bounds[k + 1]) for k, rank in enumerate(members)}
        came = scratches(group, members, block[me].stop - block[me].start)

        def of_all(pieces: Mapping[int, Piece]) -> list[Piece]:
            return [pieces.get(rank, nothing) for rank in range(group.size)]

        lengths = [block[rank].stop - block[rank].start for rank in members]
        kind, to_all, to_one = map(COLLECTIVES.__getitem__, ("alltoall", "allgather", "gather"))
        task = task_of(kind, me, (of_all({rank: given[block[rank]] for rank in members}), of_all(came)))
        lacking, _ = bring(group, where, kind, task._replace(lengths=lengths), copies=False)
        if not lacking:
            fold(how, [came[rank] for rank in members], lengths[members.index(me)] // width)
        # The second plan is another instance: its keys must not meet messages of the first that are still under way.
        group.restart()
        places, end = None if out is None else of_all({rank: out[block[rank]] for rank in members}), self._shape.target
        kind = to_all if end is None else to_one
        task = task_of(kind, me, (came[members[-1]], places, *([] if end is None else [end])))
        return not (lacking | bring(group, where, kind, task._replace(lengths=lengths), copies=False)[0])
