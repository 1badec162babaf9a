"""
Torus for a dark slide
======================

Two trees on the torus, light on dark, in the shape of a slide.
"""

import treecast

schedule = treecast.plan("broadcast", "torus:4x4", messages=8, survive=1)
treecast.draw(schedule, "torus-dark.svg", kind="network", look=treecast.Look(dark=True, size=(13.3, 7.5)))
