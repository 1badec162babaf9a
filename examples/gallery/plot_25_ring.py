"""
Ring: both ways round
=====================

Two streams, each to all nodes, so that one death does no harm.
"""

import treecast

schedule = treecast.plan("broadcast", "ring:8", messages=4, survive=1)
treecast.draw(schedule, "ring.svg", kind="space-time")
