"""
Star network: one copy, and a death
===================================

With one copy, the node that dies takes down all below it in its tree.
"""

import treecast

schedule = treecast.plan("broadcast", "star:4", messages=12)
treecast.draw(schedule, "star-one-copy.svg", kind="space-time", faults=["2134@3"])
