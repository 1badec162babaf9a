"""
Torus: allgather
================

Every port of every node brings something new in nearly every step.
"""

import treecast

schedule = treecast.plan("allgather", "torus:4x4", messages=4)
treecast.draw(schedule, "torus-allgather.svg", kind="space-time")
