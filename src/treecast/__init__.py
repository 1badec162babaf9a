"""Collective communication that is proven to arrive.

>>> import treecast
>>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
>>> treecast.verify(schedule).holds
True
"""

import re
from importlib import import_module
from typing import Any

from treecast.description.notebook import show_also as _show_also

with open(f"{__file__}i", encoding="utf-8") as _stub:
    _HOME = {
        name: module for module, name in re.findall(r"^from treecast\.(\S+) import (\w+)", _stub.read(), re.MULTILINE)
    }
"""The module that each public name comes from, as ``__init__.pyi`` lists them."""
_PACKAGES = ("extend", "mpi", "tcp", "torch")

__version__ = "0.2.0.dev0"
__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line answers --help without numpy."""
    if name in _PACKAGES:
        return import_module(f"treecast.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'treecast' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"treecast.{_HOME[name]}"), name)
    return value


def _page_of(result: object) -> str:
    """Return the page that a notebook shows of a schedule: results lie below pictures, and know of none."""
    return import_module("treecast.drawing.explorer.page").page_below(result)


_show_also(_page_of)


def __dir__() -> list[str]:
    return __all__
