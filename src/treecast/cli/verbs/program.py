"""``treecast program``."""

import sys
from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import JobOptions, Json, Kind, Spec
from treecast.cli.verbs.plan import BuilderOptions
from treecast.errors import TreecastError

_MANY_ROWS = 200


def program(
    collective: Kind,
    network: Spec,
    node: Annotated[str, Parameter(help="The node, a label or a number.")],
    /,
    *,
    job: JobOptions = JobOptions(),
    builder: str | None = None,
    options: BuilderOptions = BuilderOptions(),
    as_json: Json = False,
) -> int:
    """Print the sends and receipts of one node, from its label alone: in networks of any size, without planning all of it.

    Example: treecast program broadcast mesh:1000x1000x1000 999,0,5 --messages 600

    Parameters
    ----------
    builder
        The construction; the default is the best of those that know a node's rows from its label.
    """
    from treecast import plans
    from treecast.formats.listing import Listing

    if job.targets or job.lengths is not None or job.files is not None:
        raise TreecastError(
            "one node's rows are told where all messages are as long and go to all: 'treecast plan' plans all others"
        )
    mine = plans.program(
        collective,
        network,
        node,
        root=job.root,
        messages=job.count,
        copies=job.copies,
        survive=job.survive,
        model=job.model,
        builder=builder,
        **vars(options),
    )
    listing = Listing(mine, _MANY_ROWS if console.is_terminal(sys.stdout) else None)
    status = console.show(listing, as_json)
    if listing.left_out and not as_json:
        console.say(f"and {listing.left_out:,} more rows: --json lists them")
    return status
