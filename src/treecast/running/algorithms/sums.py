"""Sums over all ranks: reduce, allreduce, reduce-scatter, scan and exscan, folded in the order of ranks, or exactly.

A sum is folded where all its contributions are, rank 0 first, or as the true sum. So operations need not commute, and equal sets
of ranks give equal bits, the same at all ranks. When ranks fail, the sum is that of one set of ranks for all its entries:

- *little data*: the contributions go to all ranks, those of the dead from whoever has them. All fold the same contributions.
- *little data whose sum has the same bits in any order*, for all: the transport adds where it can. Who has the sum gives it;
  where nobody has, all begin anew without the dead.
- *little data in a wide group*: it goes up a tree to the first, which folds it, and the sum goes down. When a rank dies before
  all have the sum, they fetch it from somebody who has; else all begin anew without that rank.
- *much data*, and little that all want where the group relays it: block b is folded by the b-th rank that lives and goes to who
  wants it; of little data there is one block. When a rank dies before all have all blocks, they fetch blocks that somebody
  has; else all begin anew without it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from treecast.running.algorithms.exact import Exact
from treecast.running.algorithms.little import Little, copy_here, little, of_barrier
from treecast.running.algorithms.spread import (
    Missing,
    allgather_together,
    bring,
    bring_at_once,
    exchange,
    hand_down,
    hand_up,
    is_shared,
    scratches,
)
from treecast.running.groups.group import Group
from treecast.running.groups.memory import scratch
from treecast.running.groups.shape import Shape
from treecast.running.transport.base import SMALL, Piece, Steps
from treecast.running.transport.together import Together


class Sums(NamedTuple):
    """How entries are added: their datatype, the operation, and how many each rank contributes.

    The bytes of a contribution are entries as they lie in memory, one datatype's extent apart. ``any_order``: their sum has the
    same bits in any order, and a transport may add them. ``bits``: what those of the sum depend on. ``exact``: adds all
    contributions at once, not in the order of ranks.
    """

    datatype: Any
    op: Any
    entries: int
    any_order: bool = False
    bits: str = "by-rank"
    exact: Exact | None = None

    def reduce(self, before: Piece, part: Piece, entries: int) -> None:
        """Leave the sum of two pieces of so many entries in the second; ``reduce_pieces`` of an operation takes no others."""
        add = getattr(self.op, "reduce_pieces", None) or self.op.Reduce_local
        add([before, entries, self.datatype], [part, entries, self.datatype])


class SumTask(NamedTuple):
    """Which sum it is: of whom, for whom. ``prefix``: rank r wants the sum of the ranks up to it, and without it if ``less``."""

    shape: Shape
    prefix: bool = False
    less: bool = False

    @property
    def is_for_all(self) -> bool:
        """Whether all ranks want the sum of all."""
        return self.shape.target is None and not self.prefix

    def place(self, taker: int, living: Sequence[int]) -> int | None:
        """Return which of the sums in the order of ranks a rank wants, None for none."""
        if self.shape.target not in (None, taker):
            return None
        if not self.prefix:
            return len(living) - 1
        place = living.index(taker) - self.less
        return place if place >= 0 else None


_FOR_ALL, _BLOCKS = SumTask(Shape("allreduce")), SumTask(Shape("reduce_scatter"))
UP_TO, BEFORE = SumTask(Shape("scan"), prefix=True), SumTask(Shape("exscan"), prefix=True, less=True)


def of_sum(task: SumTask | None = None) -> Callable[..., Little]:
    """Each gives its contribution, and adds up what it wants the sum of; a sum for one rank names it before how it adds."""

    def of(me: int, size: int, mine: Piece | None, out: Piece | None, *rest: Any) -> Little:
        given: Piece = out if mine is None else mine
        which, how = task or _for_one(rest[0]), rest[-1]

        def added(ranks: list[int]) -> list[int]:
            place = which.place(me, ranks)
            return [] if place is None else ranks[: place + 1]

        places = {} if out is None else {me: out}
        plan = Little([given], len(given), places, added=added, add=partial(fold, how, entries=how.entries))
        plan = plan._replace(target=which.shape.target)
        return plan._replace(adds=how) if how.any_order and which.is_for_all else plan

    return of


def of_reduce_scatter(me: int, size: int, *given: Any) -> Little | None:
    """Each gives all its blocks, and adds up its own block; None where the others' counts are not known."""
    mine, out, counts, how = given
    if counts is None:
        return None
    width, first, how = width_of(mine, how), sum(counts[:me]), how._replace(entries=counts[me])
    plan = of_sum(_BLOCKS)(me, size, mine, out, how)
    return plan._replace(part=slice(first * width, (first + counts[me]) * width), adds=None)


@little(of_sum(_FOR_ALL))
def allreduce(group: Group, mine: Piece | None, out: Piece, how: Sums) -> Missing:
    """Bring the sum of all ranks' contributions to all ranks: up to 64 KiB of them 2 (N - 1) messages, else N times as many, by
    which a rank sends 2 (N - 1) / N of its contribution.

    ``mine``: this rank's contribution; None when it is in ``out``, the place of the sum. ``how``: the same at all ranks. Returns
    the failed ranks whose contributions are not in the sum. Raises DeliveryError, at every rank that lives, when more ranks
    failed than are to be survived.
    """
    return (yield from _sum(group, (mine, out), how, _FOR_ALL))


def _for_one(root: int) -> SumTask:
    return SumTask(Shape("reduce", target=root))


@little(of_sum())
def reduce(group: Group, mine: Piece | None, out: Piece | None, root: int, how: Sums) -> Missing:
    """Bring the sum of all ranks' contributions to the root; ``out`` is None elsewhere. Else as ``allreduce``.

    Returns (root,) when the root has failed.
    """
    return (yield from _sum(group, (mine, out), how, _for_one(root)))


@little(of_sum(UP_TO))
def scan(group: Group, mine: Piece | None, out: Piece, how: Sums) -> Missing:
    """Bring to every rank the sum of the contributions of the ranks up to it. Else as ``allreduce``."""
    return (yield from _sum(group, (mine, out), how, UP_TO))


@little(of_sum(BEFORE))
def exscan(group: Group, mine: Piece | None, out: Piece, how: Sums) -> Missing:
    """Bring to every rank the sum of the contributions of the ranks before it. Else as ``allreduce``.

    At rank 0 ``out`` stays as it is. Where all ranks before have failed it means nothing.
    """
    return (yield from _sum(group, (mine, out), how, BEFORE))


@little(of_reduce_scatter)
def reduce_scatter(group: Group, mine: Piece, out: Piece, counts: Sequence[int], how: Sums) -> Missing:
    """Bring to rank r the sum of the r-th block of all ranks' contributions, of ``counts[r]`` entries. Else as ``allreduce``."""
    me, others, shape = group.rank, group.peers, _BLOCKS.shape
    # Little data first. Else each rank gets its own block of all the others, and folds it by itself.
    failed = yield from bring(group, of_reduce_scatter(me, group.size, mine, out, counts, how), shape)
    if failed is not None:
        return failed
    bounds = [width_of(mine, how) * sum(counts[:k]) for k in range(len(counts) + 1)]
    blocks = {rank: slice(bounds[rank], bounds[rank + 1]) for rank in range(group.size)}
    parts = scratches(group, [me, *others], len(out))
    copy_here(parts[me], mine[blocks[me]])
    yield from exchange(group, {r: mine[blocks[r]] for r in others}, {r: parts[r] for r in others})
    failed = (yield from group.settle(shape)) or ()
    chosen = [parts[rank] for rank in sorted(parts) if rank not in failed]
    fold(how, chosen, counts[me])
    copy_here(out, chosen[-1])
    return failed


@little(of_barrier)
def barrier(group: Group) -> Missing:
    """Return when all ranks that live have called this: (), as nobody's data is missing. It is the sum of nothing."""
    yield from _sum(group, (None, group.memory.take(1)), Sums(None, None, 0), SumTask(Shape("barrier")))
    return ()


def _sum(group: Group, ends: tuple[Piece | None, Piece | None], how: Sums, task: SumTask) -> Missing:
    (mine, out), target = ends, task.shape.target
    if target is not None and target not in group.agreement.members:
        return (target,)
    given: Piece = out if mine is None else mine
    # All ranks choose the same way: only lengths and terms that all share go into the choice.
    in_blocks = task.is_for_all and (group.carrier.relays or (how.any_order and group.goes_together(len(given))))
    is_little = len(given) * group.size <= SMALL and not in_blocks
    if task.prefix if is_shared(group, len(given) * group.size) else is_little:
        return (yield from bring_at_once(group, of_sum(task)(group.rank, group.size, given, out, how), task.shape))
    if mine is None:  # another try needs it again
        given = group.memory.take(len(given))
        copy_here(given, out)
    return (yield from _sum_in_blocks(group, given, out, how, task))


def _sum_in_blocks(group: Group, given: Piece, out: Piece | None, how: Sums, task: SumTask) -> Missing:
    target = task.shape.target
    # `redo`: a contribution that died in the middle may be in some blocks and not in others. `spread`: a finished
    # block is the same for all, so who lacks it fetches it; prefix sums are not.
    shape = task.shape._replace(redo=True, spread=not task.prefix)
    while True:
        living = list(group.agreement.members)
        if target is not None and target not in living:
            return (target,)
        yield from _try_blocks(group, (given, out), how, task, living)
        failed = yield from group.settle(shape)
        if failed is not None:
            # The members at the beginning of this try: the sum has the contributions of exactly these.
            gone = tuple(sorted(set(range(group.size)) - set(living)))
            return failed if target in failed else gone
        group.restart()


def _try_blocks(
    group: Group, ends: tuple[Piece, Piece | None], how: Sums, task: SumTask, living: Sequence[int]
) -> Steps[None]:
    """Sum block b at the b-th of the living ranks, and bring it to who wants it."""
    me, (given, out), width = group.rank, ends, width_of(ends[0], how)
    # 1. A wide group: contributions go up the tree, and the sum comes down.
    if is_shared(group, len(given) * group.size):
        parts = yield from hand_up(group, given, dict.fromkeys(living, len(given)), living[0])
        fold(how, parts, how.entries)
        sum_here = group.memory.take(len(given)) if out is None else out
        copy_here(sum_here, parts[-1] if parts else sum_here)
        yield from hand_down(group, sum_here, living[0], 1, bool(parts))
        return
    # 2. One call of the carrier, where there is one, and the bits do not depend on the order.
    together = group.goes_together(len(given)) if task.is_for_all else None
    if together is not None and how.any_order:
        yield from group.came(together.allreduce(given, out, how), {living[0]: out})
        return
    # 3. Owners: much data is divided among all of them, little data has one.
    owners = living if len(given) * group.size > SMALL else living[:1]
    bounds = [how.entries * k // len(owners) * width for k in range(len(owners) + 1)]
    block = {rank: slice(bounds[k], bounds[k + 1]) for k, rank in enumerate(owners)}
    if together is not None:
        yield from _try_together(group, together, (given, out), how, block)
        return
    # 4. Every owner gets its block of every contribution, and folds them in the order of ranks.
    takers: Sequence[int] = living if me in owners else ()
    parts = scratches(group, takers, block[me].stop - block[me].start if takers else 0)
    if takers:
        copy_here(parts[me], given[block[me]])
    pieces, places = {r: given[block[r]] for r in owners if r != me}, {r: parts[r] for r in takers if r != me}
    lacking = yield from exchange(group, pieces, places)
    # What is awaited next are sums, under the same ranks as names: contributions must not be given to who lacks a
    # sum.
    group.clear()
    if lacking:
        group.lack(me, parts[me])
    elif takers:
        fold(how, [parts[rank] for rank in living], len(parts[me]) // width if width else 0, prefix=task.prefix)
    # 5. Everybody who wants a sum gets the block of each owner; a void where the owner lacks something.
    sums = {rank: place for rank in living if (place := task.place(rank, living)) is not None}
    if out is not None and me in sums:
        for owner in owners:
            if owner != me:
                group.want(owner, owner, out[block[owner]], 1)
    for taker, place in sums.items() if takers else ():
        if taker != me:
            group.give(taker, me, b"" if lacking else parts[living[place]], 1)
        elif out is not None and not lacking:
            copy_here(out[block[me]], parts[living[place]])
    # The last part is the sum of all. Others may fetch it from here.
    if takers and not lacking and not task.prefix:
        group.hold(me, parts[living[-1]])
    yield from group.exchanged()


def _try_together(
    group: Group, together: Together, ends: tuple[Piece, Piece | None], how: Sums, block: dict[int, slice]
) -> Steps[None]:
    """Do the same in two calls of the transport's; ``block``: which bytes each rank sums."""
    me, (given, out), width = group.rank, ends, width_of(ends[0], how)
    lengths = [block[rank].stop - block[rank].start for rank in range(group.size)]
    whole = scratch(lengths[me] * group.size)
    ticket = together.alltoall(given, lengths, whole, lengths[me])
    yield from group.agreement.until(lambda: ticket.over)
    if ticket.lost or out is None:
        for rank in block:  # also this one's, which others have where the second of two calls has failed here
            group.lack(rank, None if out is None else out[block[rank]])
        return
    parts = [whole[k * lengths[me] : (k + 1) * lengths[me]] for k in range(group.size)]
    fold(how, parts, lengths[me] // width if width else 0)
    copy_here(out[block[me]], parts[-1])
    group.hold(me, parts[-1])
    yield from allgather_together(group, together, {rank: out[place] for rank, place in block.items()})


def fold(how: Sums, parts: Sequence[Piece], entries: int, *, prefix: bool = False) -> None:
    """Add parts: afterwards the last is the sum of all, and with ``prefix`` each that of those up to it."""
    if entries and parts and how.exact is not None:
        # From the longest prefix down: each sum takes the place of its last contribution, which shorter prefixes do
        # not need.
        for stop in range(len(parts), 0 if prefix else len(parts) - 1, -1):
            how.exact.fold(parts[:stop])
    elif entries:
        for before, part in pairwise(parts):
            how.reduce(before, part, entries)


def width_of(piece: Piece, how: Sums) -> int:
    """Return how many bytes an entry has."""
    return len(piece) // how.entries if how.entries else 0
