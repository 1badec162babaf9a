"""The schedules that every format is tried on: all collectives that can be planned, on five small networks."""

from functools import cache

from treecast.collectives import COLLECTIVES
from treecast.networks import network
from treecast.plans import builders, plan

SPECS = ("star:4", "hypercube:3", "torus:3x3", "mesh:3x4", "tree:2,2")
JOBS = [
    (kind, spec)
    for spec in SPECS
    for kind, traits in COLLECTIVES.items()
    if not traits.targets and builders(kind, network(spec)) and (not traits.lengths or spec.startswith("tree"))
]


@cache
def planned(kind, spec):
    """Return the schedule of a job: two messages, or two flits for each node under the bufferless model."""
    if COLLECTIVES[kind].lengths:
        return plan(kind, spec, lengths=2, model="bufferless")
    return plan(kind, spec, messages=2)
