"""``treecast help files``."""

from treecast.cli.topics import topic
from treecast.description import Description, Table


@topic
def files() -> Description:
    """The files that treecast writes and reads, and the endings of their names."""
    from treecast.files.formats.registry import exporters, importers
    from treecast.networks.reading.registry import readers

    writes, reads = exporters(), importers()
    rows = [
        (
            name,
            writes[name].suffix if name in writes else "",
            "yes" if name in writes else "no",
            "yes" if name in reads else "no",
            writes[name].summary if name in writes else "",
        )
        for name in sorted({*writes, *reads})
    ]
    columns = ("format", "suffix", "written", "read", "description")
    notes = (
        "'plan -o' and 'export -o' choose the format by the end of the name; another name is text.",
        "- is standard input, and standard output where text or a table is written; pictures need a name.",
        "A file is read by its contents, whatever its name. A loaded schedule is verified again.",
        "A file of a network goes where its spelling does; file:NAME is one whatever its name. The graph goes into the plan.",
    )
    networks = Table(("--format", "networks that are read"), [(each.name, each.summary) for each in readers().values()])
    return Table(columns, rows, of="formats").alone(notes).adding({}, {}, networks)
