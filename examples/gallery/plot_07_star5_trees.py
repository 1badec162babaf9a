"""
Star network of 120 nodes
=========================

Four disjoint trees of S_5.
"""

import treecast

schedule = treecast.plan("broadcast", "star:5", messages=8, survive=3)
treecast.draw(schedule, "star5-trees.svg", kind="trees")
