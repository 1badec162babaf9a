"""``treecast doctor``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, Spec
from treecast.cli.options import Json


def doctor(
    log: Annotated[str, Parameter(help="What nccl-tests, rccl-tests, OSU or IMB printed; - is standard input.")],
    /,
    *,
    network: Spec,
    broken: BrokenOptions = BrokenOptions(),
    collective: Annotated[str, Parameter(help="The collective, where the log does not tell, or has several.")] = "",
    rate: Annotated[str | None, Parameter(help="The rate of a link, where the file says none: 100Gbit/s.")] = None,
    as_json: Json = False,
) -> int:
    """Set the log of a benchmark beside the network: what the cables allow at each size, and how much of it was reached.

    Lines of NCCL_DEBUG=INFO among it say NCCL's rings: which cable they load most, and whether another order of the hosts would
    load it less. busbw is that of nccl-tests.

    Example: treecast doctor nccl-tests.log --network fabric.ibnetdiscover
    """
    from treecast.advice import doctor

    with console.progress("orders", after=1):
        found = doctor.doctor(log, broken.read(network), collective=collective, rate=rate)
    return console.show(found, as_json)
