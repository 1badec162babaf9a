"""Sets of ranks: as bits, in words, who has to go where pairs do not hear each other, and which part may go on."""

from collections.abc import Collection, Iterable, Sequence

Pair = tuple[int, int]


def bits_of(ranks: Iterable[int]) -> int:
    """Return a set of ranks as bits.

    >>> bits_of([0, 3])
    9
    """
    return sum(1 << rank for rank in set(ranks))


def ranks_of(bits: int) -> list[int]:
    """Return the ranks of a set of bits, in ascending order.

    >>> ranks_of(9)
    [0, 3]
    """
    return [rank for rank in range(bits.bit_length()) if bits >> rank & 1]


def name_ranks(ranks: Iterable[int]) -> str:
    """Return ranks in words.

    >>> name_ranks([3]), name_ranks([5, 3])
    ('rank 3', 'ranks 3, 5')
    """
    ordered = sorted(ranks)
    return f"rank{'s' if len(ordered) > 1 else ''} {', '.join(map(str, ordered))}"


def cover(pairs: Collection[Pair]) -> set[int]:
    """Return who has to go so that no broken pair is left: as few as can be; of equals those that keep the lowest ranks.

    They are found by branching on the rank with most pairs: 2^f steps at most, f being the answer's length.

    >>> cover([(0, 1)]), cover([(0, 3), (0, 2), (0, 1)]), cover([(0, 3), (1, 3), (1, 2)])
    ({1}, {0}, {2, 3})
    """
    if not pairs:
        return set()
    ends = [rank for pair in pairs for rank in pair]
    worst = max(set(ends), key=lambda rank: (ends.count(rank), rank))  # of equals the highest rank goes first
    # Either this rank goes, or all with whom it has a broken pair do.
    near = {a + b - worst for a, b in pairs if worst in (a, b)}
    one = {worst} | cover([pair for pair in pairs if worst not in pair])
    two = near | cover([pair for pair in pairs if not near & set(pair)])
    # The same at all ranks that know the same pairs: no order of arrival goes into it.
    return min(one, two, key=lambda out: (len(out), [-rank for rank in sorted(out)]))


def may_go_on(left: Sequence[int], members: Sequence[int]) -> bool:
    """Return whether a part goes on when others are only silent: more than half of the members, or half with the lowest.

    The dead count as missing, or two parts could go on: one that has put ranks out and then died, and who was put out.

    >>> may_go_on([2, 3], [0, 1, 2, 3]), may_go_on([0, 3], [0, 1, 2, 3]), may_go_on([1, 2], [0, 1, 2])
    (False, True, True)
    """
    # exactly half: only the half with the lowest rank, so never both
    return 2 * len(left) > len(members) or (2 * len(left) == len(members) and members[0] in left)
