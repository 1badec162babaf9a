"""The application: it finds the verbs, a file each in the folders ``verbs``, and imports the one that is asked for."""

import re
from collections.abc import Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any, cast, get_args

from cyclopts import App, CoercionError, Group, Parameter, Token, convert
from cyclopts.help import DefaultFormatter

from treecast import __version__

_GROUPS = {
    "Run": ("cast", "deadlock", "lab", "launch", "run", "warm-up", "why"),
    "Papers": ("compare", "paths", "program", "theorems", "times"),
    "Help": ("completion", "help"),
}
"""Which verbs stand under which heading in the list of all; the others plan and judge."""
_DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)


def find_verbs() -> dict[str, str]:
    """Return the module of each verb, by its name, in alphabetical order: the files in all folders ``verbs``."""
    found = [file for file in Path(__file__).parents[1].glob("*/verbs/*.py") if file.stem != "__init__"]
    return {
        file.stem.replace("_", "-"): f"treecast.{file.parts[-3]}.verbs.{file.stem}"
        for file in sorted(found, key=lambda file: file.stem)
    }


def _help_of(module: str) -> str:
    """Return the help of a verb, without importing it: the docstring of its function, or else of its file.

    The part on its parameters is left out. Each paragraph is one line: the terminal breaks it where it is full.
    """
    _, room, _, name = module.split(".")
    # By its source: importing every verb for the list would import numpy. Every command does so at its start, and a parser of
    # Python's would take longer than all the rest of it.
    source = (Path(__file__).parents[1] / room / "verbs" / f"{name}.py").read_text(encoding="utf-8")
    found = re.search(rf'^def {name}\(.*?^    """(.*?)"""', source, re.DOTALL | re.MULTILINE) or _DOCSTRING.match(
        source
    )
    text, *_ = cleandoc(found[1] if found else "").partition("\nParameters\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")).strip()


class _Flowing(DefaultFormatter):
    """Help pages in which the docstrings of parameters are broken where the terminal is full, and nowhere else."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Show a part of a page."""
        from rich.text import Text

        for entry in panel.entries:
            text = getattr(entry.description, "primary_renderable", None)
            if isinstance(text, Text):
                text.plain = " ".join(text.plain.split())
        super().__call__(console, options, panel)


def _convert(type_: Any, tokens: Sequence[Token]) -> Any:
    """Return the value of an option; a fraction is no whole number, which cyclopts would round."""
    if int in (type_, *get_args(type_)) and any("." in token.value for token in tokens):
        raise CoercionError(token=tokens[0], target_type=int)
    return cast(Any, convert(type_, tokens))


def _group_of(verb: str) -> Group:
    return _PLACES[next((place for place, verbs in enumerate(_GROUPS.values(), 1) if verb in verbs), 0)]


app = App(
    name="treecast",
    help="Collective communication that is proven to arrive: plan it, verify it, break it, run it, draw it.",
    help_format="plaintext",
    help_formatter=_Flowing(),
    version=__version__,
    version_flags=["--version", "-V"],
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative="", converter=_convert),
)

_PLACES = [Group(name, sort_key=place) for place, name in enumerate(("Plan and judge", *_GROUPS))]

for _verb, _module in find_verbs().items():
    _function = _module.rpartition(".")[2]
    app.command(f"{_module}:{_function}", name=_verb, help=_help_of(_module), group=_group_of(_verb))

for _flag in ("--help", "--version"):
    app[_flag].group = _PLACES[-1]
