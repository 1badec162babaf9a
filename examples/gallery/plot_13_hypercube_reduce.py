"""
Hypercube: reduce
=================

A broadcast that runs backwards. Each node adds its part to the sum that passes.
"""

import treecast

schedule = treecast.plan("reduce", "hypercube:3", messages=6)
treecast.draw(schedule, "hypercube-reduce.svg", kind="space-time")
