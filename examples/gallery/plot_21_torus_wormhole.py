"""
Torus: a wormhole broadcast
===========================

The mesh's broadcast from its best node, moved to the root.
"""

import treecast

schedule = treecast.plan("broadcast", "torus:4x4x4", model="wormhole")
treecast.draw(schedule, "torus-wormhole.svg", kind="steps")
