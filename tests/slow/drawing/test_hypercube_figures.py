"""The pictures of times and of paths: what is in them, that texts have room, that files are repeatable."""

import pytest

from tests.drawing.on_page import check_room, on_page
from tests.drawing.test_hypercube_figures import job_of
from treecast.cli import main
from treecast.drawing.pictures import save
from treecast.networks import Hypercube
from treecast.papers.figures.charts import draw_times
from treecast.papers.figures.paths import draw_paths
from treecast.papers.hypercube.times import MODELS
from treecast.papers.paths import node_disjoint_paths

pytestmark = pytest.mark.each(2)


@pytest.mark.parametrize("d", [1, pytest.param(6, marks=pytest.mark.long), 30])
@pytest.mark.parametrize("collective", ["broadcast", "allgather"])
def test_texts_of_times_have_room(collective, d):
    check_room(on_page(draw_times, job_of(collective, d)))


@pytest.mark.parametrize("suffix", ["svg", *(pytest.param(s, marks=pytest.mark.long) for s in ("png", "pdf"))])
def test_the_same_picture_is_the_same_bytes(tmp_path, suffix):
    for number in range(2):
        save(on_page(draw_paths, node_disjoint_paths(Hypercube(3), 5)), tmp_path / f"paths{number}.{suffix}")
        save(on_page(draw_times, job_of("allgather", 3)), tmp_path / f"times{number}.{suffix}")
    for name in ("paths", "times"):
        first, second = (tmp_path / f"{name}{number}.{suffix}" for number in range(2))
        assert first.read_bytes() == second.read_bytes()
        assert len(first.read_bytes()) > 1000


pytestmark = pytest.mark.each(2)


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
