"""Demands that people have: ``treecast.collectives.demands``, by its public name."""

from treecast.collectives.demands import *  # noqa: F403
from treecast.collectives.demands import __all__ as __all__
