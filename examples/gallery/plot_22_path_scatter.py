"""
Path: farthest first, without buffers
=====================================

Messages of 2, 3, 1, 0 and 4 flits. A message is a band; its first and last flits are cut off.
"""

import treecast

schedule = treecast.plan("scatterv", "path:6", lengths=[0, 2, 3, 1, 0, 4])
treecast.draw(schedule, "path-scatter.svg", kind="space-time")
