"""
Mesh: trees by axis
===================

Two trees that share no arc, one for each axis.
"""

import treecast

schedule = treecast.plan("broadcast", "mesh:4x4", messages=8, survive=1)
treecast.draw(schedule, "mesh-trees.svg", kind="trees")
