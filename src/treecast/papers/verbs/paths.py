"""``treecast paths``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli.arguments import BrokenOptions, Output, Root, Spec
from treecast.cli.files import show_drawn
from treecast.cli.options import Json


def paths(
    network: Spec,
    node: str,
    /,
    *,
    root: Root = "0",
    broken: BrokenOptions = BrokenOptions(),
    order: Annotated[
        str | None, Parameter(help="On a hypercube: the ports in the order in which they are used, as in 3,2,1,0.")
    ] = None,
    trees: Annotated[
        str, Parameter(help="On a star network: 'paper' for the trees of Fragopoulou & Akl, not treecast's own.")
    ] = "",
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Print the node-disjoint paths from the root to a node: on a hypercube the calling paths, on a star network the trees'.

    Example: treecast paths hypercube:4 14 --order 3,2,1,0

    Parameters
    ----------
    node
        The node to which they lead: a label or a number.
    output
        Also draw a picture into this file: SVG, PNG or PDF.
    """
    from treecast.papers import paths as calling
    from treecast.plans.order import ORDER

    where = broken.read(network)
    ports = None if order is None else ORDER.read(order, where)
    return show_drawn(calling.paths(where, node, root, ports, trees=trees), output, as_json)
