"""``treecast advise``."""

from typing import Annotated, Literal

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import BytesOptions, Kind
from treecast.cli.files import show_drawn
from treecast.cli.options import Flag, Json
from treecast.errors import TreecastError


def advise(
    collective: Kind,
    /,
    *,
    nodes: Annotated[str, Parameter(help="How many ranks: 64, or from A to B as in 60..70.")],
    amount: BytesOptions = BytesOptions(),  # noqa: B008
    survive: Annotated[int, Parameter(help="How many unannounced faults must do no harm.")] = 0,
    max_degree: Annotated[int | None, Parameter(help="The most links of a node.")] = None,
    rate_per: Annotated[
        Literal["link", "node"], Parameter(help="Whether each link carries the whole rate, or a node's links share it.")
    ] = "link",
    sort: Annotated[Literal["time", "links"], Parameter(help="The order of the options.")] = "time",
    ports: Annotated[
        int | None,
        Parameter(help="The ports of a machine: which cables to plug between machines without a switch."),
    ] = None,
    wire: Annotated[Flag, Parameter(help="With --ports: print nothing but the cables to plug.")] = False,
    output: Annotated[
        str | None,
        Parameter(alias="-o", help="Also draw time and degree into this file: SVG, PNG, PDF."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Compare networks and plans for a number of ranks, by degree, links, time and the faults that do no harm.

    The options that nothing beats are planned and verified. With --ports, machines are joined without a switch: every graph of
    up to ten of them is looked at, so that the best is proved to be the best where its plan meets the bounds of the others.

    Example: treecast advise broadcast --nodes 60..70 --bytes 16MiB --survive 1 --max-degree 6 --latency 1us --rate 12.5GB/s
    """
    from treecast.advice import asking
    from treecast.advice.cables import Switchless, cables

    # 1. The sizes.
    low, dots, high = nodes.partition("..")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in (low, high or low)) or (
        dots and not high
    ):
        raise TreecastError(f"--nodes is a number or a range, as in 64 or 60..70, not {nodes!r}")
    wanted = range(int(low), int(high or low) + 1)
    if not wanted or not wanted[0] or len(wanted) > 1000:
        raise TreecastError(
            f"--nodes {nodes} names no sizes: write at most 1,000 from 1 on, the least first, as in 60..70"
        )
    # 2. Costs: networks are compared by one latency and one rate.
    if amount.costs is not None or amount.chunk is not None:
        raise TreecastError("--costs and --chunk are for one plan: leave them out, networks are compared by one cost")
    if amount.size is None or amount.latency is None or amount.rate is None:
        raise TreecastError(
            "say how much data there is and how much sends cost: --bytes 16MiB --latency 1us --rate 12.5GB/s"
        )
    if (ports is not None or wire) and (ports is None or len(wanted) > 1):
        raise TreecastError("--wire wants one number of machines, and their ports: --nodes 6 --ports 2 --wire")
    # 3. The search, and what it found.
    with console.progress("networks" if ports is None else "graphs", after=1):
        found = asking.advise(
            collective,
            wanted,
            size=amount.size,
            **amount.asked,
            survive=survive,
            max_degree=max_degree,
            rate_per=rate_per,
            sort=sort,
            ports=ports,
        )
    if isinstance(found, Switchless):
        return console.show(cables(found) if wire else found, as_json)
    return show_drawn(found, output, as_json)
