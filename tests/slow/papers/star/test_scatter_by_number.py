"""Scatter and gather in the order of the nodes' numbers: what a node does follows from its label."""

import pytest

from treecast import network, program

pytestmark = pytest.mark.each(2)


@pytest.mark.parametrize(
    ("spec", "node", "copies"),
    [("star:15", 10**12, 14), ("hypercube:40", 0x12345F789A, 40), ("star:14", 29059430400, 1)],
)
def test_nodes_of_networks_that_no_machine_holds(spec, node, copies):
    """What goes in comes out: a share that is not the node's own leaves in the step after it arrives, in the same tree."""
    where = network(spec)
    rows = program("scatter", where, node, copies=copies).rows
    back = program("gather", where, node, copies=copies).rows
    assert len(rows) == len(back)
    hears, passes = (
        {(step - late, tree, chunks) for step, end, tree, chunks in sends_at(rows, name) if end == node}
        for name, late in (("dst", 0), ("src", 1))
    )
    own = {each for each in hears if each[2] == repr([(node, node + 1)])}
    assert len(own) == copies
    assert hears - own == passes
    assert (rows.step >= 0).all()
    assert int(rows.step.max()) < copies * where.nodes // where.ports + 60
    assert (back.step >= 0).all()


def sends_at(rows, end):
    for i in range(len(rows)):
        yield (
            int(rows.step[i]),
            int(getattr(rows, end)[i]),
            int(rows.tree[i]),
            repr(rows.payloads.ranges(int(rows.payload[i]))),
        )
