"""A file to all hosts: it comes whole, whoever dies; only what lacks moves, from whoever has it; hosts have their own errors."""

import os
from itertools import count

import pytest

from tests.tcp.threads import DeathError, run_ranks
from treecast.errors import DeliveryError, PlanError
from treecast.running.cast import files, rank
from treecast.running.cast.rank import Caster
from treecast.tcp.comm import Comm

PIECE = 1 << 18


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Have batches of two pieces of 256 KiB, so that a file has many."""
    monkeypatch.setattr(rank, "_FIRST", 2 * PIECE)
    monkeypatch.setattr(rank, "_MOST", 2 * PIECE)


@pytest.fixture
def file(tmp_path):
    """Return a file of a bit more than ten pieces."""
    path = tmp_path / "from"
    path.write_bytes(os.urandom(10 * PIECE + 17))
    path.chmod(0o640)
    return path


@pytest.fixture
def moved(monkeypatch):
    """Return the list of who broadcasts how many bytes, from now on, in the order of ranks and calls: (root, bytes, ranks)."""
    found, broadcast = [], Comm.Bcast

    def noted(self, data, root):
        if self.rank == root:
            found.append((self.group.seats[root], len(data), self.size))
        return broadcast(self, data, root)

    monkeypatch.setattr(Comm, "Bcast", noted)
    return found


def run(tmp_path, size, path, dying=None, at=0, spec=None, **how):
    """Cast; ``dying`` dies before the batch number ``at``. Return what came of it at each rank."""

    def program(comm):
        caster = Caster(
            comm.rank, f"n{comm.rank}", tmp_path / f"to{comm.rank}" / "file", None if comm.rank else path, **how
        )
        bring, number = caster._bring, count()

        def dies(*batch):
            if comm.rank == dying and next(number) == at:
                raise DeathError
            return bring(*batch)

        caster._bring = dies
        return caster.join(comm)

    return run_ranks(size, program, survive=size, spec=spec)


def held(tmp_path, size):
    return [
        file.read_bytes() if (file := tmp_path / f"to{rank}" / "file").exists() else None for rank in range(1, size)
    ]


def at(tmp_path, rank, data, name="file"):
    """Put data at the place of a rank."""
    place = tmp_path / f"to{rank}" / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(data)
    return place


@pytest.mark.parametrize(("size", "spec"), [(2, None), (3, None), (6, None), (4, "ring:4")])
def test_a_file_comes_whole_and_later_only_what_lacks_moves(tmp_path, file, size, spec, moved):
    whole = file.read_bytes()
    results = run(tmp_path, size, file, spec=spec)[0]
    assert [tuple(each) for each in results] == [
        (0, "n0", 0, ""),
        *[(number, f"n{number}", len(whole), "") for number in range(1, size)],
    ]
    assert held(tmp_path, size) == [whole] * (size - 1)
    there = tmp_path / "to1" / "file"
    assert (there.stat().st_mode & 0o777, there.stat().st_mtime_ns) == (0o640, file.stat().st_mtime_ns)
    there.write_bytes(whole[: 3 * PIECE] + b"x" * PIECE)
    moved.clear()
    results = run(tmp_path, size, file, spec=spec)[0]
    assert [each.came for each in results] == [0, len(whole) - 3 * PIECE, *[0] * (size - 2)]
    assert held(tmp_path, size) == [whole] * (size - 1)
    assert sum(each[1] for each in moved) == len(whole) - 3 * PIECE
    if spec is None:  # between the two alone whom it concerns
        assert {each[2] for each in moved} == {2}
    moved.clear()
    assert not any(each.came for each in run(tmp_path, size, file, spec=spec)[0])
    assert not moved


def test_files_of_one_size_and_time_are_taken_for_the_same_unless_that_is_to_be_sure(tmp_path, file):
    whole = file.read_bytes()
    wrong = at(tmp_path, 1, b"x" * PIECE + whole[PIECE:])
    os.utime(wrong, ns=(0, file.stat().st_mtime_ns))
    assert [each.came for each in run(tmp_path, 3, file)[0]] == [0, 0, len(whole)]
    assert held(tmp_path, 3)[1] == whole  # nobody took the wrong piece from rank 1
    assert [each.came for each in run(tmp_path, 3, file, sure=True)[0]] == [0, PIECE, 0]
    assert held(tmp_path, 3) == [whole] * 2


def test_all_that_have_pieces_send_them(tmp_path, file, moved):
    whole = file.read_bytes()
    for number in (1, 2):
        os.utime(at(tmp_path, number, whole), ns=(0, file.stat().st_mtime_ns))
    at(tmp_path, 3, whole[: 4 * PIECE], "file.part")
    run(tmp_path, 6, file)
    assert held(tmp_path, 6) == [whole] * 5
    assert {each[0] for each in moved} >= {0, 1, 2}
    assert sum(each[1] for each in moved) == len(whole)  # each piece goes out once, to all that lack it


def test_a_folder_with_empty_files_links_and_folders(tmp_path):
    for name, text in (("a/b", b"1" * 400_000), ("a/empty", b""), ("c", b"2")):
        (tmp_path / "from" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / name).write_bytes(text)
    (tmp_path / "from" / "none").mkdir()
    (tmp_path / "from" / "link").symlink_to("a/b")
    for _ in range(2):
        assert not any(each.error for each in run(tmp_path, 3, tmp_path / "from")[1])
        for number in (1, 2):
            found = tmp_path / f"to{number}" / "file"
            assert [(found / name).stat().st_size for name in ("a/b", "a/empty", "c")] == [400_000, 0, 1]
            assert (os.readlink(found / "link"), list((found / "none").iterdir())) == ("a/b", [])
            assert not list(found.rglob("*.part"))


@pytest.mark.parametrize("size", [3, 6])
def test_a_host_that_dies_takes_nothing_along(tmp_path, file, size):
    found = run(tmp_path, size, file, dying=2, at=2)
    assert [each.number for each in found[0]] == [number for number in range(size) if number != 2]
    whole = file.read_bytes()
    assert [each == whole for each in held(tmp_path, size)] == [number != 2 for number in range(1, size)]


def test_when_the_last_holder_dies_the_others_go_on_later_from_where_they_are(tmp_path, file):
    found = run(tmp_path, 4, file, dying=0, at=3)
    assert isinstance(found[0], DeathError)
    assert all("lost with their last holder" in each.error for each in found[1])
    assert held(tmp_path, 4) == [None] * 3
    assert (tmp_path / "to1" / "file.part").stat().st_size == 6 * PIECE  # it shows how far it is
    results = run(tmp_path, 4, file)[0]
    assert [each.came for each in results] == [0, *[4 * PIECE + 17] * 3]
    assert held(tmp_path, 4) == [file.read_bytes()] * 3


def test_whoever_has_the_rest_goes_on_when_the_first_host_dies(tmp_path, file):
    whole = file.read_bytes()
    at(tmp_path, 3, whole)
    found = run(tmp_path, 4, file, dying=0, at=1, sure=True)
    assert [each.error for each in found[1]] == [""] * 3
    assert held(tmp_path, 4) == [whole] * 3


def test_who_has_no_room_is_left_out_and_the_others_get_it(tmp_path, file, monkeypatch):
    room = files.CastFiles._room
    monkeypatch.setattr(files.CastFiles, "_room", lambda self: "full" if "to2" in str(self._target) else room(self))
    assert [each.error for each in run(tmp_path, 4, file)[0]] == ["", "", "full", ""]
    assert [each is None for each in held(tmp_path, 4)] == [False, True, False]


def test_room_and_rights_are_asked_for_before_anything_comes(tmp_path, file, monkeypatch):
    monkeypatch.setattr(files.shutil, "disk_usage", lambda folder: type("", (), {"free": 9}))
    (results, *_) = run(tmp_path, 2, file)
    assert results[1].error.endswith("has room for 9 bytes, not for 2,621,457")
    (tmp_path / "to1").write_text("no folder")
    monkeypatch.undo()
    assert "to1" in run(tmp_path, 3, file)[0][1].error
    assert held(tmp_path, 3)[1] == file.read_bytes()


def test_no_files_are_an_error_of_all(tmp_path):
    assert [type(each) for each in run(tmp_path, 2, tmp_path / "none")] == [PlanError] * 2


def test_a_file_that_changes_meanwhile_is_not_taken(tmp_path, file, monkeypatch):
    read = files.CastFiles.read

    def changes(self, pieces, memory):
        if self.own and pieces[0] > 4:
            os.utime(file)
        return read(self, pieces, memory)

    monkeypatch.setattr(files.CastFiles, "read", changes)
    assert all("was changed" in each.error for each in run(tmp_path, 3, file)[0][1:])
    assert held(tmp_path, 3) == [None] * 2


def test_bytes_that_are_not_those_of_the_source_end_it(tmp_path, file, monkeypatch):
    write = files.CastFiles.write

    def spoils(self, pieces, memory):
        write(self, pieces, memory)
        memory[0] ^= 1

    monkeypatch.setattr(files.CastFiles, "write", spoils)
    found = run(tmp_path, 3, file)
    assert [type(each) for each in found] == [DeliveryError] * 3
    assert "came with other bytes" in str(found[0])


def test_a_cast_that_is_stopped_goes_on_with_more_hosts_and_sends_nothing_twice(tmp_path, file, moved):
    whole, casters = file.read_bytes(), {}

    def program(comm, stops):
        number = comm.rank
        if number not in casters:
            place, own = tmp_path / f"to{number}" / "file", None if number else file
            asked = count()
            casters[number] = Caster(
                number, f"n{number}", place, own, stop=lambda: number == 1 and next(asked) == stops
            )
        return casters[number].join(comm)

    assert run_ranks(3, lambda comm: program(comm, 1), survive=9) == [None] * 3
    before = sum(each[1] for each in moved)
    assert 0 < before < len(whole)
    results = run_ranks(5, lambda comm: program(comm, -1), survive=9)[0]
    assert [each.came for each in results] == [0, *[len(whole)] * 4]
    assert held(tmp_path, 5) == [whole] * 4
    assert sum(each[1] for each in moved) == len(whole) + before  # to those who came later
