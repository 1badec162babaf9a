"""Traits of kinds of collectives: those who plan and bound them ask what a row of the table says, never for its name.

A trait is a function of a kind. A new row of the table is planned and bounded by all who ask for a trait that it has.
"""

from collections.abc import Callable
from dataclasses import replace

from treecast.collectives.kinds import Kind

Trait = Callable[[Kind], bool]


def every_kind(kind: Kind) -> bool:
    """Return True, whatever the kind."""
    return True


def one_to_all(kind: Kind) -> bool:
    """Return whether one node's data reaches every node, as in a broadcast."""
    return (kind.blocks, kind.starts, kind.ends) == ("one", "root", "all")


def one_to_each(kind: Kind) -> bool:
    """Return whether one node deals blocks of one length out, as in a scatter."""
    return (kind.blocks, kind.starts, kind.ends) == ("node", "root", "own") and not kind.lengths


def all_to_all(kind: Kind) -> bool:
    """Return whether every node's block, of one length, reaches every node, as in an allgather."""
    return (kind.blocks, kind.starts, kind.ends) == ("node", "own", "all") and not kind.lengths


def each_to_each(kind: Kind) -> bool:
    """Return whether every node has a block of one length for every other, as in an alltoall."""
    return (kind.blocks, kind.starts, kind.ends) == ("pair", "own", "own") and not kind.lengths


def one_to_some(kind: Kind) -> bool:
    """Return whether one node's data reaches the nodes that are given, as in a multicast."""
    return (kind.blocks, kind.starts, kind.ends) == ("one", "root", "targets")


def of_classes(kind: Kind) -> bool:
    """Return whether it is a demand, whose classes say who has and who wants what."""
    return kind.blocks == "class"


def one_with_each(kind: Kind) -> bool:
    """Return whether one node deals out, or collects, blocks of different lengths, which go one way each."""
    return kind.one_way


def sums_for_all(kind: Kind) -> bool:
    """Return whether sums reach every node."""
    return kind.adds and kind.ends == "all"


def blocks_of_sums_for_all(kind: Kind) -> bool:
    """Return whether sums that several nodes own reach every node, as in an allreduce."""
    return sums_for_all(kind) and kind.blocks == "node"


def of_any_length(trait: Trait) -> Trait:
    """Return the trait of kinds that have another one, whatever the lengths of their blocks.

    >>> from treecast.collectives import COLLECTIVES
    >>> [name for name, kind in COLLECTIVES.items() if of_any_length(each_to_each)(kind)]
    ['alltoall', 'alltoallv']
    """
    return lambda kind: trait(replace(kind, lengths=False))


def of_unequal_lengths(trait: Trait) -> Trait:
    """Return the trait of kinds that have another one, but for blocks of different lengths."""
    return lambda kind: kind.lengths and trait(replace(kind, lengths=False))
