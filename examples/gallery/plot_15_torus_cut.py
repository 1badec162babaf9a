"""
Torus: a link is cut
====================

The link is cut at step 2, and the copies over other trees come all the same.
"""

import treecast

schedule = treecast.plan("broadcast", "torus:4x4", messages=8, survive=1)
treecast.draw(schedule, "torus-cut.svg", kind="space-time", faults=["0,0-0,1@2"])
