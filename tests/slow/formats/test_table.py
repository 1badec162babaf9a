"""The table of messages: what is written is read again, and no message of it can be changed unnoticed."""

from dataclasses import replace

from tests.formats.test_table import lines_of
from treecast.errors import TreecastError
from treecast.files import formats
from treecast.plans import plan
from treecast.verification.verifier import verify


def test_every_changed_cell_is_noticed():
    """Every cell of every message, raised by one, emptied or filled with nonsense, is refused or breaks a rule.

    Labels, ports and bytes may be empty: they say nothing new.
    """
    schedule = plan("broadcast", "star:3", messages=2)
    text = formats.encode(schedule, "csv", size=20).decode()
    lines = lines_of(text)
    first = next(i for i, line in enumerate(lines) if line.startswith("step,")) + 1
    tried, rows = 0, formats.decode(text.encode()).rows
    for i in range(first, len(lines)):
        cells = lines[i].rstrip("\n").split(",")
        for c in range(9):
            for other in (str(int(cells[c]) + 1) if cells[c].isdigit() else "x", "", "x", "-2", "9" * 30):
                changed = [*lines[:i], ",".join([*cells[:c], other, *cells[c + 1 :]]) + "\n", *lines[i + 1 :]]
                tried += 1
                try:
                    again = formats.decode("".join(changed).encode())
                except TreecastError:
                    continue
                again = replace(again, claims=None)
                # a message of the last step, or of another tree, may be as right: then the verifier proves it
                said_before = other == "" and c in (3, 4, 5, 8) and again.rows == rows
                assert said_before or not verify(again).holds or c in (0, 6), (cells, c, other)
    assert tried > 400
