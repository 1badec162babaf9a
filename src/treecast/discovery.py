"""Finding the entries of a registry: they stand as decorators on the functions that they describe, in the files of a package.

A new file in the package is found by itself; no list names it. Who only wants to list entries (help, documentation) reads
their decorators as text, which needs no import of numpy.
"""

import ast
import re
import warnings
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from typing import Any


@cache
def import_all(package: str, within: str = "") -> None:
    """Import every module below a package, and those of other packages, so that all entries in them are registered.

    ``within``: only the modules in folders of this name, as ``builders``, wherever these stand below the package.
    """
    for module in walk_packages(import_module(package).__path__, f"{package}."):
        if not within or f".{within}." in module.name:
            import_module(module.name)
    for name in _of_others():
        try:
            import_module(name)
        except Exception as error:  # another package's mistake is to end no plan of ours
            warnings.warn(f"the extension {name} of treecast is left out: {error}", stacklevel=2)


@cache
def _of_others() -> tuple[str, ...]:
    """Return the modules that installed packages name as entry points of the group ``treecast``."""
    return tuple(sorted({point.module for point in entry_points(group="treecast")}))


def decorators(package: str, name: str) -> list[dict[str, Any]]:
    """Return the arguments of the decorators of one name in all files of a package, without importing any of them.

    A decorator stands at the beginning of a line, above a function or a class. For each, in the order of files and lines:
    arguments by keyword under their keyword, those by position under ``0``, ``1``, …. Those that are no literals are given as
    they are written.
    """
    spec = find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    pattern = re.compile(rf"^@{name}\(.*?^(?:def|class) \w+", re.MULTILINE | re.DOTALL)
    found: list[dict[str, Any]] = []
    for file in sorted(path for folder in folders for path in Path(folder).rglob("*.py")):
        for match in pattern.finditer(file.read_text("utf-8")):
            (function,) = ast.parse(match.group() + "(): pass").body
            found += [_arguments(call) for call in _calls(function, name)]
    return found


def _calls(function: ast.stmt, name: str) -> list[ast.Call]:
    every = function.decorator_list if isinstance(function, ast.FunctionDef | ast.ClassDef) else []
    calls = [call for call in every if isinstance(call, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]


def _arguments(call: ast.Call) -> dict[str, Any]:
    given = {str(i): value for i, value in enumerate(call.args)}
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    found: dict[str, Any] = {}
    for key, value in given.items():
        try:
            found[key] = ast.literal_eval(value)
        except ValueError:
            found[key] = ast.unparse(value)
    return found
