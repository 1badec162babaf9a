"""
Mesh: a wormhole broadcast
==========================

Who sends to whom in each step. No two messages of a step share a channel.
"""

import treecast

schedule = treecast.plan("broadcast", "mesh:8x8", root="2,3", model="wormhole")
treecast.draw(schedule, "mesh-wormhole.svg", kind="steps")
