"""``treecast place``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, Names, Spec
from treecast.cli.options import Json
from treecast.errors import TreecastError


def place(
    network: Spec,
    /,
    *,
    shape: Annotated[
        str, Parameter(name="--for", help="ring, tree, or the mesh of all ranks, neighbours first: tp8,pp2,dp4.")
    ] = "ring",
    hosts: Annotated[
        Names, Parameter(help="The hosts of the job, in the order of today: node[01-08]; by default all, by name.")
    ] = (),
    slots: Annotated[int | None, Parameter(help="The ranks of a host, for the files of launchers.")] = None,
    rate: Annotated[str | None, Parameter(help="The rate of a link, where the file says none: 100Gbit/s.")] = None,
    write: Annotated[
        str | None, Parameter(help="Write it for a launcher: hostfile, rankfile, slurm, torchrun, jobset.")
    ] = None,
    output: Annotated[str | None, Parameter(alias="-o", help="Into this file; by default on standard output.")] = None,
    broken: BrokenOptions = BrokenOptions(),
    as_json: Json = False,
) -> int:
    """Find which rank goes where: an order of hosts in which rings, trees or groups load the busiest cable least.

    What a rank sends is spread over all shortest ways. The gain is that beside the order of today.

    Example: treecast place fabric.ibnetdiscover --for tp8,dp12 --write slurm -o hosts.txt
    """
    from treecast.advice import placing
    from treecast.writing import write_whole

    if (output is not None and write is None) or (write is not None and as_json and output is None):
        raise TreecastError(
            "-o wants --write and its launcher, as in --write hostfile; --json and --write print one each"
        )
    with console.progress("orders", after=1):
        found = placing.place(broken.read(network), shape, hosts=hosts, slots=slots, rate=rate)
    if write is not None and output is None:
        console.show_text(found.written(write).removesuffix("\n"))
        return 0
    if write is not None and output is not None:
        write_whole(output, found.written(write).encode())
        console.wrote(output)
    return console.show(found, as_json)
