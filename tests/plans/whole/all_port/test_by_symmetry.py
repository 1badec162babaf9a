"""Plans by symmetry: written out for all ranks they are right, by both verifiers, and they meet their bounds on fat trees."""

import pytest

import treecast
from treecast.errors import PlanError

BUILDERS = {
    "alltoall": "orbits",
    "allgather": "orbits",
    "reduce-scatter": "orbits",
    "allreduce": "orbits",
}
SMALL = [
    "fat-tree:2",
    "fat-tree:4",
    "leaf-spine:3,2,2",
    "leaf-spine:3,2,4",
    "leaf-spine:4,2,8",
    "leaf-spine:2,3,2",
    "dragonfly:2,1",
    "dragonfly:2,1,2",
    "dragonfly:4,2",
    "dragonfly:3,1,1",
]


@pytest.mark.parametrize("spec", [*SMALL, pytest.param("fat-tree:8", marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", BUILDERS)
@pytest.mark.parametrize("messages", [1, 3])
def test_what_is_carried_to_all_ranks_is_right(spec, kind, messages):
    orbit = treecast.plan(kind, treecast.network(spec).adding(), messages=messages, builder=BUILDERS[kind])
    every, report = orbit.plain(), treecast.verify(orbit)
    assert report.holds
    known_by_another_name = spec == "dragonfly:2,1"
    assert report.method == ("by streams" if known_by_another_name else "by symmetry")
    assert treecast.verify(every).holds
    assert treecast.verify(orbit, method="expanded").holds
    assert (every.steps, every.transmissions) == (orbit.steps, orbit.transmissions)
    assert treecast.simulate(every).delivered == orbit.network.rank_count


@pytest.mark.parametrize("spec", SMALL)
@pytest.mark.parametrize("kind", BUILDERS)
def test_the_rows_of_a_node_are_those_of_all_rows(spec, kind):
    orbit = treecast.plan(kind, treecast.network(spec).adding(), builder=BUILDERS[kind])
    every = orbit.plain()
    for node in {0, orbit.network.nodes // 2, orbit.network.nodes - 1}:
        mine, other = (set(iter(schedule.at(node))) for schedule in (orbit, every))
        assert mine == other


@pytest.mark.parametrize(("kind", "steps"), [("alltoall", 132), ("allgather", 128), ("reduce-scatter", 128)])
def test_fat_trees_take_the_fewest_steps(kind, steps):
    report = treecast.verify(treecast.plan(kind, treecast.network("fat-tree:8").adding()))
    assert report.steps == steps == max(bound.value for bound in report.bounds if bound.of == "steps")


def test_a_network_without_a_symmetry_is_refused():
    broken = treecast.network("fat-tree:4").without(nodes=["core-0.0"])
    assert broken.symmetry is None
    with pytest.raises(PlanError, match="orbits"):
        treecast.plan("alltoall", broken, builder="orbits")
