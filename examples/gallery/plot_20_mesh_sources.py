"""
Mesh: total distance by root
============================

How far all messages of a broadcast go together, from each node of the mesh. The eyes of Cang & Wu are marked.
"""

import treecast

mesh = treecast.network("mesh:8x8")
treecast.draw(mesh, "mesh-sources.svg", kind="sources")
