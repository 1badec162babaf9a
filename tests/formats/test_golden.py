"""Every file that an earlier version wrote is read, is right, and is the same schedule as then.

Beside each folder of ``golden`` stands a JSON file with what that version said of its files. It was recorded once, by
``python -m tests.formats.test_golden tests/formats/golden/v1``, and is not to be recorded again.
"""

import hashlib
import json
import sys
from functools import cache
from pathlib import Path

import pytest

from treecast.files import formats
from treecast.schedule import COLUMNS
from treecast.simulation.replay import simulate
from treecast.verification.verifier import verify

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(path for path in GOLDEN.glob("*/*") if path.is_file())


def digest(rows):
    """The SHA-256 of all columns, and of the ranges of chunks that each row sends, written out row by row."""
    found = hashlib.sha256()
    for name in COLUMNS:
        if name != "payload":  # how payloads are numbered is no matter
            found.update(getattr(rows, name).astype("<i8").tobytes())
    for payload in rows.payload.tolist():
        found.update(json.dumps([list(map(int, pair)) for pair in rows.payloads.ranges(payload)]).encode())
    return found.hexdigest()


def record(path):
    """What is said of a file, in plain words and numbers."""
    schedule = formats.read(path)
    report, trace = verify(schedule), simulate(schedule)
    return {
        "network": schedule.network.spec,
        "collective": schedule.collective.kind,
        "root": schedule.collective.root,
        "messages": schedule.collective.messages,
        "model": schedule.model.name,
        "copies": schedule.copies,
        "orbit": schedule.orbit,
        "sparing": schedule.sparing,
        "builder": schedule.builder,
        "claims": [schedule.claims.steps, schedule.claims.transmissions] if schedule.claims else None,
        "rows": len(schedule),
        "digest": digest(schedule.rows),
        "verified": report.holds,
        "steps": report.steps,
        "transmissions": report.transmissions,
        "depth": report.depth,
        "delivered": trace.delivered,
        "completion": trace.completion.tolist(),
    }


@cache
def recorded(folder):
    return json.loads(folder.with_suffix(".json").read_text())


def test_every_file_is_recorded_and_every_record_has_its_file():
    assert {folder.stem for folder in GOLDEN.glob("*.json")} == {path.parent.name for path in FILES}
    for folder in {path.parent for path in FILES}:
        assert sorted(recorded(folder)) == sorted(path.name for path in FILES if path.parent == folder)
    assert len([path for path in FILES if path.parent.name == "v1"]) == 38


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_written_and_read_again(path):
    schedule = formats.read(path)
    for name in ("text", "binary"):
        assert formats.decode(formats.encode(schedule, name)) == schedule


if __name__ == "__main__":
    target = Path(sys.argv[1])
    table = {path.name: record(path) for path in sorted(target.iterdir())}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(table[name])}" for name in table)
    target.with_suffix(".json").write_text(f"{{\n{lines}\n}}\n")
