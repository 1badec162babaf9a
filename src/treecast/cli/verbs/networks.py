"""``treecast networks``."""

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, Spec
from treecast.cli.options import Json
from treecast.description import describe


def networks(spec: Spec | None = None, /, *, broken: BrokenOptions = BrokenOptions(), as_json: Json = False) -> int:
    """List the families of networks, or describe one network.

    Example: treecast networks star:5
    """
    from treecast.collectives import COLLECTIVES
    from treecast.networks import families, network
    from treecast.plans import builders

    if spec is None:
        return console.show(describe(list(families().values())), as_json)
    where = network(broken.less(spec))
    plans = sorted(kind for kind in COLLECTIVES if builders(kind, where))
    lines = {"translations": where.seen_alike, "plans": ", ".join(plans)}
    return console.show(describe(where).adding({"plans": plans}, lines), as_json)
