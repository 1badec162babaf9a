"""Every file that an earlier version wrote is read, is right, and is the same schedule as then.

Beside each folder of ``golden`` stands a JSON file with what that version said of its files. It was recorded once, by
``python -m tests.formats.test_golden tests/formats/golden/v1``, and is not to be recorded again.
"""

import hashlib
import json
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from treecast.errors import FormatError
from treecast.files import formats
from treecast.schedule import COLUMNS, Rows
from treecast.schedule.recipe import RENAMED
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


TEXTS = [path for path in FILES if path.suffix == ".tc"]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_says_what_it_said(path):
    found, then = record(path), recorded(path.parent)[path.name]
    assert then["verified"]
    assert found == then | {"builder": RENAMED.get(then["builder"], then["builder"])}


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_changed_row_is_noticed(path):
    """Of each row the step is one later, once with the digest of the file and once by hand, without it."""
    then = recorded(path.parent)[path.name]["digest"]
    lines = path.read_text().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.startswith("rows ")) + 1
    for i in range(first, len(lines)):
        step, plus, rest = lines[i].partition("+")
        changed = [*lines[:i], f"{int(step) + 1}{plus}{rest}", *lines[i + 1 :]]
        with pytest.raises(FormatError, match="its digest does not match"):
            formats.decode("".join(changed).encode())
        del changed[1]
        assert digest(formats.decode("".join(changed).encode()).rows) != then


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_digest_depends_on_every_column_of_every_row(path):
    rows = formats.read(path).rows
    then = digest(rows)
    for i in np.unique(np.linspace(0, len(rows) - 1, 20).round().astype(int)).tolist():
        assert digest(rows.take(np.arange(len(rows)) != i)) != then
        for name in COLUMNS:
            if name != "payload":
                column = getattr(rows, name).copy()
                column[i] += 1
                assert digest(replace(rows, **{name: column})) != then
        columns = rows.columns()
        last = int(rows.payloads.stop.max())
        first, stop = np.append(rows.payloads.first, last), np.append(rows.payloads.stop, last + 1)
        longer = replace(rows.payloads, start=np.append(rows.payloads.start, len(first)), first=first, stop=stop)
        columns["payload"] = columns["payload"].copy()
        columns["payload"][i] = len(rows.payloads)
        assert digest(Rows(**columns, payloads=longer)) != then
