"""Figures of wormhole broadcasts: a panel per step, what is in it, heat maps against the numbers, and what cannot be drawn."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.image import AxesImage
from matplotlib.text import Text

from tests.drawing.on_page import on_page
from treecast.cli import main
from treecast.drawing.pictures import draw, save
from treecast.errors import TreecastError
from treecast.files.formats import save as save_schedule
from treecast.networks import Mesh
from treecast.papers.figures.mesh_sources import draw_sources
from treecast.papers.figures.mesh_steps import draw_steps
from treecast.papers.mesh.builders.bisection import minimum
from treecast.papers.mesh.builders.eyes import claimed_distance
from treecast.plans import plan
from treecast.simulation.faults import Faults

pytestmark = pytest.mark.each(2)


def wormhole(spec, root="0", **more):
    return plan("broadcast", spec, root=root, model="wormhole", **more)


def by_gid(axes, gid):
    (found,) = (artist for artist in axes.get_children() if artist.get_gid() == gid)
    return found


def paths(axes, gid):
    return [path for artist in axes.collections if artist.get_gid() == gid for path in artist.get_paths()]


def on_curve(controls):
    t = np.linspace(0, 1, 60)[:, None]
    return sum(
        weight * t**i * (1 - t) ** (3 - i) * at
        for i, (weight, at) in enumerate(zip((1, 3, 3, 1), controls, strict=True))
    )


def maps(figure):
    return [np.ma.filled(image.get_array(), np.nan) for image in figure.findobj(AxesImage) if image.get_gid() == "map"]


@pytest.mark.parametrize(
    ("spec", "root", "rings"),
    [("mesh:8x8", "2,3", 4), ("mesh:4x4x4", "0,1,2", 8), ("path:16", "5", 2), ("mesh:3x5", "1,1", 0),
     ("torus:6x6", "1,2", 0), ("torus:4x4", "3,3", 0), ("ring:12", "7", 0), ("mesh:2x3x4", "1,2,3", 0), ("path:2", "1", 2)],
)  # fmt: skip
def test_a_panel_per_step_with_all_its_messages(spec, root, rings):
    schedule = wormhole(spec, root)
    figure, rows, grid = on_page(draw_steps, schedule), schedule.rows, schedule.network
    assert len(figure.axes) == schedule.steps
    total = int(grid.distance(rows.src, rows.dst).sum())
    assert f": total distance {total}" in figure.texts[0].get_text()
    before = 0
    for step, axes in enumerate(figure.axes):
        now = rows.step == step
        straight, around, heads = (paths(axes, f"{name}-{step}") for name in ("arrows", "round", "heads"))
        wrapped = (
            np.abs(grid.coordinates(rows.src) - grid.coordinates(rows.dst)).sum(axis=0)[now]
            > grid.distance(rows.src, rows.dst)[now]
        )
        assert len(straight) == (~wrapped).sum()
        assert len(around) == 2 * wrapped.sum()  # it leaves, and it arrives
        assert len(heads) == now.sum()
        new, later, known = (by_gid(axes, f"{name}-{step}").get_offsets() for name in ("new", "later", "before"))
        assert (len(known), len(new)) == (1 + before, now.sum())
        assert len(known) + len(new) + len(later) == grid.nodes
        assert len(np.unique(np.concatenate([known, new, later]), axis=0)) == grid.nodes
        before += len(new)
        assert (
            sum(len(artist.get_offsets()) for artist in axes.collections if artist.get_gid() == f"eyes-{step}") == rings
        )
        words = [text.get_text() for text in axes.texts]
        assert f"step {step}" in words
        assert any(f"distance {int(grid.distance(rows.src, rows.dst)[now].sum())}" in text for text in words)
        tips = np.array([path.vertices[0] for path in heads])
        gaps = np.hypot(*(tips[:, None] - np.asarray(new)[None]).transpose(2, 0, 1))
        assert sorted(gaps.argmin(axis=1)) == list(range(len(new)))  # each arrow ends at a node of its own


@pytest.mark.parametrize(("spec", "root"), [("mesh:8x8", "2,3"), ("path:16", "5"), ("torus:5x6", "1,2"), ("mesh:5x7", "1,1"),
                                            ("mesh:9x1", "3,0"), ("mesh:1x9", "0,3")])  # fmt: skip
def test_arrows_are_straight_where_no_node_lies_between_and_else_pass_beside(spec, root):
    schedule = wormhole(spec, root)
    figure, grid, rows = on_page(draw_steps, schedule), schedule.network, schedule.rows
    for step, axes in enumerate(figure.axes):
        marks = np.concatenate([by_gid(axes, f"{name}-{step}").get_offsets() for name in ("new", "later", "before")])
        apart = np.hypot(*(marks[:, None] - marks[None]).transpose(2, 0, 1))
        unit = apart[apart > 0].min()
        curves = paths(axes, f"arrows-{step}") + paths(axes, f"round-{step}")
        straight = 0
        for points in (on_curve(path.vertices) for path in curves):
            # neither the sender's mark nor any other is crossed: the radius of a dot is 0.18
            assert np.hypot(*(points[:, None] - marks[None]).transpose(2, 0, 1)).min() > 0.2 * unit
            chord = points[-1] - points[0]
            off = np.abs((points - points[0]) @ (chord[1], -chord[0])).max() / np.hypot(*chord)
            assert off < 1e-9 or off > 0.15 * unit
            straight += off < 1e-9
            if len(grid.sides) == 1 and off > 1e-9:
                assert points[:, 1].min() < marks[:, 1].min() - 0.5 * unit  # above the line
        now, far = rows.step == step, grid.distance(rows.src, rows.dst)
        wraps = np.abs(grid.coordinates(rows.src) - grid.coordinates(rows.dst)).sum(axis=0) > far
        askew = (grid.coordinates(rows.src) != grid.coordinates(rows.dst)).all(axis=0) & (len(grid.sides) > 1)
        direct = now & ((far == 1) | askew)  # those askew go to the next row and column here
        assert straight == direct.sum() + (direct & wraps).sum()


@pytest.mark.parametrize(("spec", "root"), [("torus:6x6", "1,2"), ("ring:12", "7"), ("torus:4x4x4", "0,1,2")])
def test_what_goes_round_a_torus_is_not_drawn_across_it(spec, root):
    schedule = wormhole(spec, root)
    figure, found = on_page(draw_steps, schedule), 0
    for step, axes in enumerate(figure.axes):
        everything = by_gid(axes, f"later-{step}").get_offsets(), by_gid(axes, f"before-{step}").get_offsets()
        wide = np.ptp(np.concatenate(everything)[:, 0]) if len(everything[0]) else np.inf
        for drawn in (artist for artist in axes.collections if artist.get_gid() == f"round-{step}"):
            assert drawn.get_clip_box() is not None
            for path in drawn.get_paths():
                found += 1
                assert np.hypot(*(path.vertices[-1] - path.vertices[0])) < wide / 2
    assert found


@pytest.mark.parametrize("sides", [(8, 8), (16, 16), (5, 7), (4, 4, 4)])
def test_cells_differ_from_the_page_and_their_numbers_from_them(sides):
    def luminance(rgb):
        rgb = np.asarray(rgb)[..., :3]
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ (0.2126, 0.7152, 0.0722)

    for image in (image for image in on_page(draw_sources, Mesh(sides)).findobj(AxesImage) if image.get_gid() == "map"):
        values = image.get_array()
        for text in (text for text in image.axes.texts if text.get_fontsize() == 6.5):
            x, y = (int(at) for at in text.get_position())
            assert text.get_text().replace("−", "-") == str(int(values[y, x]))
            ground, ink = luminance(image.to_rgba(values[y, x])), luminance(to_rgb(text.get_color()))
            assert (max(ground, ink) + 0.05) / (min(ground, ink) + 0.05) >= 4.5
            assert 1.05 / (ground + 0.05) > 1.15


def test_on_the_command_line(tmp_path, capsys):
    save_schedule(wormhole("mesh:4x4", "1,2"), tmp_path / "plan.tc")
    assert main(["draw", str(tmp_path / "plan.tc"), "--kind", "steps", "-o", str(tmp_path / "a.svg")]) == 0
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    save_schedule(plan("broadcast", "star:3"), tmp_path / "star.tc")
    capsys.readouterr()
    assert main(["draw", str(tmp_path / "star.tc"), "--kind", "steps", "-o", str(tmp_path / "b.svg")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "b.svg").exists()


@pytest.mark.parametrize(
    ("make", "why"),
    [(lambda: plan("broadcast", "star:3"), "star:3 is neither mesh nor torus"),
     (lambda: plan("broadcast", "mesh:4x4"), "its messages go from port to port"),
     (lambda: plan("allgather", "mesh:2x2"), "this is a schedule of allgather"),
     (lambda: wormhole("mesh:2x2x2x2"), "mesh:2x2x2x2 has more than 3 axes"),
     (lambda: wormhole("path:2048"), "path:2048 has more than 2,000 nodes"),
     (lambda: wormhole("path:1"), "nothing is sent")],
)  # fmt: skip
def test_what_cannot_be_drawn_is_one_line(make, why):
    with pytest.raises(TreecastError, match=f"no picture of kind steps: {why}") as caught:
        draw(make(), kind="steps")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["multicast", "scatter", "gather"])
def test_other_messages_from_one_node_or_to_one_have_panels_too(kind):
    targets = {"targets": ["0,3", "3,3"]} if kind == "multicast" else {}
    schedule = plan(kind, "mesh:4x4", model="wormhole", **targets)
    figure = on_page(draw_steps, schedule)
    assert len(figure.axes) == schedule.steps
    gids = {artist.get_gid(): artist for artist in figure.findobj() if artist.get_gid()}
    for step in range(schedule.steps):
        assert len(gids[f"heads-{step}"].get_paths()) == (schedule.rows.step == step).sum()
        assert f"eyes-{step}" not in gids


def test_faults_and_large_heat_maps_cannot_be_drawn(tmp_path):
    with pytest.raises(
        TreecastError,
        match="no picture of kind steps: it shows no faults; draw trees, space-time, network",
    ):
        draw(wormhole("mesh:4x4"), tmp_path / "a.svg", kind="steps", faults=Faults({3: 0}))
    for sides in ((64, 64), (2, 2, 2, 2)):
        with pytest.raises(TreecastError, match="cannot be drawn: choose 3 axes and 2,000 nodes at most"):
            draw(Mesh(sides), tmp_path / "a.svg")


@pytest.mark.parametrize("sides", [(8, 8), (16, 16), (16,), (1,)])
def test_heat_maps_show_bisection_the_paper_and_the_difference(sides):
    ours = np.asarray(minimum(sides)[1].least)
    k = sides[0].bit_length() - 1
    paper = claimed_distance(k, np.moveaxis(np.indices(sides), 0, -1), best_order=True)
    figure = on_page(draw_sources, Mesh(sides))
    found = maps(figure)
    for image, truth in zip(found, (ours, paper, ours - paper), strict=True):
        assert np.array_equal(image, truth.reshape(image.shape))
    written = [text.get_text() for text in figure.axes[0].texts if text.get_fontsize() == 6.5]
    assert written == [f"{value:,}" for value in ours.reshape(-1).tolist()]


def test_heat_maps_of_other_sides():
    (image,) = maps(on_page(draw_sources, Mesh((3, 5))))
    assert np.array_equal(image, minimum((3, 5))[1].least)
    sliced = maps(on_page(draw_sources, Mesh((4, 4, 4))))[0]
    assert np.isnan(sliced[:, [4, 9, 14]]).all()
    least = minimum((4, 4, 4))[1].least
    assert all(np.array_equal(sliced[:, 5 * i : 5 * i + 4], least[i]) for i in range(4))
    large = on_page(draw_sources, Mesh((32, 32)))
    assert len(maps(large)) == 3
    assert not [text for axes in large.axes for text in axes.texts if text.get_fontsize() == 6.5]


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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("suffix", HEADS)
def test_files_are_whole_and_repeatable(tmp_path, suffix):
    for name in ("one", "two"):
        draw(wormhole("mesh:4x4", "1,2"), tmp_path / f"{name}.{suffix}", kind="steps")
        save(on_page(draw_sources, Mesh((4, 4))), tmp_path / f"{name}_map.{suffix}")
    for end in ("", "_map"):
        one, two = ((tmp_path / f"{name}{end}.{suffix}").read_bytes() for name in ("one", "two"))
        assert one == two
        assert one.startswith(HEADS[suffix])
