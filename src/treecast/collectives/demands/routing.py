"""Tokens to their experts, and back: each token goes once to each rank that has some of its experts."""

import numpy as np
from numpy.typing import ArrayLike

from treecast.collectives import Demand
from treecast.errors import PlanError
from treecast.networks.core import Ints
from treecast.ragged import starts


def dispatch(
    routing: ArrayLike, ranks: int, experts_per_rank: int, *, source: ArrayLike | None = None, twice: bool = False
) -> Demand:
    """Return the demand of tokens that go to their experts.

    Parameters
    ----------
    routing : array_like of int, (tokens, top)
        The experts of each token. Rank r has the experts ``r * experts_per_rank`` and on.
    ranks : int
        How many there are.
    experts_per_rank : int
        How many each has.
    source : array_like of int, (tokens,), optional
        The rank that has each token; by default all have as many, in order.
    twice : bool
        Whether a token goes to a rank once for each expert that it has there, and not once in all.

    Raises
    ------
    PlanError
        For an expert or a rank that is none.

    Examples
    --------
    >>> from treecast.collectives.demands import dispatch
    >>> print(dispatch([[0, 1], [3, 5], [0, 5]], ranks=3, experts_per_rank=2))
    1: 1 > 2
    1: 2 > 0
    >>> print(dispatch([[0, 5], [3, 5], [0, 5]], ranks=3, experts_per_rank=2))
    1: 0 > 2
    1: 1 > 2
    1: 2 > 0
    """
    # 1. Where each token is, and at which ranks its experts are.
    chosen, own = _read(routing, ranks, experts_per_rank, source)
    target = chosen // experts_per_rank
    tokens = len(own)
    if twice:  # a token goes once for each expert
        token, place = np.nonzero(target != own[:, None])
        wants, want = np.arange(len(token) + 1), target[token, place]
        return _copies(own[token], wants, want)
    # 2. A table of tokens and ranks: two experts at one rank are one place, to which the token goes once.
    hit = np.zeros((tokens, ranks), np.bool_)
    hit[np.arange(tokens)[:, None], target] = True
    hit[np.arange(tokens), own] = False  # what is here need not travel
    token, want = np.nonzero(hit)
    count = np.bincount(token, minlength=tokens)
    # 3. Tokens that go nowhere are left out.
    some = np.flatnonzero(count)
    return _copies(own[some], starts(count[some]), want)


def combine(routing: ArrayLike, ranks: int, experts_per_rank: int, *, source: ArrayLike | None = None) -> Demand:
    """Return the demand of what experts make of tokens: for each token a sum over the ranks of its experts, where it came from.

    The arguments are those of ``dispatch``; it is that, backwards.

    >>> from treecast.collectives.demands import combine
    >>> print(combine([[0, 5], [3, 5], [0, 5]], ranks=3, experts_per_rank=2))
    1: 0 + 2 > 0
    1: 1 + 2 > 1
    1: 0 + 2 > 2
    """
    chosen, own = _read(routing, ranks, experts_per_rank, source)
    hit = np.zeros((len(own), ranks), np.bool_)
    hit[np.arange(len(own))[:, None], chosen // experts_per_rank] = True
    # A token whose only expert is at its own rank needs no message.
    away = hit.any(axis=1) & ~((hit.sum(axis=1) == 1) & hit[np.arange(len(own)), own])
    token, part = np.nonzero(hit[away])
    count = np.bincount(token, minlength=int(away.sum()))
    every, one = np.arange(len(token) + 1), np.arange(int(away.sum()) + 1)
    return Demand(np.ones(len(count), np.int64), starts(count), every, part, one, own[away])


def _copies(holder: Ints, wants: Ints, want: Ints) -> Demand:
    every = np.arange(len(holder) + 1)
    return Demand(np.ones(len(holder), np.int64), every, every, holder, wants, want)


def _read(routing: ArrayLike, ranks: int, each: int, source: ArrayLike | None) -> tuple[Ints, Ints]:
    """Return the experts of each token, and its source. Raises PlanError for numbers that are none."""
    chosen = np.asarray(routing)
    if chosen.ndim != 2 or chosen.dtype.kind not in "iu":
        raise PlanError(f"routing is a table of whole numbers, tokens x experts of each, not of shape {chosen.shape}")
    if ranks < 1 or each < 1 or (chosen.size and not 0 <= int(chosen.min()) <= int(chosen.max()) < ranks * each):
        raise PlanError(f"routing names experts from 0 to {ranks * each - 1:,}: {ranks:,} ranks have {each:,} each")
    own = np.arange(len(chosen)) * ranks // max(1, len(chosen)) if source is None else np.asarray(source)
    if own.shape != chosen.shape[:1] or (own.size and not 0 <= int(own.min()) <= int(own.max()) < ranks):
        raise PlanError(f"each of {len(chosen):,} tokens has a source, a rank from 0 to {ranks - 1:,}")
    return chosen.astype(np.int64), own.astype(np.int64)
