"""The pictures of times and of paths: what is in them, that texts have room, that files are repeatable."""

from itertools import pairwise

import numpy as np
import pytest

from tests.drawing.on_page import check_room, on_page
from treecast.cli import main
from treecast.drawing.pictures import save
from treecast.drawing.style import colour
from treecast.errors import PlanError
from treecast.networks import Hypercube, network
from treecast.papers.figures.charts import draw_times
from treecast.papers.figures.paths import draw_paths
from treecast.papers.hypercube.times import MODELS, SCHEMES, CubeProblem, crossings, fastest, timings
from treecast.papers.paths import node_disjoint_paths

pytestmark = pytest.mark.each(2)


def by_gid(figure, gid):
    return [artist for artist in figure.findobj() if artist.get_gid() == gid]


def job_of(collective, d, k=None, free=False):
    return CubeProblem(collective, MODELS[0], d, d - 1 if k is None else k, free)


@pytest.mark.parametrize(("collective", "d", "k", "free"), [("allgather", 6, None, False), ("broadcast", 5, 2, True)])
def test_curves_are_the_times(collective, d, k, free):
    figure = on_page(draw_times, job_of(collective, d, k, free))
    for model in MODELS:
        job = job_of(collective, d, k, free)._replace(model=model)
        found = timings(job, measure=False)
        for t in found:
            for what, time in (("closed", t.closed), ("claimed", t.claimed)):
                lines = by_gid(figure, f"{what}-{model}-{t.scheme}")
                assert len(lines) == (time is not None)
                for line in lines:
                    r, ratio = line.get_data()
                    least = np.min([s.closed.startups + s.closed.chunks * r for s in found], axis=0)
                    assert ratio == pytest.approx((time.startups + time.chunks * r) / least)
                    assert line.get_color() == colour(SCHEMES.index(t.scheme))
    marks = by_gid(figure, "crossing")
    jobs = [timings(job_of(collective, d, k, free)._replace(model=model), measure=False) for model in MODELS]
    wanted = [float(c.r) for found in jobs for c in crossings([(t.scheme, t.closed) for t in found]) if c.r is not None]
    assert [mark.get_xdata()[0] for mark in marks] == pytest.approx(wanted)
    assert len(wanted) == (3 if collective == "allgather" else 0)


def test_squares_are_the_fastest():
    figure = on_page(draw_times, job_of("broadcast", 5))
    for d in range(1, 6):
        for k in range(d):
            ends = [fastest([(t.scheme, t.closed) for t in timings(CubeProblem("broadcast", model, d, k), measure=False)])[-1][1]
                    for model in MODELS]  # fmt: skip
            for name in SCHEMES:
                squares = by_gid(figure, f"fastest-{d}-{k}-{name}")
                assert len(squares) == sum(name in names for names in ends)
    assert not by_gid(figure, "fastest-6-0-fraigniaud")


def test_a_figure_of_no_job():
    with pytest.raises(PlanError):
        on_page(draw_times, job_of("allgather", 4, 4))


@pytest.mark.parametrize(("d", "k", "free"), [(5, 2, False), (4, 1, True)])  # two crossings, and three, side by side
def test_labels_of_crossings_that_are_near_lie_apart(d, k, free):
    check_room(on_page(draw_times, job_of("allgather", d, k, free)))


@pytest.mark.parametrize(
    ("spec", "node"), [("hypercube:1", 1), ("hypercube:4", 14), ("hypercube:9", 0b101100111), ("star:5", 77), ("star:2", 1)]
)  # fmt: skip
def test_paths_are_drawn_arc_by_arc(spec, node):
    paths = node_disjoint_paths(network(spec), node)
    figure = on_page(draw_paths, paths)
    check_room(figure)
    written = [text.get_text() for text in figure.axes[0].texts]
    for number, (way, steps) in enumerate(zip(paths.ways, paths.steps, strict=True)):
        for u in way:
            assert written.count(paths.network.label(u)) == 1
        ends = []
        for arc, step in enumerate(steps):
            (line,) = by_gid(figure, f"arc-{number}-{arc}")
            x, y = line.get_data()
            ends.append(((x[0], y[0]), (x[-1], y[-1])))
            assert line.get_linestyle() == ("-" if paths.unit(step) is None else "--")
        assert all(a[1] == b[0] for a, b in pairwise(ends))
    units = sorted(str(paths.unit(step)) for steps in paths.steps for step in steps if paths.unit(step) is not None)
    assert sorted(text for text in written if len(text) < 2) == units


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, pytest.param(6, marks=pytest.mark.long), 30])
@pytest.mark.parametrize("collective", ["broadcast", "allgather"])
def test_texts_of_times_have_room(collective, d):
    check_room(on_page(draw_times, job_of(collective, d)))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["svg", *(pytest.param(s, marks=pytest.mark.long) for s in ("png", "pdf"))])
def test_the_same_picture_is_the_same_bytes(tmp_path, suffix):
    for number in range(2):
        save(on_page(draw_paths, node_disjoint_paths(Hypercube(3), 5)), tmp_path / f"paths{number}.{suffix}")
        save(on_page(draw_times, job_of("allgather", 3)), tmp_path / f"times{number}.{suffix}")
    for name in ("paths", "times"):
        first, second = (tmp_path / f"{name}{number}.{suffix}" for number in range(2))
        assert first.read_bytes() == second.read_bytes()
        assert len(first.read_bytes()) > 1000


@pytest.mark.slow
def test_the_line_of_ones_own_machine(tmp_path, capsys):
    """--bytes 4096 --latency 10us --rate 1GB/s: r = 4096e-9 / 1e-5 = 0.4096."""
    figure = on_page(draw_times, job_of("broadcast", 5)._replace(r=0.4096))
    lines = [artist for artist in figure.findobj() if (artist.get_gid() or "").startswith("yours-")]
    assert [line.get_xdata() for line in lines] == [[0.4096, 0.4096]] * len(MODELS)
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert words.count(" yours: r = 0.41") == len(MODELS)
    costs = ["--bytes", "4096", "--latency", "10us", "--rate", "1GB/s"]
    assert main(["times", "hypercube:5", "--collective", "broadcast", *costs, "-o", str(tmp_path / "a.svg")]) == 0
    assert "yours: r = 0.41" in (tmp_path / "a.svg").read_text()
    capsys.readouterr()
