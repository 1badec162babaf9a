"""Finding the entries of a registry: they stand as decorators on the functions that they describe, in the files of a package.

A new file in the package is found by itself; no list names it. Who only wants to list entries (help, documentation) reads
their decorators as text, which needs no import of numpy.
"""

import ast
import os
import re
import sys
import warnings
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from treecast.errors import TreecastError

WINGS = ("treecast.files", "treecast.papers", "treecast.running")
"""What nothing else imports: files, the papers' checks, and plans carried out. They add their parts to registries."""
PLUGINS = "TREECAST_PLUGINS"
"""The environment variable that names files and modules of extensions, with the sign between them that PATH has."""


@cache
def import_all(package: str, within: str = "") -> None:
    """Import every module below a package, and those of other packages, so that all entries in them are registered.

    ``within``: only the modules in folders of this name, as ``builders``, wherever these stand below the package; so a wing
    that is not there lacks its entries, and nothing else. Raises TreecastError as ``import_extensions`` does.
    """
    for folder in import_module(package).__path__:
        for file in _files_of(folder, [within] if within else ()):
            import_module(
                ".".join([package, *file.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__")
            )
    import_extensions()


def _files_of(folder: str, within: Iterable[str]) -> Iterable[Path]:
    """Yield the modules below a folder, in order, or those in folders of some names; kernels have no entries."""
    for file in sorted(Path(folder).rglob("*.py")):
        folders = file.relative_to(folder).parts[:-1]
        if "kernels" not in folders and (not within or not {*within}.isdisjoint(folders)):
            yield file


@cache
def import_extensions() -> None:
    """Import the modules of other packages, so that all entries in them are registered.

    Raises TreecastError where one that the user names cannot be imported; one that is merely installed is left out.
    """
    asked = _asked()
    for name in dict.fromkeys([*_of_others(), *asked]):
        try:
            _import(name)
        except Exception as error:
            said = f"{place}: {error}" if (place := blame(error)) else error
            if name in asked:
                raise TreecastError(f"the extension {name} cannot be imported: {said}") from error
            # another package's mistake is to end no plan of ours
            warnings.warn(f"the extension {name} of treecast is left out: {said}", stacklevel=2)


def lacking() -> list[str]:
    """Return which wings are not installed. The rest works without them: it plans, judges, replays and draws."""
    return [wing for wing in WINGS if find_spec(wing) is None]


@cache
def _of_others() -> tuple[str, ...]:
    """Return the modules that installed packages name as entry points of the group ``treecast``."""
    from importlib.metadata import entry_points  # which loads parsers of mail and archives

    return tuple(sorted({point.module for point in entry_points(group="treecast")}))


def _asked() -> tuple[str, ...]:
    """Return the files and modules of extensions that the user names."""
    return tuple(filter(None, os.environ.get(PLUGINS, "").split(os.pathsep)))


def _module_of(name: str) -> str:
    """Return the name of the module of an extension, which may be a file."""
    if not name.endswith(".py"):
        return name
    path = Path(name).absolute()
    return f"treecast_plugin_{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"


def _import(name: str) -> None:
    """Import an extension: a module, or a file, as a module of its own."""
    module = _module_of(name)
    if module == name or module in sys.modules:
        import_module(module)
        return
    spec = spec_from_file_location(module, Path(name).absolute())
    if spec is None or spec.loader is None or not Path(name).is_file():
        raise TreecastError("there is no such file")
    # before it runs, as an import does: what it defines may look itself up there
    sys.modules[module] = found = module_from_spec(spec)
    try:
        spec.loader.exec_module(found)
    except BaseException:
        del sys.modules[module]  # half a module is none
        raise


def _files() -> Iterable[Path]:
    """Yield the files and folders of code of all extensions, as far as they are found."""
    for name in (*_of_others(), *_asked()):
        if name.endswith(".py"):
            yield Path(name).absolute()
        else:
            top, _, below = name.partition(".")
            spec = find_spec(top)
            origin = Path((spec and spec.origin) or top)
            # of a package the folder, so that all its files count
            yield origin.parent if below or origin.name == "__init__.py" else origin


def blame(error: BaseException) -> str:
    """Return the file and line of an extension that an error comes from: ``wheels.py, line 12``; empty where none is to blame."""
    files, found, traceback = set(_files()), "", error.__traceback__
    while traceback is not None:
        path = Path(traceback.tb_frame.f_code.co_filename)
        if not files.isdisjoint([path, *path.parents]):
            # the innermost frame of an extension stays
            found = f"{path.name}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found


def decorators(package: str, name: str, *within: str) -> list[dict[str, Any]]:
    """Return the arguments of the decorators of one name in all files of a package and of extensions, without importing them.

    A decorator stands at the beginning of a line, above a function or a class. For each, in the order of files and lines:
    arguments by keyword under their keyword, those by position under ``0``, ``1``, …. Those that are no literals are given as
    they are written. ``within``: only those in folders of these names.
    """
    spec = find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    # from the decorator to the name of what it decorates
    pattern = re.compile(rf"^@{name}\(.*?^(?:def|class) \w+", re.MULTILINE | re.DOTALL)
    found: list[dict[str, Any]] = []
    ours = (path for folder in folders for path in _files_of(folder, within))
    theirs = (path for each in _files() for path in ([each] if each.is_file() else sorted(each.rglob("*.py"))))
    for file in [*ours, *theirs]:
        for match in pattern.finditer(file.read_text("utf-8", errors="replace")):
            (function,) = ast.parse(match.group() + "(): pass").body  # a body makes it whole
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
