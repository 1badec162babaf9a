"""``treecast times``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli.arguments import Output, TimeOptions
from treecast.cli.files import show_drawn
from treecast.cli.options import Flag, Json
from treecast.description import describe
from treecast.errors import TreecastError
from treecast.papers.hypercube.times import COLLECTIVES, compare_schemes
from treecast.units import parse_bytes


def times(
    network: Annotated[str, Parameter(help="The hypercube, as in hypercube:6.")],
    /,
    *,
    survive: int | None = None,
    collective: Annotated[str, Parameter(choices=COLLECTIVES)] = COLLECTIVES[-1],
    fault_free: Flag = False,
    costs: TimeOptions = TimeOptions(),  # noqa: B008
    size: Annotated[str, Parameter(name="--bytes", help="The bytes of each node's message: 4KiB.")] = "1",
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Print the costs of the schemes of the hypercube paper: as claimed, in closed form and measured, and where which wins.

    Example: treecast times hypercube:6 --bytes 4KiB --latency 10us --rate 1GB/s -o times.svg

    Parameters
    ----------
    survive
        How many faults must do no harm; else as many as can be survived, d - 1.
    collective
        The collective.
    fault_free
        The cube is declared to be without faults: steps that serve only under faults are left out.
    output
        Also draw a picture into this file: SVG, PNG or PDF.
    """
    from treecast import networks

    # 1. The network, and the costs of a send.
    if costs.costs is not None:
        raise TreecastError("times are of links that cost alike: write --latency and --rate")
    where, each = networks.network(network), parse_bytes(size)
    asked = costs.read(where)
    cost = asked and asked.default
    # 2. The schemes side by side.
    found = compare_schemes(where, survive, collective, fault_free=fault_free, cost=cost, chunk_bytes=each)
    # bytes in place of start-ups: the pictures' axis
    r = each * cost.per_byte / cost.startup if cost is not None and cost.startup else None
    notes = (
        "times when nothing fails: faults can make messages longer where nodes leave out data that was said before",
        "n = 2^d; β: start-up of a send, τ: time of a byte, F: bytes of a node's message",
    )
    return show_drawn(describe(found).adding(notes=notes), output, as_json, found[0].job._replace(r=r or None))
