"""``treecast program``."""

from typing import Annotated, Any

from cyclopts import Parameter

from treecast.cli.arguments import JobOptions, Kind, Spec
from treecast.cli.files import show_rows
from treecast.cli.options import Json
from treecast.cli.verbs.plan import BuilderOptions
from treecast.errors import PlanError, TreecastError


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
    import treecast
    from treecast import plans
    from treecast.discovery import lacking
    from treecast.plans.request import request

    if job.targets or job.lengths is not None or job.files is not None:
        raise TreecastError(
            "one node's program is for messages of equal length that go to all: 'treecast plan' plans all others"
        )
    asked: dict[str, Any] = {"builder": builder, **job.asked(collective, network), **vars(options)}
    try:
        mine = plans.program(node=node, **asked)
    except PlanError as error:
        # only some builders have a protocol by which nodes find the plan themselves
        if "treecast.papers" in lacking() or request(**asked)[1][0].name not in treecast.protocols.BUILDERS:
            raise
        raise PlanError(
            f"{error}; or let the nodes of a plan find them: 'treecast simulate PLAN --distributed'"
        ) from None
    return show_rows(mine, as_json, False, "--json lists them")
