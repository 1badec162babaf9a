"""
De Bruijn network: arcs that lead one way
=========================================

A broadcast down one tree.
"""

import treecast

schedule = treecast.plan("broadcast", "debruijn:2,4", messages=6)
treecast.draw(schedule, "de-bruijn.svg", kind="trees")
