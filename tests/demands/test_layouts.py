"""Layouts: every wanted entry has holders that have it, pieces are cut as PyTorch cuts them, and classes say who."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast.collectives.demands import Tensor, distribute, pieces, redistribute, shards
from treecast.errors import PlanError

PLACEMENTS = ("R", "S0", "S1", "P")


def chunked(size, parts):
    """The ranges of ``torch.chunk``, and empty ones behind."""
    each = -(-size // parts)
    return [(min(size, i * each), min(size, (i + 1) * each)) for i in range(parts)]


def entries(mesh, placements, shape):
    """Which entries each rank has, by brute force: axis after axis."""
    found = []
    for place in product(*map(range, mesh)):
        box = [range(n) for n in shape]
        for (size, at), placement in zip(zip(mesh, place, strict=True), placements, strict=True):
            if placement[0] == "S":
                d = int(placement[1:])
                low, high = chunked(len(box[d]), size)[at]
                box[d] = box[d][low:high]
        found.append(set(product(*box)))
    return found


MESHES = [(2,), (3,), (4,), (2, 2), (2, 3)]
CASES = [
    (mesh, before, after)
    for mesh in MESHES
    for before in product(PLACEMENTS, repeat=len(mesh))
    for after in product(PLACEMENTS[:3], repeat=len(mesh))
]


@pytest.mark.each(5)
@pytest.mark.parametrize(("mesh", "before", "after"), CASES)
def test_redistribute_moves_what_is_not_there(mesh, before, after):
    shape = 5, 7
    found = redistribute(mesh, before, after, shape)
    has, wants = entries(mesh, before, shape), entries(mesh, after, shape)
    partial = [axis for axis, placement in enumerate(before) if placement == "P"]
    place = list(product(*map(range, mesh)))
    part = [tuple(place[r][axis] for axis in partial) for r in range(len(place))]
    due = {}
    for entry in product(*map(range, shape)):
        parts = {}
        for r in range(len(place)):
            if entry in has[r]:
                parts.setdefault(part[r], []).append(r)
        key = tuple(tuple(each) for _, each in sorted(parts.items()))
        want = tuple(r for r in range(len(place)) if entry in wants[r] and (len(key) > 1 or r not in key[0]))
        if want:
            due[key, want] = due.get((key, want), 0) + 1
    assert {(parts, want): size for size, parts, want in found.classes()} == due


@examples(40)
@given(st.data())
def test_distribute_gives_each_rank_its_box(data):
    sizes = st.integers(1, 4)
    before = ",".join(f"{axis}{data.draw(sizes)}" for axis in data.draw(st.permutations(["tp", "pp", "dp", "fsdp"])))
    after = ",".join(f"{axis}{data.draw(sizes)}" for axis in data.draw(st.permutations(["tp", "pp", "dp"])))
    layers = data.draw(st.integers(1, 4))
    shapes = st.tuples(st.integers(1, 7), st.integers(1, 7))
    tensors = [Tensor(str(k), data.draw(shapes), k, data.draw(st.sampled_from([None, 0, 1]))) for k in range(layers)]
    found = distribute(before, after, tensors, chunk=2)  # a chunk is an entry
    holders = prod(int(word.lstrip("abcdefghijklmnopqrstuvwxyz")) for word in before.split(","))
    into = {}
    for size, parts, wants in found.classes():
        assert len(parts) == 1
        assert max(parts[0]) < holders <= min(wants)
        for rank in wants:
            into[rank] = into.get(rank, 0) + size
    assert into == due(after, tensors, holders)


def due(mesh, tensors, first):
    """How many entries each rank of a mesh wants, by cuts of counts alone: pp cuts layers, tp a dimension."""
    axes = [(word.rstrip("0123456789"), int(word.lstrip("abcdefghijklmnopqrstuvwxyz"))) for word in mesh.split(",")]
    stages = chunked(len(tensors), dict(axes).get("pp", 1))
    found = {}
    for at in product(*(range(n) for _, n in reversed(axes))):
        place = dict(zip([name for name, _ in axes], at[::-1], strict=True))
        rank, step = first, 1
        for name, n in axes:
            rank, step = rank + place[name] * step, step * n
        for each in tensors:
            low, high = stages[place.get("pp", 0)]
            shape = list(each.shape)
            if each.tp is not None:
                a, b = chunked(shape[each.tp], dict(axes)["tp"])[place["tp"]]
                shape[each.tp] = b - a
            if low <= each.layer < high and prod(shape):
                found[rank] = found.get(rank, 0) + prod(shape)
    return found


def test_same_ranks_keep_what_they_have():
    found = distribute("tp2", "tp2,dp2", [Tensor("w", (4, 4), tp=0)], same_ranks=True, chunk=2)
    assert str(found) == "8: 0 > 2\n8: 1 > 3"


def test_who_receives_most_gets_64_chunks():
    found = distribute("tp4,pp4,dp2", "tp4,dp8")
    into = np.zeros(64, np.int64)
    for size, _, wants in found.classes():
        into[list(wants)] += size
    assert set(into[32:].tolist()) == {64}
    assert not into[:32].any()


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("tp", "tp2", "'tp' is no mesh: write axes with their sizes"),
        ("tp2,tp2", "dp2", "names an axis twice"),
        ("xx2", "dp2", "xx is no axis of a layout"),
    ],
)
def test_what_is_no_layout(before, after, why):
    with pytest.raises(PlanError, match=why):
        distribute(before, after)


def test_a_piece_that_nobody_holds_is_named():
    with pytest.raises(PlanError, match="a tensor is not redistributed to partial sums"):
        redistribute([2], ["R"], ["P"], [4])
    with pytest.raises(PlanError, match="'S3' is no placement of a tensor of 2 dimensions"):
        redistribute([2], ["S3"], ["R"], [4, 4])
    with pytest.raises(PlanError, match="as many placements, not 2"):
        redistribute([2], ["R", "R"], ["R"], [4])


@pytest.mark.parametrize(("before", "after"), [("tp2,pp2", "tp3,dp2"), ("fsdp3", "tp2,dp2"), ("tp4,dp2", "pp2,ep2")])
@pytest.mark.parametrize("same", [False, True])
def test_pieces_are_what_holders_have_and_fill_what_wanters_lack(before, after, same):
    if same and before == "tp4,dp2":
        after = "pp2,ep2,dp2"
    model = [
        Tensor("a", (7, 5), 0, tp=1, item=1),
        Tensor("b", (4, 6), 1, tp=0, ep=1, item=1),
        Tensor("n", (5,), 1, item=1),
    ]
    found = pieces(before, after, model, same_ranks=same)
    classes = list(distribute(before, after, model, same_ranks=same, chunk=1).numbered())
    behind = 0 if same else prod(int(word[-1]) for word in before.split(","))

    def cells(boxes):
        return [(name, at) for name, box in boxes for at in product(*(range(side.start, side.stop) for side in box))]

    assert len(found) == len(classes)
    got = {}
    for each, (size, parts, wants) in zip(found, classes, strict=True):
        assert len(set(cells(each))) == len(cells(each)) == size
        assert all(set(cells(each)) <= set(cells(shards(before, model, v).items())) for v in parts[0])
        for v in wants:
            got.setdefault(v, []).extend(cells(each))
    for v in range(prod(int(word[-1]) for word in after.split(","))):
        has = (
            set(cells(shards(before, model, v).items()))
            if same and v < prod(int(w[-1]) for w in before.split(","))
            else set()
        )
        wanted = set(cells(shards(after, model, v).items()))
        assert sorted(got.get(v + behind, [])) == sorted(wanted - has)
