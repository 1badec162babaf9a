"""
The Petersen graph
==================

Trees packed until their ways share no node.
"""

import treecast

schedule = treecast.plan("broadcast", "petersen", messages=9, survive=2)
treecast.draw(schedule, "petersen.svg", kind="trees")
