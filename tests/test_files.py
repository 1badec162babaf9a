import io
import os
import stat
import sys

import pytest

from treecast.errors import FormatError
from treecast.writing import read_whole, write_folder, write_whole

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_written_with_the_usual_permissions(tmp_path):
    path = tmp_path / "new"
    before = os.umask(0o027)
    try:
        write_whole(path, b"ab", memoryview(b"cd"), b"")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"abcd"
    assert mode(path) == 0o640
    assert os.listdir(tmp_path) == ["new"]


def test_an_existing_file_is_replaced_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "old"
    path.write_bytes(b"something longer")
    path.chmod(0o600)
    write_whole(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600


def test_a_link_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")
    write_whole(tmp_path / "link", b"there")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder/file").read_bytes() == b"there"


def test_what_is_no_file_is_written_to_and_stays(tmp_path):
    write_whole("/dev/null", b"gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    "name", ["", ".", "no/such/folder/file", "a" * 300, "\0", "/proc/nobody/writes/here", "/dev/full"]
)
def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match="cannot be written"):
        write_whole(name, b"data")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(ROOT, reason="nothing is read-only for root")
def test_read_only_files_and_folders(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o400)
    with pytest.raises(FormatError, match="it is read-only"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    tmp_path.chmod(0o500)
    with pytest.raises(FormatError, match="Permission denied"):
        write_whole(tmp_path / "other", b"new")
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
@pytest.mark.parametrize("where", ["os.fchmod", "pathlib.Path.replace"])
def test_nothing_half_written_is_left(tmp_path, monkeypatch, where, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_):
        assert len(os.listdir(tmp_path)) == 2
        raise error

    monkeypatch.setattr(where, fail)
    with pytest.raises((KeyboardInterrupt, MemoryError, FormatError)):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "empty").write_bytes(b"")
    assert read_whole(tmp_path / "file") == b"abc"
    assert read_whole(str(tmp_path / "empty")) == b""
    seen = []
    assert read_whole(tmp_path / "file", 2, lambda head: seen.append(head) or "") == b"abc"
    assert read_whole(tmp_path / "empty", 2, lambda head: seen.append(head) or "") == b""
    assert seen == [b"ab", b""]
    for path in ("file", "empty"):
        with pytest.raises(FormatError, match=f"{path}' is refused"):
            read_whole(tmp_path / path, 4, lambda head: "is refused")


@pytest.mark.parametrize("name", ["", ".", "missing", "\0", "a" * 300])
def test_what_cannot_be_read_is_said(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match="cannot be read"):
        read_whole(name)


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"abc")))
    assert read_whole("-", 1, lambda head: "" if head == b"a" else "is refused") == b"abc"
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(FormatError, match="standard input cannot be read: it is closed"):
        read_whole("-")


def test_a_folder_is_written_whole_or_not_at_all(tmp_path):
    write_folder(tmp_path / "new", [("a", b"1"), ("b", b"")])
    assert {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()} == {"a": b"1", "b": b""}
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", [("c", b"2")])
    (tmp_path / "file").write_bytes(b"")
    for taken in ("new", "file"):
        with pytest.raises(FormatError, match="is there already, and not empty: name a new folder"):
            write_folder(tmp_path / taken, [("a", b"3")])
    for path, files in (
        (tmp_path / "none" / "new", [("a", b"1")]),
        (tmp_path / "other", [("a", b"1"), ("b/c", b"2")]),
        (tmp_path / "other", [("../a", b"1")]),
    ):
        with pytest.raises(FormatError, match="cannot be written"):
            write_folder(path, files)
    with pytest.raises(FormatError, match="cannot go to standard output"):
        write_folder("-", [])
    assert sorted(os.listdir(tmp_path)) == ["empty", "file", "new"]
    assert (tmp_path / "new" / "a").read_bytes() == b"1"
