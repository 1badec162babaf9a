"""Whether a plan meets the bounds is asked of quick proofs first: the answer is that of all bounds together."""

import pytest

from treecast import TreecastError, network
from treecast.collectives import COLLECTIVES, Collective
from treecast.lower_bounds import bounds, is_least, tightest
from treecast.models import model

NETWORKS = (
    "hypercube:3",
    "mesh:3x4",
    "ring:7",
    "star:4",
    "random-regular:12,3,1",
    "dragonfly:2,1",
    "fat-tree:2",
    "tree:2,2",
)


@pytest.mark.each(5)
@pytest.mark.parametrize("machine", ["all-port", "one-port", "shouting"])
@pytest.mark.parametrize("spec", NETWORKS)
def test_it_says_what_all_bounds_say(spec, machine):
    where, machine = network(spec), model(machine)
    asked = 0
    for kind in COLLECTIVES.values():
        for messages in (1, 5):
            try:
                job = Collective.over(where, kind.name, messages, root=0 if kind.all_source else int(where.ranks[0]))
                known = bounds(job, where, 1, machine)
                least, sends = (tightest(known, of).value for of in ("steps", "transmissions"))
            except (TreecastError, ValueError):
                continue  # a kind that needs targets or lengths, or of which nothing is known
            asked += 1
            for steps in range(least, least + 4):  # no schedule takes fewer
                assert is_least(steps, job, where, machine) == (steps == least)
                assert is_least(steps, job, where, machine, transmissions=sends) == (steps == least)
                assert not is_least(steps, job, where, machine, transmissions=sends + 1)
    assert asked >= 8
