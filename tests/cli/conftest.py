"""Plans and data that tests of several verbs work on."""

import shutil

import pytest

from treecast.files import formats
from treecast.plans import plan


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The folder that tests get copies of."""
    folder = tmp_path_factory.mktemp("made")
    schedule = plan("broadcast", "star:4", messages=60, survive=2)
    formats.save(schedule, folder / "plan.tc")
    formats.save(schedule, folder / "plan.tcb")
    formats.save(plan("broadcast", "star:4", messages=60, copies=1), folder / "single.tc")
    whole = (folder / "plan.tc").read_text()
    by_hand = "".join(line for line in whole.splitlines(keepends=True) if not line.startswith("digest"))
    early = by_hand.replace("1+60 2134>3124 port=1 tree=0", "0+60 2134>3124 port=1 tree=0")
    no_arc = by_hand.replace("1+60 2134>3124 port=1 tree=0", "1+60 2134>3142 port=1 tree=0")
    assert by_hand not in (early, no_arc)
    for name, text in {"hand.tc": by_hand, "early.tc": early, "no-arc.tc": no_arc}.items():
        (folder / name).write_text(text)
    (folder / "tampered.tc").write_text(whole.replace("messages 60", "messages 61"))
    (folder / "cut.tc").write_text(whole[:-9])
    (folder / "cut.tcb").write_bytes((folder / "plan.tcb").read_bytes()[:-9])
    (folder / "data").write_bytes(bytes(range(256)) * 20)
    (folder / "nothing").write_bytes(b"")
    (folder / "folder").mkdir()
    return folder


@pytest.fixture
def files(made, tmp_path, monkeypatch):
    """A folder with plans of both formats, a wrong one, a tampered one, a cut one, and data; it is where we are."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
