"""
Star network: allgather
=======================

The part of node 0: what it sends on of its own data, and where that goes. All others do the same, translated.
"""

import treecast

schedule = treecast.plan("allgather", "star:4", messages=3)
treecast.draw(schedule, "star-allgather.svg", kind="trees")
