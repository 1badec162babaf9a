"""Collective communication that is proven to arrive.

>>> import treecast
>>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
>>> treecast.verify(schedule).holds
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treecast.collectives import Collective as Collective
    from treecast.drawing.pictures import draw as draw
    from treecast.errors import TreecastError as TreecastError
    from treecast.execution.election import Election as Election
    from treecast.execution.election import elect as elect
    from treecast.execution.local import Execution as Execution
    from treecast.execution.local import run as run
    from treecast.formats import load as load
    from treecast.formats import save as save
    from treecast.lower_bounds import Bound as Bound
    from treecast.lower_bounds import bounds as bounds
    from treecast.machine import Cost as Cost
    from treecast.machine import Model as Model
    from treecast.networks import Cayley as Cayley
    from treecast.networks import Network as Network
    from treecast.networks import network as network
    from treecast.papers import check_theorems as check_theorems
    from treecast.plans import disjoint_trees as disjoint_trees
    from treecast.plans import plan as plan
    from treecast.plans import program as program
    from treecast.protocols import Conversation as Conversation
    from treecast.protocols import agrees as agrees
    from treecast.schedule import Claims as Claims
    from treecast.schedule import Payloads as Payloads
    from treecast.schedule import Rows as Rows
    from treecast.schedule import Schedule as Schedule
    from treecast.schedule.trees import TreeSet as TreeSet
    from treecast.simulation.faults import Faults as Faults
    from treecast.simulation.faults import Sweep as Sweep
    from treecast.simulation.faults import parse_faults as parse_faults
    from treecast.simulation.faults import random_faults as random_faults
    from treecast.simulation.faults import sweep as sweep
    from treecast.simulation.replay import Trace as Trace
    from treecast.simulation.replay import simulate as simulate
    from treecast.verification.report import Report as Report
    from treecast.verification.report import Violation as Violation
    from treecast.verification.verifier import verify as verify

_WHERE = {
    "collectives": ("Collective",),
    "drawing.pictures": ("draw",),
    "errors": ("TreecastError",),
    "execution.election": ("Election", "elect"),
    "execution.local": ("Execution", "run"),
    "formats": ("load", "save"),
    "lower_bounds": ("Bound", "bounds"),
    "machine": ("Cost", "Model"),
    "networks": ("Cayley", "Network", "network"),
    "papers": ("check_theorems",),
    "plans": ("disjoint_trees", "plan", "program"),
    "protocols": ("Conversation", "agrees"),
    "schedule": ("Claims", "Payloads", "Rows", "Schedule"),
    "schedule.trees": ("TreeSet",),
    "simulation.faults": ("Faults", "Sweep", "parse_faults", "random_faults", "sweep"),
    "simulation.replay": ("Trace", "simulate"),
    "verification.report": ("Report", "Violation"),
    "verification.verifier": ("verify",),
}
_HOME = {name: module for module, names in _WHERE.items() for name in names}

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line answers --help without numpy."""
    if name not in _HOME:
        raise AttributeError(f"module 'treecast' has no attribute {name!r}")
    value = getattr(import_module(f"treecast.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
