"""Who holds and who wants what in any collective: by nodes, as holdings, and by chunks, as the classes of a demand."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from treecast.collectives.demand import Demand
from treecast.collectives.holdings import Holdings
from treecast.collectives.lengths import Lengths
from treecast.networks.core import Ints
from treecast.ragged import runs, starts

if TYPE_CHECKING:
    from treecast.collectives.collective import Collective


def classes_of(collective: "Collective") -> tuple[Demand, Ints]:
    """Return the demand that a collective is, and the first chunk of each class: see ``Collective.classes``."""
    if (demand := collective.demand) is not None:  # finished sums are numbered between the sums and the copies
        block = np.arange(len(demand))
        return demand, collective.begins()[np.where(block < demand.sums, block, block + demand.sums)]
    kind, ranks, block = collective.traits, collective.ranks, np.arange(collective.first_blocks)
    root, one = np.full((len(block), 1), collective.root), np.ones((len(block), 1), np.int64)
    # 1. who holds each block, and who wants it: tables with a row for each block
    home, own = collective.home_of_block(block)[:, None], block[:, None] % collective.nodes
    many = {"every": ranks, "all": ranks, "targets": np.array(collective.targets, np.int64)}
    holder, want = (
        one * many[of] if of in many else {"root": root, "own": single}[of]
        for of, single in ((kind.starts, home), (kind.ends, own))
    )
    # 2. without blocks of relays, and without those that hold a copy already, or all of a sum
    # everybody lacks a sum, those who give to it, too; but a rank alone has it
    lacks = np.isin(want, ranks) & ((kind.adds and len(ranks) > 1) | (want != holder[:, :1]))
    used = np.isin(np.hstack([home, own]), ranks).all(axis=1) if kind.blocks != "one" else True
    some = np.flatnonzero(lacks.any(axis=1) & used & (collective.sizes() > 0))
    parts = holder.shape[1]
    demand = Demand(
        collective.sizes()[some],
        np.arange(len(some) + 1) * parts,
        np.arange(len(some) * parts + 1),
        holder[some].reshape(-1),
        starts(lacks[some].sum(axis=1)),
        want[some][lacks[some]],
    )
    return demand, collective.begins()[some]


def holdings_before(collective: "Collective") -> Holdings:
    """Return who holds which chunks before the first step."""
    # From the special to the general: a demand says it itself; a root; all; lengths of their own; equal blocks.
    if collective.demand is not None:
        return _of_classes(collective, *collective.demand.held, shift=0)
    starts = collective.traits.starts
    if starts == "root":
        return _at(collective, np.array([collective.root]))
    if starts == "every":
        return _at(collective, collective.ranks)
    if collective.lengths is not None:
        return _messages(collective.lengths, collective.home_of_block)
    if collective.traits.blocks == "node":
        return _own(collective)
    (first, stop), ranks = _used(collective), collective.ranks
    # the blocks of pairs from rank h begin at h·N·M
    begin = np.repeat(ranks * collective.nodes * collective.messages, len(first))
    node = np.repeat(ranks, len(first))
    return Holdings(node, begin + np.tile(first, len(ranks)), begin + np.tile(stop, len(ranks)))


def holdings_after(collective: "Collective") -> Holdings:
    """Return who must hold which chunks after the last step."""
    if collective.demand is not None:
        return _of_classes(collective, *collective.demand.wanted, shift=collective.sums)
    ends, ranks = collective.traits.ends, collective.ranks
    if ends == "root":
        return _at(collective, np.array([collective.root]))
    if ends == "targets":
        return _at(collective, np.array(collective.targets, np.int64), shift=collective.sums)
    if ends == "all":
        return _at(collective, ranks, shift=collective.sums)
    if collective.lengths is not None:
        return _messages(collective.lengths, lambda block: block % collective.nodes)
    if collective.traits.blocks == "node":
        return _own(collective)
    first = (ranks[:, None] * collective.nodes + ranks).reshape(-1) * collective.messages
    return Holdings(np.tile(ranks, len(ranks)), first, first + collective.messages)


def _of_classes(collective: "Collective", number: Ints, node: Ints, shift: int) -> Holdings:
    """Return that some nodes hold classes of a demand, a number and a node each; ``shift``: sums so many chunks behind."""
    demand, first = collective.classes
    begin = first[number] + shift * (number < demand.sums)
    return Holdings(node, begin, begin + demand.size[number])


def _used(collective: "Collective") -> tuple[Ints, Ints]:
    """Return the ranges of the chunks, finished sums not counted, that are no relay's; of pairs, those of node 0's blocks."""
    if collective.traits.blocks == "one" or collective.lengths is not None:
        return np.zeros(1, np.int64), np.array(
            [collective.messages if collective.lengths is None else collective.chunks]
        )
    # Runs of ranks: with few relays there are few ranges, however many ranks there are.
    mask = np.zeros(collective.nodes, np.bool_)
    mask[collective.ranks] = True
    first, stop = runs(mask)
    return first * collective.messages, stop * collective.messages


def _at(collective: "Collective", node: Ints, shift: int = 0) -> Holdings:
    """Return that some nodes hold all chunks, finished sums not counted; ``shift``: or those so many behind."""
    first, stop = _used(collective)
    columns = np.tile(first, len(node)) + shift, np.tile(stop, len(node)) + shift
    return Holdings(np.repeat(node, len(first)), *columns)


def _own(collective: "Collective") -> Holdings:
    """Return that each rank holds its own block."""
    return Holdings(
        collective.ranks, collective.ranks * collective.messages, (collective.ranks + 1) * collective.messages
    )


def _messages(lengths: Lengths, node_of: Callable[[Ints], Ints]) -> Holdings:
    block = np.flatnonzero(lengths.flits)
    return Holdings(node_of(block), lengths.first[block], lengths.stop[block])
