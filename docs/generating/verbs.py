"""The page of verbs: what each does, its arguments and options, and an example, from the help of the command line."""

from cyclopts import App
from cyclopts.argument import Argument

from treecast.cli.app import app, find_verbs

from .markdown import block, cell, code, page, table


def verbs() -> str:
    """Return the page."""
    return page(
        "Verbs",
        "The output of `treecast VERB --help`, for all verbs. "
        "[The command line by example](../../howto/commands.md) shows their use.",
        *(_verb(name, app[name]) for name in find_verbs()),
    )


def _verb(name: str, command: App, level: str = "##") -> str:
    said, _, example = (command.help or "").partition("Example: ")
    example, *more = example.split("\n\n")
    found = [] if command.default_command is None else command.assemble_argument_collection(parse_docstring=True)
    rows = [
        [", ".join(map(code, _spellings(argument))), cell(argument.parameter.help or ""), _default(argument)]
        for argument in found
        if argument.show
    ]
    parts = [
        f"{level} {name}",
        cell(said),
        *map(cell, more),
        block(f"$ {example.strip()}", "console") if example else "",
        table(("option", "meaning", "if not given"), rows) if rows else "",
        *(_verb(f"{name} {sub}", command[sub], f"{level}#") for sub in command if not sub.startswith("-")),
    ]
    return "\n\n".join(part for part in parts if part)


def _spellings(argument: Argument) -> list[str]:
    return [name for name in argument.names if not name.startswith(("--empty-", "--no-"))]


def _default(argument: Argument) -> str:
    default = argument.field_info.default
    if argument.required or default is argument.field_info.empty:
        return "it is needed"
    return "" if default in (None, (), False, "") else code(str(default))
