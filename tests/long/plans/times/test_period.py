"""Long messages by periods: rows in the number of arcs, and steps near the bound."""

from treecast.models import model
from treecast.plans import plan
from treecast.plans.times.period import periods
from treecast.plans.ways.ways import Ways


def test_alltoall_on_a_torus_of_64_nodes():
    ways = Ways.of_schedule(plan("alltoall", "torus:4x4x4", messages=1))
    assert min(each.pace for each in periods(ways, model("one-port"))) == 192
