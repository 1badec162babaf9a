"""
Path: SHOULDER-TAP
==================

A wake-up goes out, and the messages come in right behind each other.
"""

import treecast

schedule = treecast.plan("gatherv", "path:6", lengths=[0, 2, 3, 1, 0, 4], builder="shoulder-tap")
treecast.draw(schedule, "path-shoulder-tap.svg", kind="space-time")
