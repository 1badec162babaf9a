"""The faults that copies are good against: they stop a way, so no two ways of a chunk may share such a part.

Ways that share no node but their ends share no link, and ways that share no link share no arc. So copies against nodes are good
against links, and those against links are good against arcs.
"""

from typing import Literal

Against = Literal["nodes", "links", "arcs"]
"""The parts that may fail: nodes, links (both arcs between two nodes at once), or single arcs."""
AGAINST: tuple[Against, ...] = ("nodes", "links", "arcs")
"""All of them: copies against one are good against those behind it."""


def covers(strong: Against, weak: Against) -> bool:
    """Return whether ways that are apart for the first are apart for the second.

    >>> covers("nodes", "arcs"), covers("arcs", "links")
    (True, False)
    """
    return AGAINST.index(strong) <= AGAINST.index(weak)


def apart(against: Against) -> str:
    """Return the name of such ways.

    >>> apart("links")
    'link-disjoint'
    """
    return f"{against[:-1]}-disjoint"


def dead(count: int, against: Against) -> str:
    """Return so many faults in words.

    >>> dead(1, "links"), dead(2, "nodes")
    ('1 dead link', '2 dead nodes')
    """
    return f"{count:,} dead {against if count != 1 else against[:-1]}"
