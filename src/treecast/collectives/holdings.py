"""Holdings: which nodes hold, or must hold, which chunks."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

    def include(self, node: Ints, chunk: Ints) -> NDArray[np.bool_]:
        """Return whether nodes hold chunks: bool, as long as both. The ranges of a node share no chunks.

        >>> from treecast.collectives import Collective
        >>> given = Collective("allgather", nodes=3, messages=2).given()
        >>> given.include(np.array([1, 1, 2]), np.array([1, 2, 5])).tolist()
        [False, True, True]
        """
        most = int(self.stop.max(initial=0)) + 1
        # Node and first chunk in one key: the last range that begins at or before the chunk is the only one that can
        # have it.
        order = np.argsort(self.node * most + self.first)
        keys, stop = (self.node * most + self.first)[order], (self.node * most + self.stop)[order]
        # a chunk beyond all stays in the keys of its node
        place = np.searchsorted(keys, node * most + np.minimum(chunk, most - 1), side="right") - 1
        return (place >= 0) & (node * most + chunk < stop[np.maximum(place, 0)]) if len(keys) else place >= 0

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
