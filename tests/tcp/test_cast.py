"""A file to all hosts: it comes whole, whoever dies; what is there already is not sent again; errors are one line."""

import os

import pytest

from tests.tcp.threads import DeathError, run_ranks
from treecast.errors import DeliveryError, PlanError
from treecast.tcp import cast


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Have pieces of 64 KiB, so that a file has many."""
    monkeypatch.setattr(cast, "PIECE", 1 << 16)
    monkeypatch.setattr(cast, "_BATCH", 2)


def run(tmp_path, size, path, dying=None, at=0, spec=None):
    """Cast; ``dying`` dies in its broadcast number ``at``. Return what came of it at each rank."""

    def program(comm):
        broadcast, left = comm.Bcast, [at]

        def counted(*arguments):
            if comm.rank == dying and not left[0]:
                raise DeathError
            left[0] -= 1
            return broadcast(*arguments)

        comm.Bcast = counted
        return cast.cast_here(comm, path if comm.rank == 0 else None, tmp_path / f"to{comm.rank}" / "file")

    return run_ranks(size, program, survive=size, spec=spec)


def held(tmp_path, size):
    return [
        file.read_bytes() if (file := tmp_path / f"to{rank}" / "file").exists() else None for rank in range(1, size)
    ]


@pytest.fixture
def file(tmp_path):
    """Return a file of a bit more than ten pieces."""
    path = tmp_path / "from"
    path.write_bytes(os.urandom(10 * cast.PIECE + 17))
    path.chmod(0o640)
    return path


@pytest.mark.parametrize(("size", "spec"), [(2, None), (3, None), (6, None), (4, "ring:4")])
def test_a_file_comes_whole_and_a_second_time_nothing_moves(tmp_path, file, size, spec):
    whole = file.read_bytes()
    results, total = run(tmp_path, size, file, spec=spec)[0]
    assert [(each.came, each.error) for each in results] == [(0, ""), *[(total, "")] * (size - 1)]
    assert held(tmp_path, size) == [whole] * (size - 1)
    there = tmp_path / "to1" / "file"
    assert (there.stat().st_mode & 0o777, there.stat().st_mtime_ns) == (0o640, file.stat().st_mtime_ns)
    (tmp_path / "to1" / "file").write_bytes(whole[: 3 * cast.PIECE] + b"x" * cast.PIECE)
    results, _ = run(tmp_path, size, file, spec=spec)[0]
    assert [each.came for each in results] == [0, total - 3 * cast.PIECE, *[0] * (size - 2)]
    assert held(tmp_path, size) == [whole] * (size - 1)


def test_a_folder_with_empty_files(tmp_path):
    for name, text in (("a/b", b"1" * 40_000), ("a/empty", b""), ("c", b"2")):
        (tmp_path / "from" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / name).write_bytes(text)
    results, total = run(tmp_path, 3, tmp_path / "from")[1]
    assert total == 40_001
    assert not any(each.error for each in results)
    for rank in (1, 2):
        found = tmp_path / f"to{rank}" / "file"
        assert [(found / name).stat().st_size for name in ("a/b", "a/empty", "c")] == [40_000, 0, 1]


@pytest.mark.parametrize("size", [3, 6])
def test_a_host_that_dies_takes_nothing_along(tmp_path, file, size):
    found = run(tmp_path, size, file, dying=2, at=2)
    assert [each.rank for each in found[0][0]] == [rank for rank in range(size) if rank != 2]
    whole = file.read_bytes()
    assert [each == whole for each in held(tmp_path, size)] == [rank != 2 for rank in range(1, size)]


def test_when_the_last_holder_dies_the_others_go_on_later_from_where_they_are(tmp_path, file):
    found = run(tmp_path, 4, file, dying=0, at=3)
    assert [type(each) for each in found] == [DeathError, *[DeliveryError] * 3]
    assert "lost with their last holder" in str(found[1])
    assert held(tmp_path, 4) == [None] * 3
    results, total = run(tmp_path, 4, file)[0]
    assert [each.came for each in results] == [0, *[total - 6 * cast.PIECE] * 3]
    assert held(tmp_path, 4) == [file.read_bytes()] * 3


def test_whoever_has_the_rest_goes_on_when_the_first_host_dies(tmp_path, file):
    whole = file.read_bytes()
    (tmp_path / "to3").mkdir()
    (tmp_path / "to3" / "file").write_bytes(whole)
    found = run(tmp_path, 4, file, dying=0, at=1)
    assert [each.error for each in found[1][0]] == [""] * 3
    assert held(tmp_path, 4) == [whole] * 3


def test_errors_name_who_has_them(tmp_path, file, monkeypatch):
    assert [type(each) for each in run(tmp_path, 2, tmp_path / "none")] == [PlanError] * 2
    monkeypatch.setattr(
        cast.shutil, "disk_usage", lambda folder: os.terminal_size((0, 0)) and type("", (), {"free": 9})
    )
    found = run(tmp_path, 2, file)
    assert "rank 1" in str(found[0])
    assert "room for 9 bytes" in str(found[0])


def test_a_file_that_changes_meanwhile_is_not_taken(tmp_path, file, monkeypatch):
    read = cast._Cast._read

    def changes(self, piece):
        if self._own and piece == 5:
            os.utime(file)
        return read(self, piece)

    monkeypatch.setattr(cast._Cast, "_read", changes)
    results, _ = run(tmp_path, 3, file)[0]
    assert all("was changed" in each.error for each in results)
    assert held(tmp_path, 3) == [None] * 2
