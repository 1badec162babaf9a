""""""

from treecast.networks import Star
from treecast.plans.ways.trees import star as star_trees
from treecast.schedule.trees import find_meeting_ways, find_shared_arc


def test_the_trees_of_s_10():
    star = Star(10)
    trees = star_trees.disjoint_trees(star)
    assert trees.height == 15 == star.diameter + 2
    assert find_shared_arc(trees) is None
    assert find_meeting_ways(trees) is None
