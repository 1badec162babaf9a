"""Pictures that move: what each frame shows, against every single send; folders, GIFs, and what is refused."""

from xml.etree import ElementTree

from PIL import Image

from treecast.drawing.look import Look
from treecast.drawing.pictures import draw
from treecast.plans import plan
from treecast.simulation.faults import Faults


def test_frames_are_files(tmp_path):
    schedule = plan("broadcast", "star:3", messages=2, copies=2)
    draw(schedule, f"{tmp_path}/frames/", steps=(1, 3), look=Look(size=(3, 3)))
    assert sorted(path.name for path in (tmp_path / "frames").iterdir()) == ["step-1.png", "step-2.png"]
    draw(schedule, tmp_path / "%03d.svg", steps=(2, 3), faults=Faults({3: 0}))
    assert (
        ElementTree.parse(tmp_path / "002.svg")
        .getroot()[1]
        .text.startswith("the network, with the trees laid over it, in step 2")
    )
    draw(schedule, tmp_path / "a.gif", steps=(0, 3), look=Look(dark=True, size=(3, 2)))
    with Image.open(tmp_path / "a.gif") as image:
        assert (image.n_frames, image.size) == (3, (300, 200))
    before = (tmp_path / "a.gif").read_bytes()
    draw(schedule, tmp_path / "a.gif", steps=(0, 3), look=Look(dark=True, size=(3, 2)))
    assert (tmp_path / "a.gif").read_bytes() == before
