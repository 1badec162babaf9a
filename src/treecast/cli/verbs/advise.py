"""``treecast advise``."""

from typing import Annotated, Literal

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import BytesOptions, Flag, Json, Kind
from treecast.errors import TreecastError


def advise(
    collective: Kind,
    /,
    *,
    nodes: Annotated[str, Parameter(help="How many ranks: 64, or from A to B as in 60..70.")],
    amount: BytesOptions = BytesOptions(),  # noqa: B008
    survive: Annotated[int, Parameter(help="How many unannounced faults must do no harm.")] = 0,
    max_degree: Annotated[int | None, Parameter(show_default=False, help="The most links of a node.")] = None,
    rate_per: Annotated[
        Literal["link", "node"], Parameter(help="Whether each link carries the whole rate, or a node's links share it.")
    ] = "link",
    sort: Annotated[Literal["time", "links"], Parameter(help="What the options are sorted by.")] = "time",
    ports: Annotated[
        int | None,
        Parameter(
            show_default=False, help="The ports of a machine: which cables to plug between machines without a switch."
        ),
    ] = None,
    wire: Annotated[Flag, Parameter(help="With --ports: print nothing but the cables to plug.")] = False,
    output: Annotated[
        str | None,
        Parameter(alias="-o", show_default=False, help="Also draw time and degree into this file: SVG, PNG, PDF."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Compare networks and plans for a number of ranks, by degree, links, time and the faults that do no harm.

    The options that nothing beats are planned and verified. With --ports, machines are joined without a switch: every graph of
    up to ten of them is looked at, so that the best is proved to be the best where its plan meets the bounds of the others.

    Example: treecast advise broadcast --nodes 60..70 --bytes 16MiB --survive 1 --max-degree 6 --latency 1us --rate 12.5GB/s
    """
    from treecast import plans
    from treecast.description import describe
    from treecast.plans.advice import advise as ask
    from treecast.plans.fastest import amount_of, costs_of
    from treecast.plans.switchless import cables, switchless
    from treecast.verification.verifier import verify

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
    if amount.costs is not None or amount.chunk is not None:
        raise TreecastError("--costs and --chunk are for one plan: leave them out, networks are compared by one cost")
    much = amount_of(amount.size, item=amount.item, least_chunk=amount.least_chunk)
    costs = costs_of(amount.latency, amount.rate)
    if much is None or costs is None:
        raise TreecastError(
            "say how much data there is and what sends cost: --bytes 16MiB --latency 1us --rate 12.5GB/s"
        )
    if ports is not None or wire:
        if ports is None or len(wanted) > 1:
            raise TreecastError("--wire wants one number of machines, and their ports: --nodes 6 --ports 2 --wire")
        with console.progress("graphs", after=1):
            best = switchless(collective, wanted[0], ports, much, costs, survive=survive)
        return console.show(cables(best) if wire else describe(best), as_json)
    with console.progress("networks", after=1):
        found = ask(
            collective, wanted, much, costs, survive=survive, most_degree=max_degree, rate_per=rate_per, sort=sort
        )
    for each in found.options:
        if each.front:
            schedule = plans.plan(
                collective,
                each.network,
                survive=each.survives,
                model=each.model,
                builder=each.builder,
                messages=each.sizes.messages,
            )
            if not verify(schedule) or schedule.steps != each.steps:
                raise TreecastError(
                    f"{each.builder} on {each.network} does not take the {each.steps} steps that it claims"
                )
    if output is not None:
        from treecast.drawing.pictures import draw

        draw(found, output)
    return console.show(describe(found), as_json)
