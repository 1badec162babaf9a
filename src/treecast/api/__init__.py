"""The public functions: those of the rooms inside, which also take spellings, files and labels.

The command line calls these as well, so that both can do the same.
"""

from treecast.api.others import advise, deadlock, diff, export, judge, paths
from treecast.api.schedules import bounds, elect, run, simulate, sweep, verify
from treecast.collectives import Demand

demand = Demand.of

__all__ = [
    "advise",
    "bounds",
    "deadlock",
    "diff",
    "elect",
    "export",
    "judge",
    "paths",
    "run",
    "simulate",
    "sweep",
    "verify",
]
