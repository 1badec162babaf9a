"""The page of lower bounds: the formulas with their sources, each beside a job where it says something, and the proofs."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import NamedTuple

import treecast
from treecast import lower_bounds
from treecast.collectives import COLLECTIVES
from treecast.errors import TreecastError
from treecast.lower_bounds import Bound

from .markdown import cell, code, doc_of, page, table

_NETWORKS = ("hypercube:3", "star:4", "mesh:4x4", "path:6", "complete:9", "torus:3x5", "fat-tree:4", "debruijn:2,3")
_MODELS = (
    "all-port",
    "one-port",
    "one-port,half",
    "whispering",
    "shouting",
    "wormhole",
    "bufferless",
    "bufferless-multiport",
)
_MORE = ({}, {"messages": 3, "survive": 1})
_SHARED = ("bound", "job")  # what proofs are made of
_OF = {"steps": "steps", "told": "steps, told when to begin", "transmissions": "transmissions", "tcd": "total distance"}


class Found(NamedTuple):
    """A bound of a job: of which collective, and the command that prints it."""

    kind: str
    bound: Bound
    command: str


def bounds() -> str:
    """Return the page."""
    found = list(_bounds_of_jobs())
    return page(
        "Lower bounds",
        "No schedule beats them. `treecast bounds` prints those of a job, and every report has them beside its figures. The "
        "greatest one counts, of those that hold under no condition, if there are such. Each formula stands here with its "
        "source, or its proof in a few words, and with one job in which it occurs. N is the number of nodes, or of ranks where "
        "there are relays; M the messages, x the copies, f the faults.",
        *(_section(words, [one for one in found if one.bound.of == of]) for of, words in _OF.items()),
        "## Proofs",
        "The functions that make the bounds. [The page on meshes](../../explanation/mesh.md) "
        "has the proofs under wormhole switching.",
        *_proofs(),
    )


def _section(words: str, found: list[Found]) -> str:
    """Return a table of formulas: each once, with the collectives that have it, and the first job in which it occurs."""
    groups: dict[str, list[Found]] = {}
    for one in found:  # figures of the network do not make another formula
        groups.setdefault(re.sub(r"[\d,]+", "#", f"{one.bound.formula} {one.bound.source}"), []).append(one)
    rows = [
        [
            cell(group[0].bound.formula),
            cell("; ".join(filter(None, (group[0].bound.source, group[0].bound.given)))),
            ", ".join(code(kind) for kind in dict.fromkeys(one.kind for one in group)),
            f"{code(group[0].command)}: {group[0].bound.value:,}",
        ]
        for group in groups.values()
    ]
    return f"## Of {words}\n\n" + table(("at least", "because", "collectives", "for example"), rows)


def _bounds_of_jobs() -> Iterator[Found]:
    """Yield the bounds of all collectives on some networks, under all models, with one copy and with two."""
    for spec, model, (kind, about), more in product(_NETWORKS, _MODELS, COLLECTIVES.items(), _MORE):
        asked = (
            more
            | ({"lengths": 2} if about.lengths else {})
            | ({"targets": ["1", "2"]} if about.ends == "targets" else {})
        )
        try:
            found = treecast.bounds(kind, spec, model=model, **asked)
        except TreecastError:
            continue
        words = [f"--{name} {' '.join(value) if name == 'targets' else value}" for name, value in asked.items()]
        command = " ".join([f"treecast bounds {kind} {spec} --model {model}", *words])
        yield from (Found(kind, bound, command) for bound in found)


def _proofs() -> Iterator[str]:
    for module in iter_modules(lower_bounds.__path__):
        if module.name in _SHARED:
            continue
        about = import_module(f"{lower_bounds.__name__}.{module.name}")
        said = [(name, doc_of(function)) for name, function in _functions(about) if _makes_bounds(function)]
        if said:
            yield f"### {module.name.replace('_', ' ').capitalize()}\n\n{doc_of(about)}"
            yield "\n".join(
                f"- **{name.strip('_').replace('_', ' ')}**: {' '.join(text.split())}" for name, text in said
            )


def _functions(module: ModuleType) -> list[tuple[str, FunctionType]]:
    every = inspect.getmembers(module, inspect.isfunction)
    return sorted(
        (pair for pair in every if pair[1].__module__ == module.__name__),
        key=lambda pair: pair[1].__code__.co_firstlineno,
    )


def _makes_bounds(function: FunctionType) -> bool:
    return "Bound" in str(function.__annotations__.get("return", "")) and bool(function.__doc__)
