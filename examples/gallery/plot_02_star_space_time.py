"""
Star network: a broadcast, step by step
=======================================

A row for each node, a column for each step. What arrives, and over which tree.
"""

import treecast

schedule = treecast.plan("broadcast", "star:4", messages=12, survive=2)
treecast.draw(schedule, "star-space-time.svg", kind="space-time")
