"""
Hypercube: gossip by whispering
===============================

Messages combine, and a node calls one neighbour a step. The data of node 0 is drawn.
"""

import treecast

schedule = treecast.plan("allgather", "hypercube:4", model="whispering", survive=3)
treecast.draw(schedule, "hypercube-gossip.svg", kind="space-time")
