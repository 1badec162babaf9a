"""The table of collectives: that its rows agree with each other, and that nothing else asks for a name."""

import ast

from tests.collectives.test_kinds import SOURCE, in_strings, is_handed_over


def test_nothing_outside_the_table_asks_for_a_name():
    """Names may be handed to a function; papers, file formats, PyTorch, demands, logs and records have names of their own."""
    own = (
        "papers/",
        "advice/logs.py",
        "files/formats/msccl",
        "files/formats/synthesized.py",
        "files/programs/buffers",
        "running/calls/dump.py",
        "collectives/kinds.py",
        "cli/demands.py",
        "files/records/",
    )
    places = {file.relative_to(SOURCE).as_posix(): file for file in SOURCE.rglob("*.py")}
    named = [
        f"{place}:{node.lineno}"
        for place, file in places.items()
        if not place.startswith(own)
        for node, above in in_strings(ast.parse(file.read_text()))
        if not is_handed_over(above)
    ]
    assert not named
