"""
Tree: TRANSMISSION-CERTIFICATE
==============================

Tokens go down, certificates come up, orders go down, and then the data comes.
"""

import treecast

schedule = treecast.plan("gatherv", "tree:2,2", lengths=[0, 3, 2, 4, 0, 1, 5])
treecast.draw(schedule, "tree-certificates.svg", kind="space-time")
