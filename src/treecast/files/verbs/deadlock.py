"""``treecast deadlock``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.options import Json


def deadlock(
    calls: Annotated[
        str, Parameter(help="A file of calls, a folder of records of a job that ran, or words for a mesh.")
    ],
    mesh: Annotated[str, Parameter(help="Axes of ranks, neighbours first, as in tp4,pp2,dp2.")] = "",
    /,
    *,
    times: Annotated[int, Parameter(help="How many times each rank of a mesh makes its calls.")] = 2,
    slots: Annotated[
        int, Parameter(help="How many calls of a rank fit side by side; what cannot hang with 1 never does.")
    ] = 1,
    as_json: Json = False,
) -> int:
    """Say whether calls on several groups of ranks can hang, who would wait for whom, and an order in which they cannot.

    A file has lines 'rank: group stream blocking', in the order of each host; those of groups whose members do not all call are
    'group = 0-3, 8'. With a mesh, write what each rank calls along its axes: 'allreduce tp + send pp + reduce-scatter dp'.

    Example: treecast deadlock 'allreduce tp + reduce-scatter dp' tp2,dp2

    The exit status is 0 where no run hangs, 1 where one may or all do, and 3 where there is too much to try.
    """
    from treecast.files import others

    return console.show(others.deadlock(calls, mesh, times=times, slots=slots), as_json)
