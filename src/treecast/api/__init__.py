"""What people call: the same functions as inside, which take spellings, files and labels as well as objects.

The command line calls these as well, so that neither can do what the other cannot.
"""

from treecast.api.comparisons import advise, diff, paths
from treecast.api.others import export, judge
from treecast.api.schedules import bounds, elect, run, simulate, sweep, verify

__all__ = ["advise", "bounds", "diff", "elect", "export", "judge", "paths", "run", "simulate", "sweep", "verify"]
