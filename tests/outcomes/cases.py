"""The outcomes of calls in which ranks fail, as data: what befalls whom, and what every living rank sees, whatever the face.

``docs/reference/outcomes.md`` shows the events as a table; a runner for each face holds what its ranks see against the cases.
"""

from typing import NamedTuple

RANKS = 4
FACES = ("mpi", "sockets", "links", "torch")


class Case(NamedTuple):
    """A call, what befalls some ranks in it, the terms, and the outcome: see ``judge``.

    ``fate``: ``before`` (dies before the call), ``in`` (dies at its next message), ``end`` (has ended with status 0),
    ``late`` (comes when the others have gone on), ``cut`` (no message comes through), ``refuse`` (its arguments are wrong),
    ``other`` (makes another call).
    ``faces``: those that have it.
    """

    call: str
    fate: str
    outcome: str
    who: tuple[int, ...] = (2,)
    root: int = 1
    survive: int = 1
    on_failed: str = "warn"
    faces: tuple[str, ...] = FACES

    def __str__(self):
        who = "+".join(map(str, self.who))
        return f"{self.call}-{self.fate}-{who}-root{self.root}-survive{self.survive}-{self.on_failed}"


class Event(NamedTuple):
    """What happens in a call, the outcome at every rank that lives, and cases of it."""

    event: str
    outcome: str
    cases: list[Case]


NOT_TORCH = tuple(face for face in FACES if face != "torch")
NOT_MPI = tuple(face for face in FACES if face != "mpi")
SOCKETS = ("sockets", "links")
SUMS, BLOCKS = ("Allreduce", "Reduce", "Reduce_scatter_block"), ("Allgather", "Alltoall", "Gather")

EVENTS = [
    Event(
        "a contributor to a sum dies",
        "the sum of one set of ranks, in the order of ranks, with equal bits; `failed`: who is not in it",
        [Case(call, "before", "without") for call in SUMS]
        + [Case(call, "before", "without", faces=NOT_TORCH) for call in ("Scan", "Exscan")]
        + [Case("Allreduce", "before", "without", who=(0,)), Case("Allreduce", "in", "whole, without")]
        + [Case("Allreduce", "before", "without", on_failed="ignore")],
    ),
    Event(
        "a rank dies that others need nothing of",
        "the data of all: success",
        [Case(call, fate, "whole") for call in ("Bcast", "Scatter", "Barrier") for fate in ("before", "in")],
    ),
    Event(
        "the root of a `Bcast` or `Scatter` dies",
        "success where all have their data; else `DeliveryError`: lost with its root",
        [Case(call, "before", "lost", root=2) for call in ("Bcast", "Scatter")]
        + [Case(call, "in", "whole, lost", root=2) for call in ("Bcast", "Scatter")],
    ),
    Event(
        "the root of a `Gather` or `Reduce` dies",
        "success, `failed = (root,)`; in PyTorch DistBackendError: lost with its root",
        [Case(call, "before", "for nobody", root=2) for call in ("Gather", "Reduce")],
    ),
    Event(
        "a rank dies whose place in the result stays as it was (`Allgather`, `Alltoall`, `Gather`)",
        '`DeliveryError` that names it, unless all have its data; with `on_failed="ignore"` success, and `failed`',
        [Case(call, "before", "raised") for call in BLOCKS]
        + [Case(call, "in", "whole, raised") for call in BLOCKS]
        + [Case(call, "before", "without", on_failed="ignore") for call in BLOCKS],
    ),
    Event(
        'data of the dead is missing, with `on_failed="raise"`',
        "`DeliveryError` that names them, also of a sum",
        [Case(call, "before", "raised", on_failed="raise") for call in ("Allreduce", "Reduce", "Allgather")],
    ),
    Event(
        "more than `survive` ranks fail in one call",
        "`DeliveryError`; later calls go on without them",
        [Case(call, "before", "too many", survive=0, faces=NOT_MPI) for call in ("Allreduce", "Alltoall", "Allgather")]
        + [Case("Allreduce", "before", "too many", who=(1, 2), root=0, survive=1)],
    ),
    Event(
        "several fail in one call, and no more than `survive`",
        "as one",
        [
            Case("Allreduce", "before", "without", who=(1, 2), root=0, survive=2),
            Case("Allgather", "before", "raised", who=(1, 2), root=0, survive=2),
        ],
    ),
    Event(
        "a rank has ended with status 0, and the others go on",
        "as if it had died; the line says that it has ended. Over MPI `treecast launch` ends a job that waits for such a rank",
        [Case(call, "end", "without", faces=NOT_MPI) for call in SUMS]
        + [Case("Allgather", "end", "raised", faces=NOT_MPI), Case("Bcast", "end", "whole", faces=NOT_MPI)],
    ),
    Event(
        "a rank lives, but does not make the call, for longer than `late`",
        "as if it had died, by a majority; it raises `Evicted` when it comes, and changes nothing",
        [Case("Allreduce", "late", "without"), Case("Allgather", "late", "raised")],
    ),
    Event(
        "a rank is stopped, or cut off, for longer than `deadline`",
        "the same",
        [
            Case("Allreduce", "cut", "without", faces=("sockets",)),
            Case("Alltoall", "cut", "raised", faces=("sockets",)),
        ],
    ),
    Event(
        "a rank refuses its arguments",
        "its own error there, `DeliveryError` that names it at all others; the next call is right",
        [
            Case(call, "refuse", "refused", faces=NOT_TORCH)
            for call in ("Allreduce", "Allgather", "Alltoall", "Reduce", "Gather")
        ]
        + [Case("Scatter", "refuse", "refused", root=2, faces=NOT_TORCH)],
    ),
    Event(
        "a rank makes another call than the others",
        "one `UnlikeCallsError` at all ranks, that one too; the next call is right, and raises it at a rank that had returned, "
        "as the root of a small `Bcast` has",
        [Case(call, "other", "unlike") for call in (*SUMS, *BLOCKS, "Bcast", "Scatter")],
    ),
]
_ENDS = {"before": "has died", "in": "has died", "end": "has ended", "late": "was put out", "cut": "was put out"}


def cases_of(*faces):
    """Return the cases of some faces."""
    return [case for event in EVENTS for case in event.cases if set(faces) & set(case.faces)]


def judge(case, said, told):
    """Hold what the ranks have said of a call and of an Allreduce after it, and the lines on the standard error, against a case.

    ``said``: by rank: for each call the failed and whether the data is right, or the text of its error.
    """
    if case.fate == "other":
        errors = [[str(each) for each in seen if each != [[], True]] for seen in said]
        assert len({*map(tuple, errors)}) == 1, (case, said)
        assert len(errors[0]) == 1, (case, said)
        assert f"rank {case.who[0]} makes" in errors[0][0], (case, said)
        return
    living = [rank for rank in range(RANKS) if rank not in case.who]
    for place in range(2):
        seen = {
            str(said[rank][place]).partition(":")[0] for rank in living
        }  # an error names the time after which it gave up
        assert len(seen) == 1, (case, said)
    first, after = said[living[0]][:2]
    outcomes = {
        "whole": [[], True],
        "without": [sorted(case.who), True],
        "for nobody": [sorted(case.who), True],
    }
    texts = {
        "lost": "lost with its root",
        "for nobody": "the result is lost with its root",
        "raised": f"rank {case.who[0]} {_ENDS.get(case.fate)}",
        "too many": f"failed in one call, and survive={case.survive}: say survive={len(case.who)}",
        "refused": f"the arguments of rank {case.who[0]} were refused there",
    }
    is_right = any(
        first == outcomes.get(each) or (isinstance(first, str) and each in texts and texts[each] in first)
        for each in case.outcome.split(", ")
    )
    assert is_right, (case, said)
    if case.fate == "refuse":
        assert all(after == [[], True] and said[rank][1] == after for rank in (*living, *case.who)), (case, said)
        assert "refused there" not in said[case.who[0]][0]
        assert not told, told
        return
    assert after == [sorted(case.who), True] or case.on_failed == "raise", (case, said)
    if case.fate in ("late", "cut"):
        assert any("is cut off" in str(each) for each in said[case.who[0]]), (case, said)
    lines = [line for line in told.splitlines() if line.startswith("treecast: ") and "of its" in line]
    assert len(lines) == (len(case.who) if case.on_failed == "warn" else 0), (case, told)
    for rank, line in zip(case.who, lines, strict=False):
        assert f"rank {rank} {_ENDS[case.fate]}" in line, (case, told)
        assert "call 2" in line or "call 3" in line, (case, told)
