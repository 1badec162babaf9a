"""``treecast compare``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, Copies, DataOptions, Messages, Survive
from treecast.cli.demands import kind_of
from treecast.cli.files import show_drawn
from treecast.cli.options import Flag, Json
from treecast.errors import TreecastError
from treecast.papers import compare as comparison
from treecast.papers.tables import tables as tables_of


def compare(
    *specs: Annotated[
        str, Parameter(help="The networks, and perhaps a collective among them: allreduce ring:8 torus:2x4.")
    ],
    collective: Annotated[
        str | None,
        Parameter(help=f"The collective to compare; else the problems of the paper: {', '.join(comparison.PROBLEMS)}."),
    ] = None,
    messages: Messages | None = None,
    copies: Copies = None,
    survive: Survive = None,
    amount: DataOptions = DataOptions(),  # noqa: B008
    tables: Flag = False,
    output: Annotated[
        str | None,
        Parameter(alias="-o", help="Also write the figures into this file, CSV or JSON; or a picture: SVG, PNG, PDF."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Set networks side by side: steps and transmissions of collectives, planned and verified, beside the lower bounds.

    With --bytes also the time of plans, of as many messages as take the least.

    Example: treecast compare allgather star:5 hypercube:7 -o table.csv

    Parameters
    ----------
    tables
        Print the paper's tables of lower bounds (1 to 3) for these star networks and hypercubes instead: nothing is planned.
    """
    from treecast.collectives import COLLECTIVES, find_kind
    from treecast.plans import copies_of

    # 1. A collective may stand among the networks.
    kinds = [*([] if collective is None else [collective]), *(each for each in specs if kind_of(each) in COLLECTIVES)]
    if len(kinds) > 1:
        raise TreecastError(f"one collective is compared at a time, not {' and '.join(kinds)}")
    collective, specs = next(map(kind_of, kinds), None), tuple(each for each in specs if each not in kinds)
    if amount.chunk is not None or amount.costs is not None or (amount.size is None and amount != DataOptions()):
        raise TreecastError("networks are compared by one cost: --bytes 16MiB --latency 1us --rate 12.5GB/s")
    where = [BrokenOptions().read(spec) for spec in specs]
    # 2. The paper's tables: bounds alone, and nothing is planned.
    if tables:
        wanted = copies_of(copies, survive)
        if not where or collective is not None:
            raise TreecastError("--tables takes one star network or hypercube, or more, and no --collective")
        found = [table for network in where for table in tables_of(network, messages or 1, wanted)]
        return console.show(found, as_json)
    # 3. Plans, side by side.
    if collective is not None and find_kind(collective).lengths:
        raise TreecastError(
            f"{collective} has blocks of different lengths: plan it on each network, as compare has none for it"
        )
    if amount.size is not None and where:
        amount = amount.with_latency(where[0])
    with console.progress("comparison"):
        side_by_side = comparison.compare(
            where,
            collective=collective,
            messages=messages,
            copies=copies,
            survive=survive,
            bytes=amount.size,
            latency=amount.latency,
            rate=amount.rate,
        )
    return show_drawn(side_by_side, output, as_json)
