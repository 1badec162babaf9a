"""The outlines of messages in space and time: which passages are one parallelogram, and where its corners lie."""

from typing import Any, NamedTuple

import numpy as np

from treecast.drawing.passages import Passages
from treecast.networks.core import Ints


class Shapes(NamedTuple):
    """Shapes of messages: ``message`` passes the links at distances ``near … far`` from the root, ``flits`` flits wide.

    Its first flit passes the link at ``near`` in ``step``. ``branch``: the child of the root above it. int64.
    """

    message: Ints
    flits: Ints
    step: Ints
    near: Ints
    far: Ints
    branch: Ints


def shapes(passages: Passages, away: bool) -> Shapes:
    """Join the passages of a message that follow each other, each a step behind the one before, to one shape."""
    hop = passages.depth if away else -passages.depth
    diagonal = passages.step - hop
    order = np.lexsort((hop, diagonal, passages.flits, passages.first, passages.message, passages.branch))
    key = np.column_stack([passages.branch, passages.message, passages.first, passages.flits, diagonal])[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (key[1:] != key[:-1]).any(axis=1) | (np.diff(hop[order]) != 1)
    head = np.flatnonzero(begins)
    tail = np.append(head[1:], len(order)) - 1
    first, last = order[head], order[tail[: len(head)]]
    near, far = (first, last) if away else (last, first)
    return Shapes(
        passages.message[first],
        passages.flits[first],
        passages.step[near],
        passages.depth[near],
        passages.depth[far],
        passages.branch[first],
    )


def corners(found: Shapes, away: bool) -> Any:
    """Return six corners of each shape, (shapes, 6, 2): x in steps, y in distances from the root.

    Halfway along each link a shape covers exactly the steps in which its flits pass. Of the parallelogram, the two tips that
    would stick out of these steps, before its first and behind its last, are cut off.
    """
    turn = 1 if away else -1
    half = turn * 0.5
    top, bottom = found.near - 1.0, found.far + 0.0
    left = found.step - half  # at the top
    shift = turn * (bottom - top)
    begin = np.minimum(found.step, found.step + turn * (found.far - found.near))
    end = np.maximum(found.step, found.step + turn * (found.far - found.near)) + found.flits
    wide = found.flits
    if away:
        points = (
            (begin, top),
            (left + wide, top),
            (end, bottom - 0.5),
            (end, bottom),
            (left + shift, bottom),
            (begin, top + 0.5),
        )
    else:
        points = (
            (left, top),
            (end, top),
            (end, top + 0.5),
            (left + shift + wide, bottom),
            (begin, bottom),
            (begin, bottom - 0.5),
        )
    return np.stack([np.column_stack(point) for point in points], axis=1).astype(float)
