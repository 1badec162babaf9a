"""
Mesh: multicast
===============

Three targets in two steps.
"""

import treecast

schedule = treecast.plan("multicast", "mesh:8x8", root="0,0", targets=["7,7", "3,4", "5,1"], model="wormhole")
treecast.draw(schedule, "mesh-multicast.svg")
