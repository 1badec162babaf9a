"""``treecast cast``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.options import Json, check_numbers


def cast(
    path: Annotated[str, Parameter(name=["--path", "--from"])],
    *,
    hosts: str | None = None,
    target: Annotated[str | None, Parameter(name="--as")] = None,
    network: str | None = None,
    rate: str | None = None,
    start: float = 30.0,
    allow_missing: Annotated[bool, Parameter(negative=())] = False,
    checksum: Annotated[bool, Parameter(negative=())] = False,
    as_json: Json = False,
) -> int:
    """Bring a file, or a folder, to all hosts of a list; hosts may die as long as another still has each piece.

    Hosts are started by ssh, and need Python and numpy: who has no treecast, or another version, takes it from here. Who does not
    answer is left out, and may join later. Or a launcher has started this verb on all of them (srun, torchrun, treecast launch
    --tcp): rank 0 has the file. Files of the same size and time are taken for the same; of others only the pieces that lack go
    over. Pieces are checked by SHA-256, written beside the target as NAME.part, and renamed in the end. Links inside a folder
    stay links, as in a cache of Hugging Face; those that lead out of it become what is there.

    The exit status is 0 when every host has all of it.

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
        The rate of a link, 10Gbit/s say: it is not measured then, and the report says which part of it was reached.
    start
        Seconds that hosts have to answer before the others begin without them.
    allow_missing
        Hosts that are not reached, or die, are no failure: the exit status is 0 when all others have all of it.
    checksum
        Whether files are compared piece by piece although they have the same size and time.
    """
    from treecast.description import Description
    from treecast.running.cast.files import sources_of
    from treecast.running.cast.job import CastRequest, cast_here
    from treecast.running.cast.report import CastOutcome
    from treecast.units import parse_rate

    # 1. What is shown at the end.
    def show(outcome: CastOutcome) -> int:
        holds = not outcome.status(allow_missing)
        status = console.show(Description(outcome.figures(), notes=outcome.lines(), holds=holds), as_json)
        console.flush()
        return status

    # 2. Here alone, or at all hosts of a list.
    check_numbers(start=start)
    own, speed = Path(path).absolute(), None if rate is None else parse_rate(rate)
    asked = CastRequest(own, target or str(own), speed, network, checksum, start)
    if hosts is None:
        return cast_here(asked, show)
    from treecast.running.cast.launch import cast_to
    from treecast.tcp.hosts import deal_out

    # A host stands there once for each slot, and gets one process.
    names = list(dict.fromkeys(deal_out(hosts, None)))
    # What cannot be read is refused here, before any host is started.
    sources_of(Path(path))
    return show(cast_to(names, asked))
