"""
Hypercube: disjoint trees
=========================

As many trees as dimensions, rotations of one another.
"""

import treecast

schedule = treecast.plan("broadcast", "hypercube:4", messages=8, survive=3)
treecast.draw(schedule, "hypercube-trees.svg", kind="trees")
