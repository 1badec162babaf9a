"""``treecast cables``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, Kind, ModelName, Root, Spec
from treecast.cli.files import show_drawn
from treecast.cli.options import Json


def cables(
    network: Spec,
    collective: Kind = "alltoall",
    /,
    *,
    broken: BrokenOptions = BrokenOptions(),
    root: Root | None = None,
    model: ModelName = None,
    size: Annotated[
        str | None, Parameter(name="--bytes", help="How much data there is: 16MiB; 1GB by default.")
    ] = None,
    rate: Annotated[str | None, Parameter(help="The rate of a link, where the file says none: 100Gbit/s.")] = None,
    plans: Annotated[
        int | None, Parameter(help="For how many of the dearest plans are made, too; by default 3, of up to 64 ranks.")
    ] = None,
    output: Annotated[
        str | None, Parameter(alias="-o", help="Also draw the network with these costs into this file: SVG, PNG, PDF.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Print what each cable and each switch would cost if it died, the worst first: the next one to fail that hurts.

    Of each the least time of the collective without it is set beside that of the whole network, by lower bounds. Some of the
    dearest are planned, too. Cables that look alike from all around are tried once.

    Example: treecast cables fabric.ibnetdiscover alltoall
    """
    from treecast.advice import failing

    with console.progress("cables and switches", after=1):
        found = failing.cables(
            broken.read(network), collective, bytes=size, rate=rate, plans=plans, root=root, model=model
        )
    return show_drawn(found, output, as_json)
