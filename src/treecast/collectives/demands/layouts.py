"""From one layout of tensors to another: who holds which piece, who wants it, and what is added."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from treecast.collectives import Demand
from treecast.collectives.forms import Class
from treecast.errors import PlanError
from treecast.networks.core import Ints

AXES = ("tp", "pp", "dp", "ep", "fsdp")
"""The axes of a mesh of ranks: what each cuts is a dimension of each tensor, layers, nothing, experts, the first dimension."""
_CHUNKS = 64  # of who receives most, where nobody says how long a chunk is
_Group = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]
_Groups = dict[_Group, int]
Box = tuple[slice, ...]
"""A part of a tensor: a range of each of its dimensions."""


class _Cells(NamedTuple):
    """The cells that the boxes of both sides cut a tensor into, by the groups that hold and want them: entries, and numbers."""

    sizes: _Groups
    numbers: dict[_Group, list[int]]
    cuts: list[Ints]

    def boxes(self, group: _Group) -> list[Box]:
        """Return the cells of a group, in order."""
        numbers = np.array(self.numbers.get(group, []), np.int64)
        shape = [len(cut) - 1 for cut in self.cuts]
        places: list[list[int]] = [[] for _ in numbers]
        if shape:
            places = np.stack(np.unravel_index(numbers, shape), axis=1).tolist()
        return [tuple(slice(int(c[i]), int(c[i + 1])) for c, i in zip(self.cuts, at, strict=True)) for at in places]


class Tensor(NamedTuple):
    """A tensor of a model: its shape, its layer, the dimension that tp cuts and that of its experts, if any, and bytes an entry.

    >>> Tensor("0.up", (25600, 5120), tp=0)
    Tensor(name='0.up', shape=(25600, 5120), layer=0, tp=0, ep=None, item=2)
    """

    name: str
    shape: tuple[int, ...]
    layer: int = 0
    tp: int | None = None
    ep: int | None = None
    item: int = 2


class RankMesh(NamedTuple):
    """A mesh of ranks: the name and size of each axis, from neighbours outwards."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @staticmethod
    def of(text: str) -> "RankMesh":
        """Return the mesh that a text spells, as ``tp4,pp2``. Raises PlanError for one that it does not.

        >>> RankMesh.of("tp4,dp2")
        RankMesh(names=('tp', 'dp'), sizes=(4, 2))
        """
        # no axis of 0, and none of millions
        found = [re.fullmatch(r"([a-z]+)([1-9][0-9]{0,5})", word.strip()) for word in text.split(",")]
        if not all(found):
            raise PlanError(f"{text!r} is no mesh: write axes with their sizes, neighbours first, as in tp4,pp2,dp2")
        names, sizes = zip(*((each[1], int(each[2])) for each in found if each), strict=True)
        if len(set(names)) < len(names):
            raise PlanError(f"{text!r} names an axis twice")
        return RankMesh(names, sizes)

    @property
    def ranks(self) -> int:
        """How many ranks it has."""
        return math.prod(self.sizes)

    def places(self) -> Ints:
        """Return the place of each rank along each axis: int64 (ranks, axes)."""
        return _places(self.sizes)


@cache
def _places(sizes: tuple[int, ...]) -> Ints:
    # Neighbours first: the first axis of the mesh changes fastest, so it is the last one of the index.
    found = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes[::-1])[::-1], axis=1)
    found.setflags(write=False)
    return found


def distribute(
    before: str,
    after: str,
    tensors: Iterable[Tensor] = (),
    *,
    same_ranks: bool = False,
    chunk: int | None = None,
) -> Demand:
    """Return the demand of tensors that go from one layout on a mesh of ranks to another.

    Parameters
    ----------
    before, after : str
        Meshes, as ``tp4,pp4,dp2``: axes from neighbours outwards. pp cuts layers, tp and ep their dimension of each tensor,
        fsdp the first dimension of what is left, and dp has the same several times. Each cuts as ``torch.chunk`` does:
        ⌈n / parts⌉ each, the last ones less, perhaps nothing.
    tensors : iterable of Tensor
        The model; by default a matrix for each layer that every axis cuts evenly.
    same_ranks : bool
        Whether the ranks of ``after`` are those of ``before``; else they come behind them.
    chunk : int, optional
        The bytes of a chunk; by default who receives most gets 64 of them. A class of fewer bytes is one chunk.

    Raises
    ------
    PlanError
        For a mesh or an axis that is none, and for a piece that nobody holds.

    Examples
    --------
    Two ranks have a half each, and four want a quarter each:

    >>> from treecast.collectives.demands import Tensor, distribute
    >>> print(distribute("tp2", "tp4", [Tensor("w", (8, 4), tp=0)], chunk=16))
    1: 0 > 2
    1: 0 > 3
    1: 1 > 4
    1: 1 > 5
    """
    found = _Groups()
    for each, cells in _of_tensors(before, after, tensors, same_ranks=same_ranks):
        for group, entries in cells.sizes.items():
            found[group] = found.get(group, 0) + entries * each.item
    return _in_chunks(found, chunk)


def pieces(
    before: str, after: str, tensors: Iterable[Tensor], *, same_ranks: bool = False
) -> list[list[tuple[str, Box]]]:
    """Return what each class of ``distribute`` consists of: parts of tensors, by their names, one behind the other.

    The arguments are those of ``distribute``, and so are the errors.

    >>> from treecast.collectives.demands import Tensor, pieces
    >>> pieces("tp2", "tp2,dp2", [Tensor("w", (8, 4), tp=0), Tensor("v", (4,), tp=0)])[0]
    [('w', (slice(0, 4, None), slice(0, 4, None))), ('v', (slice(0, 2, None),))]
    """
    every = list(_of_tensors(before, after, tensors, same_ranks=same_ranks))
    groups = sorted({group for _, cells in every for group in cells.sizes})
    return [[(each.name, box) for each, cells in every for box in cells.boxes(group)] for group in groups]


def shards(mesh: str, tensors: Iterable[Tensor], rank: int) -> dict[str, Box]:
    """Return the part of each tensor, by its name, that a rank of a mesh has; tensors of which it has nothing are left out.

    >>> from treecast.collectives.demands import Tensor, shards
    >>> shards("tp2,pp2", [Tensor("0.w", (8, 4), 0, tp=0), Tensor("1.w", (8, 4), 1, tp=0)], rank=3)
    {'1.w': (slice(4, 8, None), slice(0, 4, None))}
    """
    some, found = list(tensors), dict[str, Box]()
    layers = 1 + max(each.layer for each in some)
    for each in some:
        low, high = _boxes(RankMesh.of(mesh), each, _stage(RankMesh.of(mesh), each.layer, layers))
        if bool((low[rank] < high[rank]).all()):
            found[each.name] = tuple(map(slice, low[rank].tolist(), high[rank].tolist()))
    return found


def _of_tensors(
    before: str, after: str, tensors: Iterable[Tensor], *, same_ranks: bool
) -> Iterator[tuple[Tensor, _Cells]]:
    """Yield each tensor with its cells; of tensors that are cut alike these are made once."""
    sides = RankMesh.of(before), RankMesh.of(after)
    for mesh in sides:
        for name in mesh.names:
            if name not in AXES:
                raise PlanError(f"{name} is no axis of a layout: write {', '.join(AXES)}, as in tp4,pp2")
    some = list(tensors) or _usual(*sides)
    layers = 1 + max(each.layer for each in some)
    known = dict[tuple[object, ...], _Cells]()
    for each in some:
        stages = tuple(_stage(mesh, each.layer, layers) for mesh in sides)
        # A model has hundreds of layers, and few shapes: cells are made once for each.
        key = each.shape, each.tp, each.ep, stages
        if key not in known:
            held, wanted = (_boxes(mesh, each, stage) for mesh, stage in zip(sides, stages, strict=True))
            known[key] = _cells(each.name, held, wanted, 0 if same_ranks else sides[0].ranks)
        yield each, known[key]


def _usual(before: RankMesh, after: RankMesh) -> list[Tensor]:
    """Return a matrix for each layer, of which both meshes cut each dimension evenly."""

    def least(*names: str) -> int:
        return math.lcm(
            *(s for mesh in (before, after) for n, s in zip(mesh.names, mesh.sizes, strict=True) if n in names)
        )

    shape = least("ep"), least("tp") * least("fsdp")
    shape = _CHUNKS * shape[0] * least("fsdp"), shape[1]
    return [Tensor(f"{layer}", shape, layer, 1, 0) for layer in range(least("pp"))]


def _stage(mesh: RankMesh, layer: int, layers: int) -> int:
    """Return in which part of the layers a layer is; 0 where none are cut."""
    parts = mesh.sizes[mesh.names.index("pp")] if "pp" in mesh.names else 1
    return layer // -(-layers // parts)


def _cut(low: Ints, high: Ints, parts: int, place: Ints) -> tuple[Ints, Ints]:
    """Return the part of ranges at a place, as ``torch.chunk`` cuts."""
    each = -(-(high - low) // parts)  # rounded up, as torch.chunk does
    return np.minimum(high, low + place * each), np.minimum(high, low + (place + 1) * each)


def _boxes(mesh: RankMesh, tensor: Tensor, stage: int) -> tuple[Ints, Ints]:
    """Return where the box of each rank begins and ends in each dimension: int64 (ranks, dimensions) both."""
    place = mesh.places()
    low = np.zeros((mesh.ranks, len(tensor.shape)), np.int64)
    high = np.tile(np.array(tensor.shape, np.int64), (mesh.ranks, 1))
    for axis, (name, parts) in enumerate(zip(mesh.names, mesh.sizes, strict=True)):
        dimension = {"tp": tensor.tp, "ep": tensor.ep, "fsdp": 0}.get(name)
        if name == "pp":
            high[place[:, axis] != stage] = 0  # another stage has the layer: an empty box
        elif dimension is not None:
            low[:, dimension], high[:, dimension] = _cut(low[:, dimension], high[:, dimension], parts, place[:, axis])
    return low, high


def _cells(
    name: str, held: tuple[Ints, Ints], wanted: tuple[Ints, Ints], behind: int, parts: Ints | None = None
) -> _Cells:
    """Return how many entries each group of holders has for each group of wanters: the boxes of both cut a tensor into cells.

    ``behind``: how many ranks come before those that want. ``parts``: which contribution each holder has, if they are added.
    """
    # 1. Every border of some box, along each dimension: between two of them all boxes agree.
    cuts = [np.unique(np.concatenate([side[:, d] for side in (*held, *wanted)])) for d in range(held[0].shape[1])]
    sizes = np.ones(1, np.int64)
    masks = [np.ones((len(side[0]), 1), np.bool_) for side in (held, wanted)]
    for d, cut in enumerate(cuts):
        sizes = (sizes[:, None] * np.diff(cut)).reshape(-1)
        for i, (low, high) in enumerate((held, wanted)):
            # cells that lie in the box of a rank
            inside = (low[:, d, None] <= cut[:-1]) & (cut[1:] <= high[:, d, None])
            masks[i] = (masks[i][:, :, None] & inside[:, None]).reshape(len(low), -1)
    both = np.concatenate(masks)
    # 2. Cells by who holds and wants them, as bits.
    alike = dict[bytes, list[int]]()  # cells that the same ranks hold and want
    for cell, bits in enumerate(np.ascontiguousarray(np.packbits(both, axis=0).T)):
        alike.setdefault(bits.tobytes(), []).append(cell)
    # 3. A class for each such group.
    found = _Cells(_Groups(), {}, cuts)
    for cells in alike.values():
        pattern, many = both[:, cells[0]], int(sizes[cells].sum())
        holders, want = np.flatnonzero(pattern[: len(held[0])]), np.flatnonzero(pattern[len(held[0]) :]) + behind
        if len(want) and not len(holders):
            raise PlanError(f"nobody holds {many:,} entries of {name!r}, which rank {want[0]} wants")
        of = np.zeros_like(holders) if parts is None else parts[holders]
        groups = tuple(tuple(holders[of == part].tolist()) for part in np.unique(of))
        # A copy: who has it does not want it. Of a sum a holder has one part alone, and may want all.
        if len(groups) == 1:
            want = np.setdiff1d(want, holders)
        if len(want):
            key = groups, tuple(want.tolist())
            found.sizes[key] = found.sizes.get(key, 0) + many
            found.numbers.setdefault(key, []).extend(cells)
    return found


def _in_chunks(groups: _Groups, chunk: int | None) -> Demand:
    """Return the demand of groups of holders and wanters that have so many bytes."""
    # The busiest receiver sets the pace, so its bytes say how long a chunk is.
    into = dict[int, int]()
    for (_, wants), size in groups.items():
        for rank in wants:
            into[rank] = into.get(rank, 0) + size
    unit = chunk or max(1, -(-max(into.values(), default=1) // _CHUNKS))
    return Demand.of([Class(-(-size // unit), *group) for group, size in sorted(groups.items())])


def redistribute(
    mesh: Sequence[int], before: Sequence[str], after: Sequence[str], shape: Sequence[int], *, chunk: int = 1
) -> Demand:
    """Return the demand of ``DTensor.redistribute``: from some placements on a mesh to others.

    Parameters
    ----------
    mesh : sequence of int
        The sizes of PyTorch's device mesh; ranks are numbered along its last axis first.
    before, after : sequence of str
        A placement for each axis: ``"R"`` replicate, ``"S0"`` shard of a dimension, ``"P"`` partial sums, which ``after`` must
        not have.
    shape : sequence of int
        Of the tensor.
    chunk : int
        The entries of a chunk; a class of fewer entries is one chunk.

    Raises
    ------
    PlanError
        For placements that are none.

    Examples
    --------
    >>> from treecast.collectives.demands import redistribute
    >>> print(redistribute([2], ["S0"], ["R"], [5, 7]))
    21: 0 > 1
    14: 1 > 0
    >>> print(redistribute([2], ["P"], ["R"], [5, 7]))
    35: 0 + 1 > 0 1
    """
    return _in_chunks(redistributed(tuple(mesh), tuple(before), tuple(after), tuple(shape)).cells.sizes, chunk)


class Redistributed(NamedTuple):
    """What ``redistribute`` moves, of which ranks have boxes ``held``, and get ``wanted``: low and high, int64 (ranks, axes)."""

    held: tuple[Ints, Ints]
    wanted: tuple[Ints, Ints]
    cells: _Cells

    @property
    def classes(self) -> list[list[Box]]:
        """The boxes that each class consists of, one behind the other."""
        return [self.cells.boxes(group) for group in sorted(self.cells.sizes)]


def redistributed(
    sizes: tuple[int, ...], before: tuple[str, ...], after: tuple[str, ...], shape: tuple[int, ...]
) -> Redistributed:
    """Return the boxes of the ranks of a mesh of these sizes, and of each class; the arguments are those of ``redistribute``."""
    place = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
    held, wanted = (_placed(place, sizes, placements, shape) for placements in (before, after))
    if "P" in after:
        raise PlanError("a tensor is not redistributed to partial sums: write R or S0, S1, … for after")
    partial = [axis for axis, placement in enumerate(before) if placement == "P"]
    # Ranks that differ along axes of partial sums hold different contributions to the same entries.
    parts = np.zeros(len(place), np.int64)
    for axis in partial:
        parts = parts * sizes[axis] + place[:, axis]
    return Redistributed(held, wanted, _cells("the tensor", held, wanted, 0, parts if partial else None))


def _placed(place: Ints, sizes: tuple[int, ...], placements: Sequence[str], shape: Sequence[int]) -> tuple[Ints, Ints]:
    """Return the box of each rank by the placements along the axes of a mesh."""
    if len(placements) != len(sizes):
        raise PlanError(f"a mesh of {len(sizes)} axes has as many placements, not {len(placements)}")
    low = np.zeros((len(place), len(shape)), np.int64)
    high = np.tile(np.array(shape, np.int64), (len(place), 1))
    for axis, placement in enumerate(placements):
        if placement in ("R", "P"):
            continue
        dimension = int(placement[1:]) if re.fullmatch(r"S[0-9]", placement) else len(shape)
        if dimension >= len(shape):
            raise PlanError(f"{placement!r} is no placement of a tensor of {len(shape)} dimensions: write R, P, or S0")
        low[:, dimension], high[:, dimension] = _cut(low[:, dimension], high[:, dimension], sizes[axis], place[:, axis])
    return low, high
