"""
Star network: scatter
=====================

A message of its own for every node, farthest first.
"""

import treecast

schedule = treecast.plan("scatter", "star:4", messages=3)
treecast.draw(schedule, "star-scatter.svg", kind="space-time")
