"""The public functions: those of the rooms inside, which also take spellings, files and labels.

The command line calls these as well, so that both can do the same.
"""

from treecast.api.comparisons import advise, diff, paths
from treecast.api.others import export, judge
from treecast.api.schedules import bounds, elect, run, simulate, sweep, verify

__all__ = ["advise", "bounds", "diff", "elect", "export", "judge", "paths", "run", "simulate", "sweep", "verify"]
