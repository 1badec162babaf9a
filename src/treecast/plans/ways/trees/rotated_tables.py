"""Which tree takes which arc where the rule of any torus would make trees too deep: the tables of plans/ways/trees/rotated.py.

A search found them. The tests check the trees that they make, on every size for which a depth is stated.
"""

from functools import cache

import numpy as np

from treecast.networks.core import Ints

_ROLES = "uUpwW"
Slacks = tuple[int, int, int, int]
"""Whether g > 0; whether the slack of u is odd; whether that of w is odd; whether it is more than 0."""

EVEN: dict[Slacks, str] = {
    (0, 0, 1, 1): "upwUW",
    (0, 1, 0, 0): "UupwW",
    (0, 1, 0, 1): "uwpUW",
    (0, 1, 1, 1): "UupwW",
    (1, 0, 0, 0): "UupwW",
    (1, 0, 0, 1): "UupwW",
    (1, 0, 1, 1): "UwupW",
    (1, 1, 1, 1): "upUwW",
}
"""Even sides, three axes or more: whose arcs the trees u, U, p, w and W take. Not listed: each its own."""

ODD: dict[tuple[int, int, int, int, int], str] = {
    (0, 0, 1, 1, 1): "uUpWw",
    (0, 0, 1, 1, 2): "upwUW",
    (0, 0, 1, 1, 4): "upwUW",
    (0, 1, 0, 1, 1): "uUpWw",
    (0, 1, 0, 1, 2): "uWpUw",
    (0, 1, 1, 1, 1): "UpuwW",
    (0, 1, 1, 1, 2): "wUupW",
    (1, 0, 0, 0, 1): "wWupU",
    (1, 0, 0, 0, 2): "wuUpW",
    (1, 0, 0, 0, 4): "WuUwp",
    (1, 0, 0, 1, 1): "UpuwW",
    (1, 0, 0, 1, 4): "UupwW",
    (1, 0, 1, 1, 1): "WpuUw",
    (1, 0, 1, 1, 2): "uwUWp",
    (1, 0, 1, 1, 4): "uwpUW",
    (1, 1, 0, 0, 1): "UupwW",
    (1, 1, 0, 0, 2): "UpuwW",
    (1, 1, 0, 0, 4): "UpuwW",
    (1, 1, 0, 1, 1): "uWpUw",
    (1, 1, 0, 1, 2): "uwpUW",
    (1, 1, 0, 1, 4): "upwUW",
    (1, 1, 1, 1, 1): "uwpWU",
    (1, 1, 1, 1, 2): "UpuwW",
    (1, 1, 1, 1, 4): "UpuwW",
}
"""Odd sides, three axes: the same, by how many turns w is behind u as well."""

EVEN_SQUARE: dict[tuple[int, int, int, int], str] = {
    (1, 0, 0, 1): "1203",
    (1, 0, 1, 1): "1023",
    (1, 1, 0, 1): "2103",
    (1, 1, 1, 1): "2013",
    (0, 0, 0, 1): "1023",
    (0, 1, 1, 1): "2013",
    (-1, 0, 0, 1): "3021",
    (-1, 0, 1, 1): "2031",
    (-1, 1, 0, 1): "1023",
    (-1, 1, 1, 1): "1032",
    (-1, 0, 0, 0): "0321",
    (-1, 0, 1, 0): "1032",
}
"""Even sides, two axes: in which positions the trees 0 … 3 arrive at (x, y), by the sign of y - x, whether h - x and h - y are
odd, and whether h - x > 0."""

ODD_SQUARE: dict[tuple[int, int, int, int, int, int, int], str] = {
    (-1, 0, 0, 2, 1, 0, 1): "1032",
    (-1, 0, 0, 2, 1, 1, 1): "2031",
    (-1, 0, 0, 2, 2, 0, 1): "1032",
    (-1, 0, 0, 2, 2, 1, 1): "2031",
    (-1, 0, 1, 2, 1, 0, 1): "1320",
    (-1, 0, 1, 2, 1, 1, 1): "3021",
    (-1, 0, 1, 2, 2, 0, 1): "1320",
    (-1, 0, 1, 2, 2, 1, 1): "2301",
    (-1, 1, 0, 2, 1, 1, 1): "3021",
    (-1, 1, 0, 2, 2, 1, 1): "2130",
    (-1, 1, 1, 2, 1, 1, 1): "3021",
    (-1, 1, 1, 2, 2, 1, 1): "2103",
    (0, 0, 0, 1, 1, 1, 1): "1023",
    (0, 0, 0, 2, 2, 0, 0): "1023",
    (0, 0, 0, 2, 2, 1, 1): "2301",
    (0, 1, 1, 1, 1, 1, 1): "1032",
    (0, 1, 1, 2, 2, 1, 1): "2301",
    (1, 0, 0, 1, 2, 1, 0): "3012",
    (1, 0, 0, 1, 2, 1, 1): "1023",
    (1, 0, 0, 2, 2, 1, 0): "3012",
    (1, 0, 0, 2, 2, 1, 1): "3120",
    (1, 0, 1, 1, 2, 1, 1): "1302",
    (1, 0, 1, 2, 2, 1, 1): "3012",
    (1, 1, 0, 1, 2, 1, 0): "3120",
    (1, 1, 0, 1, 2, 1, 1): "1203",
    (1, 1, 0, 2, 2, 1, 0): "2013",
    (1, 1, 0, 2, 2, 1, 1): "2013",
    (1, 1, 1, 1, 2, 1, 1): "1023",
    (1, 1, 1, 2, 2, 1, 1): "2013",
}
"""Odd sides, two axes: the same, by the sign of y - x, whether h - x and h - y are odd, min(x, 2), min(y, 2), whether h - x > 0
and whether h - y > 0."""


@cache
def table(axes: int, odd: bool) -> Ints:
    """Return the table of tori with odd or even sides, by the entries of its rows: int64, read-only."""
    found = _of_squares(odd) if axes == 2 else _of_slacks(axes, odd)
    found.flags.writeable = False
    return found


def _of_slacks(axes: int, odd: bool) -> Ints:
    shape = (2, 2, 2, 2, 2 * axes)
    found = np.broadcast_to(np.arange(len(_ROLES)), (*shape, len(_ROLES))).copy()
    entries = ODD if odd else EVEN
    for key, takes in entries.items():
        found[key] = [_ROLES.index(role) for role in takes]
    return found


def _of_squares(odd: bool) -> Ints:
    found = np.zeros((3, 2, 2, 3, 3, 2, 2, 4), np.int64)
    for (sign, *odds, inside), takes in EVEN_SQUARE.items():
        found[sign + 1, odds[0], odds[1], :, :, inside] = [int(way) for way in takes]
    if odd:
        for (sign, *rest), takes in ODD_SQUARE.items():
            found[(sign + 1, *rest)] = [int(way) for way in takes]
    return found
