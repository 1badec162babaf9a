"""
Hypercube: a broadcast in copies
================================

Two copies of each message, over ways that share no node.
"""

import treecast

schedule = treecast.plan("broadcast", "hypercube:4", messages=8, survive=1)
treecast.draw(schedule, "hypercube-space-time.svg", kind="space-time")
