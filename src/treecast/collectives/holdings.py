"""Holdings: which nodes hold, or must hold, which chunks."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treecast.networks.core import Ints


@dataclass(frozen=True, eq=False, repr=False)
class Holdings:
    """Holdings, present or due: node ``node[i]`` the chunks ``first[i] … stop[i]-1``; int64 (entries,) each.

    A node may stand in several entries. Iterating yields each entry as three plain numbers. Two holdings are equal when their
    columns are.

    >>> from treecast.collectives import Collective
    >>> wanted = Collective("scatter", nodes=3, messages=2).wanted()
    >>> wanted, list(wanted)
    (<Holdings: 3 ranges of chunks>, [(0, 0, 2), (1, 2, 4), (2, 4, 6)])
    """

    node: Ints
    first: Ints
    stop: Ints

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        node: list[int] = self.node.tolist()
        first: list[int] = self.first.tolist()
        stop: list[int] = self.stop.tolist()
        return iter(zip(node, first, stop, strict=True))

    def __len__(self) -> int:
        return len(self.node)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Holdings):
            return NotImplemented
        mine, theirs = (self.node, self.first, self.stop), (other.node, other.first, other.stop)
        return all(map(np.array_equal, mine, theirs))

    def __hash__(self) -> int:
        return hash(tuple(column.tobytes() for column in (self.node, self.first, self.stop)))

    def __repr__(self) -> str:
        return f"<Holdings: {len(self):,} range{'' if len(self) == 1 else 's'} of chunks>"
