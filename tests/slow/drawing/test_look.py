"""How figures look: dark and transparent grounds, sizes, titles, SVG whose text is text, and names that stay apart."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from PIL import Image

from tests.drawing.test_look import contrast, s3
from treecast.drawing.figures.network import draw_network
from treecast.drawing.figures.parallelogram import draw_parallelograms
from treecast.drawing.figures.space_time import draw_run_on
from treecast.drawing.figures.tree import draw_trees
from treecast.drawing.look import Look, drawn_on
from treecast.drawing.pictures import draw
from treecast.drawing.registry import View
from treecast.drawing.style import DARK
from treecast.networks import network
from treecast.papers.figures.charts import draw_times
from treecast.papers.figures.mesh_steps import draw_steps
from treecast.papers.figures.paths import draw_paths
from treecast.papers.hypercube.times import MODELS, CubeProblem
from treecast.papers.paths import node_disjoint_paths
from treecast.plans import plan
from treecast.simulation.faults import parse_faults


def test_a_dark_figure_has_no_dark_letters():
    schedule, job = s3(), CubeProblem("allgather", MODELS[0], 3, 1)
    collect = plan("scatterv", "tree:3,2", lengths=3)
    for drawing in (
        lambda page: draw_trees(schedule, View(faults=parse_faults(schedule.network, ["213"]), page=page)),
        lambda page: draw_run_on(schedule, View(page=page)),
        lambda page: draw_network(schedule, View(page=page)),
        lambda page: draw_network(schedule, View(page=page, step=2)),
        lambda page: draw_parallelograms(collect, View(page=page)),
        lambda page: draw_paths(node_disjoint_paths(network("star:4"), 23), View(page=page)),
        lambda page: draw_steps(plan("broadcast", "mesh:4x4", model="wormhole"), View(page=page)),
        lambda page: draw_times(job, View(page=page)),
    ):
        figure = drawn_on(drawing, Look(dark=True))
        assert to_rgb(figure.get_facecolor()) == pytest.approx(to_rgb(DARK.ground))
        figure.canvas.draw()
        for text in figure.findobj(Text):
            box = text.get_bbox_patch()
            ground = DARK.ground if box is None else to_rgb(box.get_facecolor())
            if text.get_text() and text.get_visible() and text.zorder < 6:  # those above are on messages
                assert contrast(text.get_color(), ground) > 3.5, text.get_text()


@pytest.mark.parametrize(
    ("dark", "transparent", "corner"), [(0, 0, (255,) * 4), (1, 0, (24, 24, 24, 255)), (0, 1, None)]
)
def test_the_ground_of_a_file(tmp_path, dark, transparent, corner):
    draw(s3(), tmp_path / "one.png", look=Look(dark=bool(dark), transparent=bool(transparent)))
    with Image.open(tmp_path / "one.png") as image:
        found = image.convert("RGBA").getpixel((1, 1))
    assert found[3] == 0 if corner is None else np.abs(np.subtract(found, corner)).max() <= 1
