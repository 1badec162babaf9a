"""Figures of wormhole broadcasts: a panel per step, what is in it, heat maps against the numbers, and what cannot be drawn."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from tests.drawing.on_page import on_page
from tests.drawing.test_mesh_figure import wormhole
from treecast.drawing.pictures import draw, save
from treecast.networks import Mesh
from treecast.papers.figures.mesh_sources import draw_sources
from treecast.papers.figures.mesh_steps import draw_steps

pytestmark = pytest.mark.each(2)


HEADS = {"svg": b"<?xml", "png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-"}


FIGURES = [
    *(lambda: on_page(draw_steps, wormhole("mesh:8x8", "2,3")), lambda: on_page(draw_steps, wormhole("mesh:4x4"))),
    *(
        lambda: on_page(draw_steps, wormhole("mesh:16x2")),
        lambda: on_page(draw_steps, wormhole("torus:4x4x4", "0,1,2")),
    ),
    *(
        lambda: on_page(draw_sources, Mesh((5, 7))),
        lambda: on_page(draw_sources, Mesh((1,))),
        lambda: on_page(draw_sources, Mesh((16,))),
    ),
]


LARGER_FIGURES = [
    *(
        lambda: on_page(draw_steps, wormhole("path:64", "20")),
        lambda: on_page(draw_steps, wormhole("mesh:16x16", "5,6")),
    ),
    *(lambda: on_page(draw_steps, wormhole("path:200", "7")), lambda: on_page(draw_steps, wormhole("torus:20x3"))),
    *(
        lambda: on_page(draw_sources, Mesh((8, 8))),
        lambda: on_page(draw_sources, Mesh((64,))),
        lambda: on_page(draw_sources, Mesh((4, 4, 4))),
    ),
]


@pytest.mark.parametrize("make", [*FIGURES, *(pytest.param(make, marks=pytest.mark.long) for make in LARGER_FIGURES)])
def test_texts_lie_on_the_page_and_do_not_overlap(make):
    figure = make()
    FigureCanvasAgg(figure).draw()
    texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    boxes = np.array([text.get_window_extent().extents for text in texts])
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] <= figure.bbox.size).all()
    low, high = boxes[:, None], boxes[None]
    shared = np.minimum(low[..., 2:], high[..., 2:]) - np.maximum(low[..., :2], high[..., :2])
    both = np.argwhere(np.triu((shared > 0).all(axis=2), 1))
    assert [(texts[a].get_text(), texts[b].get_text()) for a, b in both] == []


@pytest.mark.parametrize("suffix", HEADS)
def test_files_are_whole_and_repeatable(tmp_path, suffix):
    for name in ("one", "two"):
        draw(wormhole("mesh:4x4", "1,2"), tmp_path / f"{name}.{suffix}", kind="steps")
        save(on_page(draw_sources, Mesh((4, 4))), tmp_path / f"{name}_map.{suffix}")
    for end in ("", "_map"):
        one, two = ((tmp_path / f"{name}{end}.{suffix}").read_bytes() for name in ("one", "two"))
        assert one == two
        assert one.startswith(HEADS[suffix])
