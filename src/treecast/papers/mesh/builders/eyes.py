"""Broadcast by eyes on meshes of equal sides 2^k: a short total communication distance (TCD), in the fewest steps.

Communication model: one-port, wormhole: in a step a node sends one message to any node, or receives one, or idles; a message
takes one step whatever its distance; ⌈log2 N⌉ steps are the fewest. TCD is the sum of all distances.
Source: Cang & Wu, "Time-step optimal broadcasting in 3-D meshes with minimum total communication distance" (Algorithms 1,
2 and 3, in any dimension d).

The mesh of side 2^k has two *eyes* in each coordinate, 2^d in all; each is also an eye of one of its half boxes, the inner one.
A phase of d steps sends from one node of a box to an eye of each of its 2^d half boxes; the eyes then go on at the same time.
From an eye the TCD is ``optimum``. The paper claims that its TCD is the least from every other source, too. This holds on paths,
up to 4x4 and up to 4x4x4, in the best order of dimensions. From 8x8 on ``bisection`` is below it; it is never above.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import PlanError
from treecast.networks import Grid, Mesh, Network
from treecast.networks.core import Ints, ints
from treecast.papers.mesh.builders.bisection import build_from_messages
from treecast.plans.built import Built, Job
from treecast.plans.order import ORDER, check_order
from treecast.plans.registry import WORMHOLE, Option, builder
from treecast.schedule import Rows


def inner_distance(k: int) -> int:
    """Return how far apart the two eyes of side 2^k are, a(k): 0, 1, 1, 3, 5, 11 (eq. (1))."""
    return (2**k - (-1) ** k) // 3


def low_eye(k: int) -> int:
    """Return the lower eye of side 2^k, lo(k): 0, 0, 1, 2, 5, 10. The upper one is 2^k - 1 - lo(k)."""
    return (2 ** (k + 1) + (-1) ** k - 3) // 6


def eyes(k: int, d: int) -> Ints:
    """Return the eyes of the mesh of d sides 2^k, in ascending order: int64 (2^d, d). For k = 0 they are one node, 2^d times."""
    upper = np.indices((2,) * d).reshape(d, -1).T
    return np.where(upper > 0, 2**k - 1 - low_eye(k), low_eye(k)).astype(np.int64)


def _lacks_eyes(mesh: Any) -> str:
    return "" if fits(mesh) else "needs sides that are all the same power of two"


BEST_ORDER = Option(name="best-order", summary="In each box the order of dimensions of least distance.", flag=True)


@builder(
    "eyes",
    "broadcast",
    on=(Mesh, _lacks_eyes),
    under=WORMHOLE,
    baseline=True,
    options=(ORDER, BEST_ORDER),
    summary="Cang & Wu: from eye to eye, for sides that are all the same power of two",
)
def broadcast(job: Job[Mesh]) -> Built:
    """One-port, wormhole: broadcast from eye to eye: log2 N steps, (N-1)M transmissions, a TCD of ``claimed_distance``.

    Option ``order``: the dimensions as they take turns in every phase, 0 … d-1 when not given. Option ``best-order``: in each box
    that of least distance. All M messages go in one.
    """
    mesh, collective = job.network, job.collective
    k, d = level(mesh), len(mesh.sides)
    best_order = BEST_ORDER.keyword in job.options
    if best_order and ORDER.keyword in job.options:
        raise PlanError("write an order or best-order, not both")
    fixed = list(check_order(d, job.options.get(ORDER.keyword)))
    at = mesh.coordinates(mesh.check_node(collective.root))[None, :]
    steps: list[tuple[Ints, Ints]] = []
    for size in range(k, 0, -1):
        orders = _best_orders(size, outside(size, at)) if best_order else np.tile(fixed, (len(at), 1))
        place = np.argsort(orders, axis=1)  # of each dimension in the order
        for turn in range(d):
            to = _targets(size, at, place, turn)
            steps.append((at, to))
            at, place = np.concatenate([at, to]), np.concatenate([place, place])
    none = np.empty(0, np.int64)
    strides = np.array(mesh.strides, np.int64)
    src = np.concatenate([none, *(nodes @ strides for nodes, _ in steps)])
    dst = np.concatenate([none, *(nodes @ strides for _, nodes in steps)])
    step = np.repeat(np.arange(len(steps)), [len(nodes) for nodes, _ in steps])
    return build_from_messages(mesh, collective, step, src, dst)


def _targets(k: int, at: Ints, place: Ints, turn: int) -> Ints:
    """Return where the nodes ``at`` (n, d) send in one step of the phase of the boxes of side 2^k: int64 (n, d)."""
    inside = at & (2**k - 1)
    upper = (inside >> (k - 1) & 1) ^ (place == turn)  # the half of the target in each dimension
    u = outside(k, at)
    outer = (place < turn) & (_nearer(k, u) < np.abs(u))  # never as near as the inner eye: a(k-1) is odd, or 0
    away = np.where(outer, inner_distance(k - 1), 0)
    return at - inside + np.where(upper > 0, 2**k - 1 - low_eye(k) + away, low_eye(k) - away)


def fits(mesh: Grid) -> bool:
    """Return whether a mesh has eyes: all its sides are the same power of two."""
    side = mesh.sides[0]
    return set(mesh.sides) == {side} and side & (side - 1) == 0


def level(mesh: Grid) -> int:
    """Return the k of a mesh of equal sides 2^k. Raises PlanError when it is none."""
    if not fits(mesh):
        like = "x".join([str(1 << (max(mesh.sides) - 1).bit_length())] * len(mesh.sides))
        raise PlanError(
            f"{mesh.spec} has no eyes: they need sides that are all the same power of two, as {mesh.family}:{like} has"
        )
    return mesh.sides[0].bit_length() - 1


def outside(k: int, source: ArrayLike) -> Ints:
    """Return how far each coordinate lies outside the nearer eye of its box of side 2^k, < 0 towards the centre: u."""
    inside = ints(source) & (2**k - 1)
    return low_eye(k) - np.minimum(inside, 2**k - 1 - inside)


def extra(k: int, u: ArrayLike) -> Ints:
    """Return f_k: by how much the phase of side 2^k is longer than from an eye, by ``outside`` in the order used, (…, d).

    f_k = Σ (j-1)|u_j| + u_j + (d-j) min(|u_j|, |u_j - a(k-1)|) over j = 1 … d (eq. (7) in any dimension).
    """
    u = ints(u)
    before = np.arange(u.shape[-1], dtype=np.int64)  # j - 1
    terms: Ints = before * np.abs(u) + u + before[::-1] * _nearer(k, u)
    return terms.sum(axis=-1)


def _nearer(k: int, u: Ints) -> Ints:
    """Return the distance to the nearer eye of the half box: m(u)."""
    return np.minimum(np.abs(u), np.abs(u - inner_distance(k - 1)))


def _best_orders(k: int, u: Ints) -> Ints:
    """Return the dimensions by falling |u| - m(u), which makes f_k least (by exchange of neighbours): shape of ``u``."""
    return np.argsort(_nearer(k, u) - np.abs(u), axis=-1, kind="stable")


def optimum(k: int, d: int) -> int:
    """Return the TCD from an eye, OD_k: eq. (16), and for d = 1, where that is 0/0, ((3k+1)2^k - (-1)^k)/9."""
    sign = (-1) ** k
    if d == 1:
        return ((3 * k + 1) * 2**k - sign) // 9
    near, far = 2 ** (d - 1) - 1, 2**d + 1
    return (2**d - 1) * ((2 ** (d * k) - 2**k) * far + (2 ** (d * k) - sign) * near) // (3 * near * far)


def by_recurrence(k: int, d: int) -> int:
    """Return the same by the recurrence OD_k = (2^d - 1) a(k) + 2^d OD_(k-1), OD_0 = 0 (eqs. (2), (6), (12))."""
    total = 0
    for i in range(1, k + 1):
        total = (2**d - 1) * inner_distance(i) + 2**d * total
    return total


def claimed_distance(k: int, source: ArrayLike, order: Sequence[int] | None = None, best_order: bool = False) -> Ints:
    """Return the TCD of ``broadcast`` from its closed form, D_k(s) = OD_k + Σ f_i(s) over i = 2 … k (eq. (11)).

    ``source``: coordinates, (…, d); the result has the shape (…). Raises PlanError when they lie outside the mesh.
    """
    at = ints(source)
    if at.ndim < 1 or not at.shape[-1] or bool(((at < 0) | (at >= 2**k)).any()):
        raise PlanError(f"the source lies outside the mesh: its coordinates go from 0 to {2**k - 1}")
    d = at.shape[-1]
    fixed = list(check_order(d, order))
    total = np.full(at.shape[:-1], optimum(k, d), np.int64)
    for i in range(2, k + 1):
        u = outside(i, at)
        total += extra(i, np.take_along_axis(u, _best_orders(i, u), axis=-1) if best_order else u[..., fixed])
    return total


def total_distance(network: Network, rows: Rows) -> int:
    """Return the TCD of a schedule: the sum over its rows of the distances between their ends."""
    return int(np.sum(network.distance(rows.src, rows.dst)))
