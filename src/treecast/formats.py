"""Files of schedules: ``treecast.files.formats``, by its public name."""

from treecast.files.formats import *  # noqa: F403
from treecast.files.formats import __all__ as __all__
