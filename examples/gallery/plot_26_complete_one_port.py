"""
One card a host: copies
=======================

Twelve hosts behind a switch, each with one port. Every chunk comes twice.
"""

import treecast

schedule = treecast.plan("broadcast", "complete:12", messages=6, model="one-port", survive=1)
treecast.draw(schedule, "complete-one-port.svg", kind="space-time")
