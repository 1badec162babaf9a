"""
Star network: trees laid over it
================================

The substars of S_4 with three trees that share no arc; a dead node cuts one way to each node at most.
"""

import treecast

schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
treecast.draw(schedule, "star-network.svg", faults=["2134@3"], kind="network")
