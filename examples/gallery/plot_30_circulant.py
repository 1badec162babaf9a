"""
Circulant network
=================

Each node is joined with those 1 and 3 places on.
"""

import treecast

schedule = treecast.plan("broadcast", "circulant:10,1,3", messages=9, survive=2)
treecast.draw(schedule, "circulant.svg", kind="trees")
