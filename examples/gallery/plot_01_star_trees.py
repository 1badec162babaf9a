"""
Star network: three disjoint trees
==================================

The trees of S_4 share no arc. A node receives every message over three ways that share no other node.
"""

import treecast

schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
treecast.draw(schedule, "star-trees.svg", kind="trees")
