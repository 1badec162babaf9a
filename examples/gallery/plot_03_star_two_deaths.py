"""
Star network: two nodes die
===========================

Nodes 2134 and 4231 die in mid-transfer. Every living node gets everything.
"""

import treecast

schedule = treecast.plan("broadcast", "star:4", messages=12, survive=2)
treecast.draw(schedule, "star-two-deaths.svg", kind="space-time", faults=["2134@3", "4231@7"])
