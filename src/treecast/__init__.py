"""Collective communication that is proven to arrive.

>>> import treecast
>>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
>>> treecast.verify(schedule).holds
True
"""

from importlib import import_module
from typing import Any

from treecast.description.notebook import show_also as _show_also

_NAMES = {
    # nouns: places, jobs, machines, and looks
    "networks": ("Network", "network", "families"),
    "networks.wired": ("Machine", "machine"),
    "collectives": ("Collective",),
    "models": ("Model", "Cost"),
    "plans.built": ("Job",),
    "schedule": ("Schedule", "Rows", "Payloads", "Claims", "Recipe"),
    "schedule.trees": ("TreeSet",),
    "simulation.faults": ("Faults", "parse_faults", "random_faults"),
    # verbs
    "simulation.survival": ("reliability",),
    "plans": ("job", "plan", "program", "repair", "builders", "alternatives", "disjoint_trees"),
    "api": ("bounds", "verify", "judge", "simulate", "sweep", "run", "elect", "export", "advise", "diff", "paths"),
    "protocols": ("agrees",),
    "papers.theorems": ("check_theorems",),
    "papers.compare": ("compare",),
    "drawing.look": ("Look",),
    "drawing.pictures": ("draw",),
    "formats": ("load", "save"),
    "tcp": ("connect",),
    # results
    "lower_bounds": ("Bound",),
    "verification.report": ("Report", "Violation"),
    "simulation.replay": ("Trace",),
    "simulation.lies": ("Lies",),
    "simulation.sweeps": ("Sweep",),
    "simulation.losses": ("Reliability",),
    "execution.local": ("Execution",),
    "execution.election": ("Election",),
    # errors
    "errors": ("DeliveryError", "Evicted", "TreecastError"),
}
"""The public names by the module that they come from; ``__init__.pyi`` says the same to type checkers."""
_HOME = {name: module for module, names in _NAMES.items() for name in names}
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
