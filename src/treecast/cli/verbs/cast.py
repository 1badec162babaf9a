"""``treecast cast``."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from treecast.errors import PlanError


def cast(
    path: str,
    *,
    hosts: str | None = None,
    target: Annotated[str | None, Parameter(name="--as")] = None,
    network: str | None = None,
    rate: str | None = None,
) -> int:
    """Bring a file, or a folder, to all hosts of a list; hosts may die as long as another still has each piece.

    Hosts are started by ssh; on each the same Python and treecast are at the same path. Or a launcher has started this verb on
    all of them (srun, torchrun, treecast launch --tcp): rank 0 has the file. Pieces are checked by SHA-256, written beside the
    target as NAME.part, and renamed in the end. Pieces that are there already are not sent again.

    The exit status is 0 when every host that lives has all of it.

    Example: treecast cast model.safetensors --hosts hosts --as /scratch/model.safetensors

    Parameters
    ----------
    path
        The file or folder.
    hosts
        A file of the hosts it goes to: HOST, a line for each.
    target
        Where it goes on each host; by default where it is here. {rank} in it is the number of the host, from 1.
    network
        The network of links between this machine and the hosts, where these are the only connections: mesh:2x3, or a file of
        cables.
    rate
        The rate of a link, 10Gbit/s say: the report then says which part of it was reached.
    """
    from treecast.tcp.cast import be_rank
    from treecast.units import parse_rate

    place = target or str(Path(path).absolute())
    speed = None if rate is None else parse_rate(rate)
    if hosts is None:
        return be_rank(path, place, sys.stdout.write, speed)
    from treecast.tcp.hosts import deal_out
    from treecast.tcp.launch import launch

    if not Path(path).exists():
        raise PlanError(f"{path} is no file, and no folder of files")
    words = [str(Path(path).absolute()), "--as", place, *(["--rate", rate] if rate else [])]
    ending = launch(
        None,
        [sys.executable, "-m", "treecast", "cast", *words],
        hosts=[None, *dict.fromkeys(deal_out(hosts, None))],
        environment={"TREECAST_NETWORK": network} if network else {},
    )
    if ending.line:
        sys.stderr.write(f"treecast: {ending.line}\n")
    return ending.status
