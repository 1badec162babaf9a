"""
Hypercube: alltoall
===================

What node 0 has for each of the others, on its way.
"""

import treecast

schedule = treecast.plan("alltoall", "hypercube:4")
treecast.draw(schedule, "hypercube-alltoall.svg", kind="space-time")
