"""``treecast export``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import File
from treecast.cli.files import PlaceOptions, load, warn_of_suffix
from treecast.cli.options import with_options
from treecast.files.formats.registry import exporter_named, exporters, format_of_name


def _settings() -> list[tuple[str, str, str, type]]:
    """Return the settings of exporters as options, each with a sentence of help that names the formats."""
    known = {setting.keyword: setting for entry in exporters().values() for setting in entry.settings}
    names = {key: [entry.name for entry in exporters().values() if known[key] in entry.settings] for key in known}
    return [
        (
            key,
            each.name,
            f"{each.summary} For {', '.join(names[key])}.",
            bool if each.flag else tuple if each.several else str,
        )
        for key, each in sorted(known.items())
    ]


@with_options("Options of formats", 1, _settings())
class Settings:
    """The settings of exporters."""


_FORMATS = ", ".join(f"{name} ({entry.summary})" for name, entry in exporters().items())


def export(
    file: File,
    /,
    *,
    output: Annotated[str, Parameter(alias="-o", allow_leading_hyphen=True)],
    to: Annotated[
        str | None,
        Parameter(help=f"The format: {_FORMATS}; by default the name of the output tells."),
    ] = None,
    told: PlaceOptions = PlaceOptions(),
    settings: Settings = Settings(),  # noqa: B008
) -> int:
    """Write a schedule in the format of another tool.

    Example: treecast export plan.tc --to simgrid -o folder

    Parameters
    ----------
    output
        The file or new folder to write; - is standard output.
    """
    from treecast.files import others

    # An unknown format is refused before the file is read.
    entry = exporter_named(to or format_of_name(output))
    schedule, _ = load(file, told.read())
    given = {keyword: value for keyword, value in vars(settings).items() if value}
    if advice := others.export(schedule, output, to, **given):
        console.warn(advice)
    if to is None:
        warn_of_suffix(output)
    if output != "-":
        console.wrote(output, f", {entry.name}")
    return 0
