"""Sums over all ranks: reduce, allreduce, reduce-scatter, scan and exscan, folded in the order of ranks.

A sum is folded where all its contributions are, by ``op.Reduce_local``, rank 0 first. So operations need not commute, and equal
calls give equal bits, the same at all ranks. With ``survive`` the sum is that of one set of ranks for all its entries:

- *little data*: the contributions go to all ranks, those of the dead from whoever has them. All fold what all have.
- *much data*: block b is folded by the b-th living rank and goes to who wants it. When a rank dies before all have all blocks,
  the others begin anew without it. Past cut links they go the way of little data.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from treecast.algorithms.sums import Sums, fold, width_of
from treecast.mpi.ways.call import Call, Piece
from treecast.mpi.ways.outcome import Shape, settle, verdict_of_deaths
from treecast.mpi.ways.personal import go_round
from treecast.mpi.ways.posts import VOID, Posts
from treecast.mpi.ways.spread import exchange, hand_on
from treecast.mpi.ways.views import State

LITTLE = 1 << 20
"""Bytes of all contributions together up to which each rank gets all of them."""


class _Task(NamedTuple):
    """Which sum it is: of whom, for whom. ``prefix``: rank r wants the sum of the ranks up to it, and without it if ``less``."""

    shape: Shape
    prefix: bool = False
    less: bool = False


def allreduce(call: Call, mine: Piece | None, out: Piece | None, how: Sums | None) -> tuple[int, ...]:
    """Bring the sum of all ranks' contributions to all ranks.

    Model: complete network of ranks, any number of ports.

    Parameters
    ----------
    call : Call
        Has begun.
    mine : Piece or None
        This rank's contribution; None when it is in ``out``.
    out : Piece
        Where the sum goes.
    how : Sums
        The same at all ranks.

    Returns
    -------
    tuple of int
        The failed ranks whose contributions are not in the sum.

    Raises
    ------
    DeliveryError
        There is no sum; with ``survive`` at every living rank.
    """
    return _sum(call, (mine, out), how, _Task(Shape("allreduce")))


def reduce(call: Call, mine: Piece | None, out: Piece | None, root: int, how: Sums | None) -> tuple[int, ...]:
    """Bring the sum of all ranks' contributions to the root; ``out`` is None elsewhere. Else as ``allreduce``.

    Returns (root,) when the root has failed.
    """
    shape = Shape("reduce", target=root)
    return verdict_of_deaths(call, shape) if root in call.dead else _sum(call, (mine, out), how, _Task(shape))


def scan(call: Call, mine: Piece | None, out: Piece | None, how: Sums | None) -> tuple[int, ...]:
    """Bring to every rank the sum of the contributions of the ranks up to it. Else as ``allreduce``."""
    return _sum(call, (mine, out), how, _Task(Shape("scan"), prefix=True))


def exscan(call: Call, mine: Piece | None, out: Piece | None, how: Sums | None) -> tuple[int, ...]:
    """Bring to every rank the sum of the contributions of the ranks before it. Else as ``allreduce``.

    At rank 0 ``out`` stays as it is. Where all ranks before have failed it means nothing.
    """
    return _sum(call, (mine, out), how, _Task(Shape("exscan"), prefix=True, less=True))


def reduce_scatter(
    call: Call, mine: Piece | None, out: Piece | None, counts: Sequence[int], how: Sums | None
) -> tuple[int, ...]:
    """Bring to rank r the sum of the r-th block of all ranks' contributions, of ``counts[r]`` entries.

    ``mine`` is never None. Else as ``allreduce``.
    """
    me, outgoing, incoming = call.rank, dict.fromkeys(call.ahead), dict.fromkeys(call.behind)
    parts: dict[int, Piece] = {}
    if not call.refused and how is not None and mine is not None:
        width, first = width_of(mine, how), [0]
        for count in counts:
            first.append(first[-1] + count)
        pieces = [mine[a * width : b * width] for a, b in pairwise(first)]
        parts = call.scratches(range(call.size), len(pieces[me]))
        call.copy(parts[me], pieces[me])
        outgoing, incoming = {r: pieces[r] for r in call.ahead}, {r: parts[r] for r in call.behind}
    shape = Shape("reduce_scatter")
    lacks = exchange(call, outgoing, incoming)
    failed = settle(call, lacks, shape, lambda states: go_round(call, states, lacks, (outgoing, incoming)))
    if not call.refused and how is not None:
        chosen = [parts[r] for r in range(call.size) if r not in failed]
        fold(how, chosen, counts[me])
        call.copy(out, chosen[-1])
    return failed


def _sum(call: Call, ends: tuple[Piece | None, Piece | None], how: Sums | None, task: _Task) -> tuple[int, ...]:
    mine, out = ends
    if call.refused or how is None:
        return _refuse(call, task)
    given: Piece = out if mine is None else mine
    if call.survive and (len(given) * call.size <= LITTLE or call.cuts):
        return _sum_everywhere(call, given, out, how, task)
    if mine is None and call.survive:  # another try needs it again
        given = call.scratch(len(given))
        call.copy(given, out)
    return _sum_in_blocks(call, given, out, how, task)


def _refuse(call: Call, task: _Task) -> tuple[int, ...]:
    """Send voids, in both stages of a sum, for a rank that does not know how long it is."""
    exchange(call, dict.fromkeys(call.ahead), dict.fromkeys(call.behind))
    posts = Posts(call)
    for taker in call.ahead if task.shape.target is None else {task.shape.target} - {call.rank}:
        if not call.is_cut(call.rank, taker):
            posts.send(VOID, taker, call.rank)
    posts.finish()
    return settle(call, set(), task.shape)


def _sum_everywhere(call: Call, given: Piece, out: Piece | None, how: Sums, task: _Task) -> tuple[int, ...]:
    parts, lacks = _contribute(call, given)
    call.next_stage()  # which _refuse takes for that of the results
    failed = settle(call, lacks, task.shape, lambda states: hand_on(call, states, lacks, parts))
    _take_sum(call, [parts[r] if r not in failed else None for r in range(call.size)], out, how, task)
    return failed


def _contribute(call: Call, given: Piece) -> tuple[dict[int, Piece], set[int]]:
    """Bring this rank's contribution to all ranks and theirs here; return where they are, and whose has not come."""
    parts = call.scratches(range(call.size), len(given))
    call.copy(parts[call.rank], given)
    return parts, exchange(call, dict.fromkeys(call.ahead, given), {rank: parts[rank] for rank in call.behind})


def _take_sum(call: Call, parts: Sequence[Piece | None], out: Piece | None, how: Sums, task: _Task) -> None:
    """Fold here what this rank wants; ``parts[r]`` is None where the contribution of rank r is missing."""
    me = call.rank
    if task.shape.target not in (None, me):
        return
    wanted = parts[: me + (not task.less)] if task.prefix else parts
    chosen = [part for part in wanted if part is not None]
    if chosen:
        fold(how, chosen, how.entries)
        call.copy(out, chosen[-1])


def _sum_in_blocks(call: Call, given: Piece, out: Piece | None, how: Sums, task: _Task) -> tuple[int, ...]:
    living = [rank for rank in range(call.size) if rank not in call.dead]
    lacks = _try_blocks(call, (given, out), how, task, living)
    parts: dict[int, Piece] = {}

    def again(states: dict[int, State]) -> bool:
        if parts:
            return hand_on(call, states, lacks, parts)
        lacks.clear()
        if call.cuts:
            found, missing = _contribute(call, given)
            parts.update(found)
            lacks.update(missing)
        else:
            living[:] = sorted(states)
            lacks.update(_try_blocks(call, (given, out), how, task, living))
        return True

    failed = settle(call, lacks, task.shape, again)
    if parts:
        _take_sum(call, [parts[r] if r not in failed else None for r in range(call.size)], out, how, task)
        return failed
    target = task.shape.target
    return failed if target is not None and target in failed else tuple(sorted(set(range(call.size)) - set(living)))


def _try_blocks(
    call: Call, ends: tuple[Piece, Piece | None], how: Sums, task: _Task, living: Sequence[int]
) -> set[int]:
    """Sum block b at the b-th of the living ranks, and bring it to who wants it; return whose data has not come."""
    me, (given, out), width = call.rank, ends, width_of(ends[0], how)
    bounds = [how.entries * k // len(living) * width for k in range(len(living) + 1)]
    block = {rank: slice(bounds[k], bounds[k + 1]) for k, rank in enumerate(living)}
    parts = call.scratches(living, block[me].stop - block[me].start)
    call.copy(parts[me], given[block[me]])
    ahead, behind = ([rank for rank in order if rank in block] for order in (call.ahead, call.behind))
    lacks = exchange(call, {r: given[block[r]] for r in ahead}, {r: parts[r] for r in behind})
    posts = Posts(call)
    owners: Sequence[int] = ()
    if out is not None and _place_of_sum(me, living, task) is not None:
        owners = behind
        for owner in owners:
            posts.receive(out[block[owner]], owner, owner)
    if not lacks:
        fold(how, [parts[rank] for rank in living], len(parts[me]) // width if width else 0)
    for taker in living:
        place = _place_of_sum(taker, living, task)
        if place is None:
            continue
        if taker != me:
            posts.send(VOID if lacks else parts[living[place]], taker, me)
        elif out is not None and not lacks:
            call.copy(out[block[me]], parts[living[place]])
    return lacks | (set(owners) - posts.finish())


def _place_of_sum(taker: int, living: Sequence[int], task: _Task) -> int | None:
    """Return which of the sums in the order of ranks a rank wants, None for none."""
    if task.shape.target not in (None, taker):
        return None
    if not task.prefix:
        return len(living) - 1
    place = living.index(taker) - task.less
    return place if place >= 0 else None
