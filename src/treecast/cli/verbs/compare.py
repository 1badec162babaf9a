"""``treecast compare``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import Copies, Flag, Json, Messages, Spec, Survive
from treecast.errors import TreecastError
from treecast.papers import compare as comparison


def compare(
    *specs: Spec,
    collective: Annotated[
        str | None,
        Parameter(help=f"The collective to compare; else the problems of the paper: {', '.join(comparison.PROBLEMS)}."),
    ] = None,
    messages: Messages = 1,
    copies: Copies = None,
    survive: Survive = None,
    tables: Flag = False,
    as_json: Json = False,
) -> int:
    """Set networks side by side: steps and transmissions of collectives, planned and verified, beside the lower bounds.

    Example: treecast compare star:5 hypercube:7 --collective allgather

    Parameters
    ----------
    tables
        Print the paper's tables of lower bounds (1 to 3) for these star networks and hypercubes instead: nothing is planned.
    """
    from treecast import networks
    from treecast.collectives import find_kind
    from treecast.plans import copies_of

    if tables:
        where, wanted = [networks.network(spec) for spec in specs], copies_of(copies, survive)
        if not where or collective is not None:
            raise TreecastError("--tables takes one star network or hypercube, or more, and no --collective")
        found = [table for network in where for table in comparison.tables(network, messages, wanted)]
        return console.show(found, as_json)
    if collective is not None and find_kind(collective).lengths:
        raise TreecastError(
            f"{collective} has blocks of different lengths: plan it on each network, as compare has none for it"
        )
    with console.progress("comparison"):
        side_by_side = comparison.compare(
            specs, collective=collective, messages=messages, copies=copies, survive=survive
        )
    return console.show(side_by_side, as_json)
