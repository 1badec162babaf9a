"""Which files go out: those of a folder, with links as links where they lead to places inside."""

import os

import pytest

from treecast.errors import PlanError
from treecast.running.cast.files import piece_of, sources_of


@pytest.fixture
def cache(tmp_path):
    """Return a folder of a model as the cache of Hugging Face has it."""
    folder = tmp_path / "models--org--name"
    for name, text in (("blobs/aa", "weights"), ("blobs/bb", "{}"), ("refs/main", "rev")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    snapshot = folder / "snapshots" / "rev"
    (snapshot / "sub").mkdir(parents=True)
    (snapshot / "model.safetensors").symlink_to("../../blobs/aa")
    (snapshot / "sub" / "config.json").symlink_to("../../../blobs/bb")
    return folder


def test_a_cache_goes_out_with_its_links(cache):
    found = {each.name: (each.size, each.link) for each in sources_of(cache)}
    assert found == {
        "blobs/aa": (7, ""),
        "blobs/bb": (2, ""),
        "refs/main": (3, ""),
        "snapshots/rev/model.safetensors": (0, "../../blobs/aa"),
        "snapshots/rev/sub/config.json": (0, "../../../blobs/bb"),
    }


def test_a_snapshot_alone_has_what_its_links_lead_to(cache):
    found = {each.name: (each.size, each.link) for each in sources_of(cache / "snapshots" / "rev")}
    assert found == {"model.safetensors": (7, ""), "sub/config.json": (2, "")}


def test_other_links(tmp_path):
    top, beside = tmp_path / "top", tmp_path / "beside"
    for folder in (top / "a", beside):
        folder.mkdir(parents=True)
        (folder / "file").write_text("text")
    (top / "absolute").symlink_to(top / "a" / "file")
    (top / "folder").symlink_to("a")
    (top / "outside").symlink_to(beside)
    (top / "empty").mkdir()
    found = {each.name: each.link for each in sources_of(top)}
    assert found == {"a/file": "", "absolute": "a/file", "folder": "a", "outside/file": "", "empty/": ""}
    (beside / "back").symlink_to(top)  # leads inside: it is a link, no circle
    assert {each.name: each.link for each in sources_of(top)}["outside/back"] == ".."


@pytest.mark.parametrize("made", ["nothing", "empty", "pipe", "dangling", "circle"])
def test_what_is_no_file_is_named(tmp_path, made):
    top = tmp_path / "top"
    if made != "nothing":
        top.mkdir()
    if made == "pipe":
        os.mkfifo(top / "pipe")
    if made == "dangling":
        (top / "dangling").symlink_to(tmp_path / "none")
    if made == "circle":
        (tmp_path / "beside").mkdir()
        (tmp_path / "beside" / "again").symlink_to(tmp_path / "beside")
        (top / "circle").symlink_to(tmp_path / "beside")
    with pytest.raises(PlanError, match=made if made not in ("nothing", "empty", "circle") else "top"):
        sources_of(top)


def test_a_file_that_cannot_be_read_is_named_at_once(cache, monkeypatch):
    def refuse(self, mode):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.open", refuse)
    for path in (cache, cache / "blobs" / "aa"):
        with pytest.raises(PlanError, match="aa cannot be read: Permission denied"):
            sources_of(path)


@pytest.mark.parametrize("hosts", [1, 16, 1000])
def test_pieces_grow_with_the_bytes_and_are_never_smaller_or_larger_than_said(hosts):
    sizes = [piece_of(1 << k, hosts) for k in range(10, 45)]
    assert (sizes[0], sizes[-1]) == (1 << 18, 1 << 22)
    assert sizes == sorted(sizes)
    assert piece_of(1 << 28, 1) >= piece_of(1 << 28, hosts)
