"""Collectives of groups of ranks at the same time: a demand of all of them together, so that others may relay."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from treecast.collectives import COLLECTIVES, Collective, Demand, find_kind
from treecast.collectives.demands.layouts import RankMesh
from treecast.collectives.forms import Class
from treecast.errors import PlanError
from treecast.networks.core import Ints

SEND = "send"
"""Each rank sends to the next one of its group, the last one to none."""


def groups(text: str, mesh: str, messages: int | Sequence[int] = 1) -> Demand:
    """Return the demand of collectives along the axes of a mesh of ranks, all at once.

    Parameters
    ----------
    text : str
        As ``allreduce tp + alltoall ep + send pp``: a collective, or ``send``, and the axis along which its groups lie;
        ``tp.dp``: both. In ``send`` each rank of a group sends to the next. Collectives with a root take the first rank of each
        group.
    mesh : str
        As ``tp4,dp4,pp4``: axes from neighbours outwards.
    messages : int or sequence of int
        M of each of them.

    Raises
    ------
    PlanError
        For a collective or an axis that is none.

    Examples
    --------
    >>> from treecast.collectives.demands import groups
    >>> print(groups("allreduce tp + send pp", "tp2,pp2", [3, 1]))
    3: 0 + 1 > 0 1
    3: 0 + 1 > 0 1
    3: 2 + 3 > 2 3
    3: 2 + 3 > 2 3
    1: 0 > 2
    1: 1 > 3
    """
    # 1. The words, and the messages of each collective.
    ranks, words = RankMesh.of(mesh), [part.split() for part in text.split("+")]
    counts = [messages] * len(words) if isinstance(messages, int) else list(messages)
    if len(counts) != len(words) or min(counts, default=0) < 1:
        raise PlanError(
            f"{len(words)} collectives of groups have as many numbers of messages, each from 1, not {messages!r}"
        )
    # 2. Each collective goes along its axes in every group at once.
    rows = list[Class]()
    for said, count in zip(words, counts, strict=True):
        if len(said) != 2:
            raise PlanError(f"write a collective and an axis, as in 'allreduce tp', not {' '.join(said)!r}")
        kind, axes = said[0], said[1].split(".")  # several axes are one: ``dp.tp``
        for group in along(ranks, axes):
            rows.extend(_rows(kind, group, count))
    return Demand.of(rows)


def along(mesh: RankMesh, axes: Sequence[str]) -> list[Ints]:
    """Return the ranks of each group along some axes of a mesh. Raises PlanError for an axis that it has not."""
    for axis in axes:
        if axis not in mesh.names:
            raise PlanError(f"{axis} is no axis of the mesh: there is {', '.join(mesh.names)}")
    place = mesh.places()
    # Ranks that agree along all other axes are one group.
    fixed = [i for i, name in enumerate(mesh.names) if name not in axes]
    key = np.ravel_multi_index(place[:, fixed].T, [mesh.sizes[i] for i in fixed]) if fixed else np.zeros(mesh.ranks)
    return [np.flatnonzero(key == number) for number in np.unique(key)]


def _rows(kind: str, group: Ints, messages: int) -> list[Class]:
    """Return the classes of a collective of a group of ranks."""
    if kind == SEND:
        return [Class(messages, ((u,),), (v,)) for u, v in pairwise(group.tolist())]
    row = find_kind(kind)
    if row.lengths or row.targets or len(group) == 1:
        # alone a rank lacks nothing
        if len(group) == 1:
            return []
        able = ", ".join(name for name, each in COLLECTIVES.items() if not (each.lengths or each.targets))
        raise PlanError(f"{kind} is no collective of groups: write {able} or {SEND}")
    wish, _ = Collective(kind, len(group), messages).classes
    return list(replace(wish, holder=group[wish.holder], want=group[wish.want]).classes())
