"""Holdings: which nodes hold, or must hold, which chunks."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treecast.networks.core import Ints


@dataclass(frozen=True, eq=False, repr=False)
class Holdings:
    """Holdings, present or due: node ``node[i]`` the chunks ``first[i] … stop[i]-1``.

    Iterating yields each entry as three plain numbers. Two holdings are equal when their columns are.

    Parameters
    ----------
    node : int64 array (entries,)
        Nodes. A node may stand in several entries.
    first, stop : int64 array (entries,)
        The range of chunks that belongs to each.

    Examples
    --------
    >>> from treecast.collectives import Collective
    >>> wanted = Collective("scatter", nodes=3, messages=2).wanted()
    >>> wanted
    <Holdings: 3 ranges of chunks>
    >>> for node, first, stop in wanted:
    ...     print(f"node {node} wants chunks {first} to {stop - 1}")
    node 0 wants chunks 0 to 1
    node 1 wants chunks 2 to 3
    node 2 wants chunks 4 to 5
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
