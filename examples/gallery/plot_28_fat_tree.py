"""
Fat tree: switches are relays
=============================

Hosts want the data, switches forward it.
"""

import treecast

schedule = treecast.plan("broadcast", "fat-tree:4", messages=6)
treecast.draw(schedule, "fat-tree.svg", kind="trees")
