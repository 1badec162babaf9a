"""
Torus: a tree for each port
===========================

Four trees on the torus, whose ways share no node.
"""

import treecast

schedule = treecast.plan("broadcast", "torus:4x4", messages=8, survive=3)
treecast.draw(schedule, "torus-trees.svg", kind="trees")
