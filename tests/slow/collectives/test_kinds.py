"""The table of collectives: that its rows agree with each other, and that nothing else asks for a name."""

import ast

from tests.collectives.test_kinds import SOURCE, in_strings, is_handed_over


def test_nothing_outside_the_table_asks_for_a_name():
    """Names may be handed to a function; papers name collectives in statements; MSCCL has names of its own."""
    for file in SOURCE.rglob("*.py"):
        place = file.relative_to(SOURCE).as_posix()
        if not place.startswith(("papers/", "formats/msccl", "programs/buffers")) and place != "collectives/kinds.py":
            for node, above in in_strings(ast.parse(file.read_text())):
                assert is_handed_over(above), f"{place}:{node.lineno}"
