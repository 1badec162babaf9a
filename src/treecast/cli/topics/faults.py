"""Faults: their effect, how they are written, and which verbs take them."""

from typing import Any, get_type_hints

from treecast.against import AGAINST
from treecast.description import Description, Table


def topic() -> Description:
    """Return the options that name faults, read from the command line, and the meaning of a fault."""
    from treecast.cli.arguments import BrokenParts, LiarOptions, RandomFaultOptions

    rows = [
        (f"--{name.replace('_', '-')}", text)
        for options in (RandomFaultOptions, LiarOptions, BrokenParts)
        for name, text in _helps(options)
    ]
    notes = (
        "A faulty node or arc transmits nothing from its step on; without @STEP, from the start. Nodes do not detect faults.",
        "A living node sends a chunk if it holds it, whichever way it came, and leaves out the row otherwise.",
        f"--survive F plans F + 1 disjoint paths; --against says which parts may fail: {', '.join(AGAINST)}.",
        "Paths that share no node share no link and no arc. Where paths meet, a sweep tells which faults they survive.",
        "'verify --sweep nodes|links|arcs' replays a schedule under every set of so many faults.",
    )
    columns = ("option", "meaning")
    return Table(columns, rows, of="options").alone(notes)


def _helps(options: Any) -> list[tuple[str, str]]:
    """Return the fields of a class of options, each with its sentence of help."""
    hints = get_type_hints(options, include_extras=True)
    return [
        (name, str(note.help))
        for name, hint in hints.items()
        for note in getattr(hint, "__metadata__", ())
        if getattr(note, "help", None)
    ]
