"""Which files of machines are read as networks, and which machines are known by name."""

from treecast.asked import OPTIONS
from treecast.description import Description, Table
from treecast.discovery import decorators


def topic() -> Description:
    """Return every kind of file, the options of files, and the machines."""
    from treecast.networks.machines import machines

    kinds = sorted((each["0"], each["summary"]) for each in decorators("treecast.networks", "reader"))
    known = [(f"machine:{name}", each.summary) for name, each in machines().items()]
    options = [(f"--{name}", each.summary) for name, each in OPTIONS.items()]
    notes = (
        "The first bytes of a file tell its kind; --format decides where two kinds would do.",
        "Switches add sums only where the file, the machine or --relays-add says so: adds=true of a node, a SHARP node, NVLS.",
    )
    figures = {"files": dict(kinds), "options": dict(options), "machines": dict(known)}
    tables = (
        Table(columns=("kind of file", "printed by"), rows=kinds, of="kinds"),
        Table(columns=("option", "meaning"), rows=options, of="options"),
        Table(columns=("machine", "description"), rows=known, of="machines"),
    )
    return Description(figures, tables=tables, notes=notes)
