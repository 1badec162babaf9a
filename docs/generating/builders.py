"""The page of builders: what each does, where it works, what it claims and takes, and its source."""

import inspect
import sys

from treecast.collectives import COLLECTIVES
from treecast.errors import TreecastError
from treecast.lower_bounds import best
from treecast.networks import families, network
from treecast.plans import all_builders, plan
from treecast.plans.entries import kinds_of
from treecast.plans.registry import Builder
from treecast.verification.verifier import verify

from .markdown import cell, code, doc_of, page, table

_MOST_NODES = 64  # of a network on which a builder is shown
_LENGTHS = {"lengths": 3}
_LARGER = ("torus:8x8",)  # where some builders begin that work on no example of a family


def builders() -> str:
    """Return the page."""
    names = sorted({entry.name for entry in all_builders()})
    return page(
        "Builders",
        "A builder makes the schedules of some collectives, on some networks, under some models. It *claims* steps, "
        "transmissions and copies; the verifier measures them. `--builder NAME` chooses one. `treecast builders COLLECTIVE "
        "NETWORK` says the cost of each for a job, which one is the default, and why. Gathers and reductions are made by "
        "running others backwards.",
        *(_builder(name) for name in names),
    )


def _builder(name: str) -> str:
    every = [entry for entry in all_builders() if entry.name == name]
    kinds = [kind for kind in COLLECTIVES if any(kind in kinds_of(entry) for entry in every)]
    options = {option.name: option for entry in every for option in entry.options}
    modules = list(dict.fromkeys(entry.build.__module__ for entry in every))
    models = list(dict.fromkeys(model for entry in every for model in entry.models))
    any_model = [] if not any(entry.any_model for entry in every) else ["any other whose nodes keep relayed chunks"]
    rows = [
        ["collectives", ", ".join(map(code, kinds))],
        ["models", ", ".join([*map(code, models), *any_model])],
        ["networks", _range(every)],
        ["copies", _copies(every)],
        [
            "claims",
            "in closed form, before anything is built"
            if all(e.claims for e in every)
            else "with the rows that it builds",
        ],
        *(
            [["one node's part", "from its label alone (`treecast program`)"]]
            if any(entry.at for entry in every)
            else []
        ),
        *([["it is", "a baseline, to compare with"]] if all(entry.baseline for entry in every) else []),
        *([[f"`--{option.name}`", cell(option.summary)] for option in options.values()]),
        *([["for example", shown]] if (shown := _shown(every)) else []),
    ]
    said = [doc_of(function) for function in dict.fromkeys(entry.build for entry in every) if inspect.getdoc(function)]
    parts = [
        f"## {name}",
        _sentence("; ".join(dict.fromkeys(cell(entry.summary) for entry in every))),
        table(("", ""), rows),
        *dict.fromkeys(said),
        *(f"*Of `{module}`:* {doc_of(sys.modules[module])}" for module in modules),
    ]
    return "\n\n".join(parts)


def _examples(own: list[Builder]) -> list[str]:
    """Return the examples of families on which some of these builders work."""
    return [spec for spec in _every_example() if any(not entry.on(network(spec)) for entry in own)]


def _every_example() -> list[str]:
    return [*(family.example for family in families().values() if family.arguments != "PATH"), *_LARGER]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _range(own: list[Builder]) -> str:
    """Return on which of the examples of families these builders work."""
    found, every = _examples(own), _every_example()
    if found == every:
        return "any" if not any(entry.needs for entry in own) else "any, where it is asked for"
    return ", ".join(code(spec) for spec in found)


def _copies(own: list[Builder]) -> str:
    """Return to how many copies these builders go, on the first example where they go beyond one."""
    for entry in own:
        for spec in _examples([entry]):
            if entry.by_root:
                return "as many as disjoint paths lead from the root to every rank"
            if (most := entry.most(network(spec))) > 1:
                return f"up to {most} on {code(spec)}"
    return "1"


def _shown(own: list[Builder]) -> str:
    """Return a command by which one of these builders plans something small, and its steps beside the bound."""
    for entry in own:
        for spec in _examples([entry]):
            where = network(spec)
            for kind in sorted(entry.kinds):
                if where.nodes > _MOST_NODES:
                    continue
                asked = _LENGTHS if COLLECTIVES[kind].lengths else {}
                try:
                    report = verify(
                        plan(kind, where, builder=entry.name, model=(*entry.models, "one-port")[0], **asked)
                    )
                except TreecastError:
                    continue
                command = report.schedule.command.replace("  ", " ")
                least = best(list(report.bounds), "steps").value
                return f"{code(command)}: {report.steps:,} steps, bound {least:,}"
    return ""
