"""Every file that an earlier version wrote is read, is right, and is the same schedule as then.

Beside each folder of ``golden`` stands a JSON file with what that version said of its files. It was recorded once, by
``python -m tests.formats.test_golden tests/formats/golden/v1``, and is not to be recorded again.
"""

from dataclasses import replace

import numpy as np
import pytest

from tests.formats.test_golden import FILES, digest, record, recorded
from treecast.errors import FormatError
from treecast.files import formats
from treecast.schedule import COLUMNS, Rows
from treecast.schedule.recipe import RENAMED

TEXTS = [path for path in FILES if path.suffix == ".tc"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_says_what_it_said(path):
    found, then = record(path), recorded(path.parent)[path.name]
    assert then["verified"]
    assert found == then | {"builder": RENAMED.get(then["builder"], then["builder"])}


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
