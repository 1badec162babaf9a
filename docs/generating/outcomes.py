"""The tables of terms and outcomes, which the page on outcomes includes: the terms from their docstring, the outcomes from the
cases that the tests run over MPI, sockets, links and PyTorch."""

import inspect
import re

from tests.outcomes.cases import EVENTS, cases_of

from treecast.groups.terms import OVER_MPI, Terms
from treecast.transport.events import NAMES

from .markdown import code, of_prose, table


def outcomes() -> dict[str, str]:
    """Return the tables, by the names of their files."""
    return {"terms": _terms(), "events": _events(), "jobs": _jobs()}


def _terms() -> str:
    text = inspect.getdoc(Terms) or ""
    attributes = text.partition("Attributes\n----------\n")[2].partition("\nExamples\n")[0]
    said = re.findall(r"^(\w+) : .*\n((?: {4}.*\n?|\n)+)", attributes, re.MULTILINE)
    rows = [
        [
            code(name),
            code(_default(name)),
            code(f"TREECAST_{name.upper()}"),
            " ".join(of_prose(inspect.cleandoc(words)).split()),
        ]
        for name, words in said
    ]
    return table(("term", "usual", "variable", "says"), rows)


def _jobs() -> str:
    return table(("event", "says that"), [[code(name), of_prose(meaning)] for name, meaning in NAMES.items()])


def _default(name: str) -> str:
    usual, over_mpi = getattr(Terms(), name), getattr(OVER_MPI, name)
    return repr(usual) if usual == over_mpi else f"{usual!r}; over MPI {over_mpi!r}"


def _events() -> str:
    faces = {face: len(cases_of(face)) for face in ("mpi", "sockets", "links", "torch")}
    rows = [[event.event, event.outcome, str(len(event.cases))] for event in EVENTS]
    counts = "{mpi} over MPI, {sockets} over sockets, {links} over the links of a network, {torch} over PyTorch".format(
        **faces
    )
    return (
        table(("event in a call", "outcome at every rank that lives", "cases"), rows) + f"\nThe tests run {counts}.\n"
    )
