"""The page of collectives: what each does, and what MPI and the literature call it."""

from treecast.collectives import COLLECTIVES

from .markdown import cell, code, page, table


def collectives() -> str:
    """Return the page."""
    rows = [
        [
            code(name),
            cell(kind.summary),
            code(f"MPI_{kind.mpi}") if kind.mpi else "",
            cell(", ".join(kind.also)),
            _made(kind),
        ]
        for name, kind in COLLECTIVES.items()
    ]
    return page(
        "Collectives",
        "A collective moves blocks of M chunks. The table has them all; some are others run backwards in time.",
        table(("collective", "task", "in MPI", "also called", "made from"), rows),
    )


def _made(kind: object) -> str:
    if kind.backwards:
        return f"{code(kind.backwards)}, backwards"
    return f"{code(kind.there_and_back)}, backwards and then forwards" if kind.there_and_back else ""
