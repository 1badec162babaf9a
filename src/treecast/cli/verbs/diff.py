"""``treecast diff``."""

from treecast.cli import console
from treecast.cli.arguments import File, Json


def diff(before: File, after: File, /, *, as_json: Json = False) -> int:
    """Say what two plans have in common: which rows are kept, moved, new or gone, and which nodes must be told.

    Example: treecast diff plan.tc new.tc

    Nodes are the same if they have the same labels, so the second plan may be on what faults have left of the network.
    """
    from treecast import formats
    from treecast.description import describe
    from treecast.plans.differences import difference
    from treecast.plans.timing import seconds_of

    old, new = formats.load(before), formats.load(after)
    return console.show(describe(difference(old, new)).joined(seconds_of(new, old), after="steps"), as_json)
