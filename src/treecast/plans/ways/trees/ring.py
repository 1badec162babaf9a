"""The two disjoint trees of a ring: both ways round. They are those of a torus of one axis."""

from dataclasses import replace

from treecast.plans.ways.trees import directions

DISJOINT_TREES = replace(directions.DISJOINT_TREES, family="ring")
