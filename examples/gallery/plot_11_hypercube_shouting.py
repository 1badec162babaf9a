"""
Hypercube: gossip by shouting
=============================

The same over all links at once.
"""

import treecast

schedule = treecast.plan("allgather", "hypercube:4", model="shouting", survive=3)
treecast.draw(schedule, "hypercube-shouting.svg", kind="space-time")
