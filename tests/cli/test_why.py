"""``treecast why``: reports, statuses, JSON, tables and pictures."""

import json

import pytest

from tests.records.jobs import make_job, write
from treecast.cli import main


@pytest.fixture
def folder(tmp_path):
    return str(write(tmp_path / "records", make_job(0, "stopped")[0]))


def test_it_names_the_rank_and_what_to_do(folder, capsys):
    (odd,) = make_job(0, "stopped")[1]
    assert main(["why", folder, "--taken", "2030-01-01T00:00:00"]) == 1
    said = capsys.readouterr().out
    assert f"rank {odd}: " in said
    assert "py-spy dump" in said
    assert "as told" in said


def test_json_is_what_the_terminal_says(folder, capsys):
    assert main(["why", folder, "--taken", "2e9", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["holds"] is False
    assert found["verdicts"][0]["ranks"] == list(make_job(0, "stopped")[1])
    assert {"ranks", "records", "calls", "verdicts", "waits", "notes", "limits", "refused", "clock"} < set(found)


def test_statuses(tmp_path, capsys):
    right = str(write(tmp_path / "right", make_job(1, "none")[0]))
    assert main(["why", right, "--taken", "2e9"]) == 0
    assert main(["why", str(tmp_path / "nothing")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    dumps, _ = make_job(1, "none")
    for dump in dumps.values():  # all stand in their last call
        dump["entries"][-1] |= {"state": "scheduled", "retired": False, "time_discovered_completed_ns": None}
    assert main(["why", str(write(tmp_path / "stalled", dumps)), "--taken", "2e9"]) == 3
    assert "STALLED" in capsys.readouterr().out


def test_a_call_at_all_ranks(folder, capsys):
    main(["why", folder, "--taken", "2e9", "--at", "0:1"])
    assert capsys.readouterr().out.count("all_reduce Float[1]") >= 6
    assert main(["why", folder, "--at", "0"]) == 2
    assert main(["why", folder, "--taken", "soon"]) == 2
    assert "is no time" in capsys.readouterr().err


def test_it_waits_for_records(folder, capsys):
    assert main(["why", folder, "--watch", "--taken", "2e9"]) == 1


def test_a_picture_has_a_box_for_each_set_of_ranks_and_marks_the_cause(folder, tmp_path, capsys):
    from treecast import why
    from treecast.files.figures.waits import boxes_of

    found = why(folder, taken=2e9)
    boxes = boxes_of(found)
    (odd,) = found.verdicts[0].ranks
    assert boxes[(odd,)] == ()
    assert sorted(rank for box in boxes for rank in box) == sorted({*range(found.ranks)})
    assert all(
        any(rank in found.waits[one] for rank in other)
        for box, others in boxes.items()
        for other in others
        for one in box
    )
    for name in ("waits.png", "waits.svg"):
        assert main(["why", folder, "--taken", "2e9", "--draw", str(tmp_path / name)]) == 1
        assert (tmp_path / name).stat().st_size > 1000
