"""Trees of every rank by splitting off relays: as many as the optimum has messages, no arc in more than it has steps."""

from tests.lower_bounds.test_cuts import boxes
from treecast import network, plan, verify


def test_the_gap_of_many_ranks():
    """As docs/explanation/open.md says."""
    where = network(boxes(19, 8, 9, 1))
    schedule = plan("allgather", where, messages=20)
    report = verify(schedule)
    assert report.holds
    assert (report.steps, max(b.value for b in report.bounds if b.of == "steps")) == (523, 361)
