"""The table of outcomes, which the page on outcomes includes: from the cases that the tests run over MPI, sockets, links and
PyTorch."""

from tests.outcomes.cases import EVENTS, cases_of

from treecast.running.transport.events import NAMES

from .markdown import code, of_prose, table


def outcomes() -> dict[str, str]:
    """Return the tables, by the names of their files."""
    return {"events": _events(), "jobs": _jobs()}


def _jobs() -> str:
    return table(("event", "says that"), [[code(name), of_prose(meaning)] for name, meaning in NAMES.items()])


def _events() -> str:
    faces = {face: len(cases_of(face)) for face in ("mpi", "sockets", "links", "torch")}
    rows = [[event.event, event.outcome, str(len(event.cases))] for event in EVENTS]
    counts = "{mpi} over MPI, {sockets} over sockets, {links} over the links of a network, {torch} over PyTorch".format(
        **faces
    )
    return (
        table(("event in a call", "outcome at every rank that lives", "cases"), rows) + f"\nThe tests run {counts}.\n"
    )
