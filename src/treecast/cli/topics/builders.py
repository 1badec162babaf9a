"""The builders, with their collectives and models."""

from treecast.description import Description, Table


def topic() -> Description:
    """Return every builder, in alphabetical order."""
    from treecast.plans.entries import all_builders, kinds_of

    entries = sorted(all_builders(), key=lambda entry: (entry.name, entry.models))
    rows = [
        (
            entry.name,
            entry.summary,
            ", ".join(kinds_of(entry)),
            ", ".join(entry.models),
            ", ".join(f"--{option.name}" for option in entry.options),
        )
        for entry in entries
    ]
    columns = ("builder", "construction", "collectives", "models", "options")
    notes = (
        "'treecast builders COLLECTIVE NETWORK' says the cost of each for a job, which one is the default, and why.",
    )
    return Table(columns, rows, of="builders").alone(notes)
