"""A network seen from above, in inches: where its nodes stand, and how its links and arcs run between them.

A link that would run through another node is bent. Arcs of several trees over one link lie beside one another.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.drawing.places import layout_of
from treecast.drawing.style import short_label
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.kept import kept
from treecast.ragged import places

MOST_NODES = 2000
_WIDEST, _HIGHEST, _LEAST = 13.0, 9.0, 3.2  # inches
_LABELLED = 0.075  # the least inches between two nodes for each character of a label
_LAYER = 1.1  # inches between layers, at least
_MARGIN = 0.3  # inches that links may lie beyond the outermost nodes: pictures have more than that around these
_BESIDE = 0.055  # inches between arcs over one link
_MOST_COMPARED = 4_000_000  # links x nodes: where links may run through nodes
Floats = NDArray[np.float64]


class PlanView(NamedTuple):
    """Where everything lies. ``at``: the nodes, float64 (N, 2); ``bend``: of each link, as a part of its length.

    ``links``: int64 (links, 2), each once, smaller node first. ``font``: of labels in points, 0 for dots.
    ``radius``: of the mark of a node.
    """

    at: Floats
    size: tuple[float, float]
    links: Ints
    bend: dict[tuple[int, int], float]
    font: float
    radius: float

    @staticmethod
    @kept(2)  # frames of one network follow one another
    def of(network: Network, root: int) -> "PlanView":
        """Look at a network, whose picture is no wider and higher than a page, but for links that are bent around its nodes."""
        points, even = layout_of(network, root)
        points = points - points.min(axis=0)
        letters = np.array([len(short_label(network, u)) for u in range(network.nodes)])
        wanted = np.maximum(0.5, _LABELLED * letters + 0.24)
        if even:
            wanted = float(wanted.max())
            near, span = _nearest(points), points.max(axis=0)
            unit = max(1.6 * wanted / near, _LEAST / max(*span, 1e-9))
            # a page bounds it before the room that labels want
            unit = min(unit, _WIDEST / max(span[0], 1e-9), _HIGHEST / max(span[1], 1e-9))
            at, room = points * unit, near * unit
        else:
            layer = np.unique(points[:, 1], return_inverse=True)[1]
            count = np.bincount(layer)
            widest = np.zeros(len(count))
            np.maximum.at(widest, layer, wanted)
            wide = min(_WIDEST, max(1.15 * float((count * widest).max()), 3.0))
            layers = max(float(np.ptp(points[:, 1])), 1e-9)
            high = max(_LAYER, wide / 6)  # else slanted links would run through their neighbours
            at = points * (wide / max(float(points[:, 0].max()), 1e-9), min(high, _HIGHEST / layers))
            tight = int(np.argmax(count * widest))
            wanted, room = float(widest[tight]), wide / float(count[tight])
        font = min(8.0, 8.0 * room / wanted)
        font = font if font >= 4 else 0.0
        radius = min(0.22, 0.4 * room) if font else max(0.02, min(0.06, 0.3 * room))
        boxes = np.column_stack([0.3 * letters + 0.3, np.full(network.nodes, 0.85)]) * font / 72
        half, links = boxes if font else np.full((network.nodes, 2), 0.8 * radius), links_of(network)
        bend = _bends(at, links, (half, half + 0.15 * radius))
        return PlanView(at, (0.0, 0.0), links, bend, font, radius)._with_room()

    def _with_room(self) -> "PlanView":
        """Return the view with its size: room for all nodes, and for links that are bent far around them."""
        bent = np.array(list(self.bend), np.int64).reshape(-1, 2)
        curves = self.curves(bent[:, 0], bent[:, 1], np.zeros(len(bent)))
        spots = np.concatenate([points_on(curves, place)[0] for place in np.linspace(0, 1, 21)])
        low = np.minimum(self.at.min(axis=0), spots.min(axis=0, initial=np.inf) + _MARGIN)
        high = np.maximum(self.at.max(axis=0), spots.max(axis=0, initial=-np.inf) - _MARGIN)
        return self._replace(at=self.at - low, size=(float(high[0] - low[0]), float(high[1] - low[1])))

    def curves(self, src: Ints, dst: Ints, aside: Floats) -> Floats:
        """Return arcs as curves of three points, float64 (arcs, 3, 2), so many inches ``aside`` in their middle.

        Aside is to the right of the way from the smaller node to the larger one. All end within the marks of nodes.
        """
        low, high = np.minimum(src, dst), np.maximum(src, dst)
        begin, end = self.at[low], self.at[high]
        way = end - begin
        length = np.maximum(np.hypot(*way.T), 1e-9)[:, None]
        across = np.column_stack([-way[:, 1], way[:, 0]]) / length
        bend = np.array([self.bend.get(pair, 0.0) for pair in zip(low.tolist(), high.tolist(), strict=True)])
        reach = 0.009 * self.font if self.font else 0.7 * self.radius  # half the height of a label's box, in inches
        ends = np.clip(aside, -reach, reach)
        over = across * ends[:, None]
        middle = (begin + end) / 2 + across * length * 2 * bend[:, None] + across * (2 * aside - ends)[:, None]
        forth = np.stack([begin + over, middle, end + over], axis=1)
        return np.where((src == low)[:, None, None], forth, forth[:, ::-1])


def beside(links: Ints, gap: float = _BESIDE) -> Floats:
    """Return by how much each arc over a link lies aside, so that arcs over one link do not cover one another.

    ``links``: the number of the link of each arc, int64 (arcs,).
    """
    order = np.argsort(links, kind="stable")
    count = np.unique(links, return_counts=True)[1]
    found = np.empty(len(links))
    # places 0 … k-1 of a link's arcs, moved so that their middle is 0
    found[order] = (places(count) - (np.repeat(count, count) - 1) / 2) * gap
    return found


def points_on(curves: Floats, place: float) -> tuple[Floats, Floats]:
    """Return the points on curves at a place in 0 … 1, and the directions there: float64 (arcs, 2) both."""
    begin, middle, end = curves[:, 0], curves[:, 1], curves[:, 2]
    # quadratic Bézier curves, and half their derivative, whose length does not matter
    at = (1 - place) ** 2 * begin + 2 * place * (1 - place) * middle + place**2 * end
    way = (1 - place) * (middle - begin) + place * (end - middle)
    return at, way / np.maximum(np.hypot(*way.T), 1e-9)[:, None]


def links_of(network: Network) -> Ints:
    """Return each link once, and each arc that has none back: int64 (links, 2), smaller node first."""
    arcs = arcs_of(network)
    pairs = np.sort(np.column_stack([arcs.tail, arcs.head]), axis=1)
    return np.unique(pairs, axis=0).astype(np.int64)


def _nearest(points: Floats) -> float:
    """Return how near most nodes are to the next one: nine in ten are no nearer."""
    found = list[Floats]()
    # 500 rows at once bound the memory that all pairs take
    for first in range(0, len(points), 500):
        gap = points[first : first + 500, None] - points[None]
        apart = np.hypot(gap[..., 0], gap[..., 1])
        # a node is not its own neighbour
        apart[np.arange(len(apart)), np.arange(first, first + len(apart))] = np.inf
        found.append(apart.min(axis=1, initial=np.inf))
    near = float(np.quantile(np.concatenate(found), 0.1, method="lower"))
    return near if np.isfinite(near) and near > 1e-9 else 1.0


def _bends(at: Floats, links: Ints, marks: tuple[Floats, Floats]) -> dict[tuple[int, int], float]:
    """Return how far links are bent that would touch another node, as a part of their length: so that few do.

    ``marks``: how far the marks of nodes reach aside, and up and down; and the same with a little room around.
    """
    if len(links) * len(at) > _MOST_COMPARED:
        return {}
    found: dict[tuple[int, int], float] = {}
    for u, v in links.tolist():
        gap, way = np.delete(at, [u, v], axis=0) - at[u], at[v] - at[u]
        half = tuple(np.delete(mark, [u, v], axis=0) for mark in marks)
        if _met(gap, way, 0.0, half)[1]:
            bend = min(0.16, 0.32 / max(float(np.hypot(*way)), 1e-5) + 0.03)
            some = bend, -bend, bend / 2, -bend / 2, 2 * bend, -2 * bend
            # among equals the first is taken, so the widest bends stand last
            met = [_met(gap, way, each, half) for each in some]
            found[u, v] = some[met.index(min(met))]
    return found


def _met(gap: Floats, way: Floats, bend: float, half: tuple[Floats, ...]) -> list[int]:
    """Return how many boxes a bent link runs through, whose centres lie so far from its beginning: of each sort of boxes.

    The link is a parabola over its ``way``. Beside each centre its tangent stands for it.
    """
    across, far = np.array([-way[1], way[0]]), max(float(way @ way), 1e-9)
    t = gap @ way / far
    off = np.abs(gap @ across - 4 * t * (1 - t) * bend * far)
    along = np.abs(way + 4 * (1 - 2 * t[:, None]) * bend * across)[:, ::-1]
    return [int(((off < (each * along).sum(axis=1)) & (t > 0.02) & (t < 0.98)).sum()) for each in half]
