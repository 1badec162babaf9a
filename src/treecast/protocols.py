"""The behaviour of each node: ``treecast.papers.protocols``, by its public name."""

from treecast.papers.protocols import *  # noqa: F403
from treecast.papers.protocols import __all__ as __all__
