"""``treecast diff``."""

from treecast.cli import console
from treecast.cli.arguments import File
from treecast.cli.options import Json
from treecast.description import describe


def diff(before: File, after: File, /, *, as_json: Json = False) -> int:
    """Compare two plans: which rows are kept, moved, new or gone, and which nodes to notify.

    Example: treecast diff plan.tc new.tc

    Nodes are the same if they have the same labels, so the second plan may be on the network without its broken parts.
    """
    import treecast
    from treecast import api
    from treecast.plans.timing import seconds_of

    old, new = treecast.load(before), treecast.load(after)
    return console.show(describe(api.diff(old, new)).joined(seconds_of(new, old), after="steps"), as_json)
