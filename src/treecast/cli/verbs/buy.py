"""``treecast buy``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.options import Json
from treecast.errors import TreecastError


def buy(
    *collectives: Annotated[str, Parameter(help="Whose time is wanted: allgather and alltoall by default.")],
    hosts: Annotated[int, Parameter(help="How many hosts there are.")],
    switch_ports: Annotated[int, Parameter(help="How many ports a switch has.")],
    cards: Annotated[str, Parameter(help="How many cards a host may have, with commas between: 1,2.")] = "1,2",
    uplinks: Annotated[
        str, Parameter(help="How many uplinks a leaf may have: 3,4; by default 1, 2 or 3 hosts share one.")
    ] = "",
    size: Annotated[str, Parameter(name="--bytes", help="How much data there is, all blocks together.")] = "1GB",
    rate: Annotated[str, Parameter(help="The rate of a port.")] = "400Gbit/s",
    as_json: Json = False,
) -> int:
    """Say which fabrics of switches can be bought for so many hosts: cables, time, and what a failure costs.

    Leaves and spines, a fat tree where two levels are not enough, one card a host or several, each on a rail of its own.

    Example: treecast buy --hosts 40 --switch-ports 36 --uplinks 3,4
    """
    from treecast.advice import buying

    def numbers(text: str, name: str) -> list[int]:
        words = [word.strip() for word in text.split(",") if word.strip()]
        # isdigit() is true of ² as well, which int() refuses
        if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
            raise TreecastError(f"{name} are numbers with commas between, as in 3,4, not {text!r}")
        return [int(word) for word in words]

    with console.progress("fabrics", after=1):
        found = buying.buy(
            hosts,
            switch_ports,
            bytes=size,
            rate=rate,
            cards=numbers(cards, "--cards"),
            uplinks=numbers(uplinks, "--uplinks"),
            **({"collectives": collectives} if collectives else {}),
        )
    return console.show(found, as_json)
