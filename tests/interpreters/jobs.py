"""The schedules that every format is tried on: all collectives that can be planned, on small networks of many kinds."""

from functools import cache
from pathlib import Path

import pytest

from treecast.collectives import COLLECTIVES
from treecast.networks import network
from treecast.plans import builders, plan

SPECS = ("star:4", "hypercube:3", "torus:3x3", "mesh:3x4", "tree:2,2")
CUT = "hypercube:3 without links 0b000-0b001 nodes 0b110"
WIRED = f"file:{Path(__file__).with_name('wired.graphml')}"
"""Four nodes and two switches, with parallel cables and a link that leads one way."""
NAMES = dict.fromkeys(SPECS) | {CUT: "cut", WIRED: "wired"}
JOBS = [
    pytest.param(kind, spec, id=f"{kind}-{NAMES[spec] or spec}")
    for spec in NAMES
    for kind, traits in COLLECTIVES.items()
    if not traits.targets
    and builders(kind, network(spec))
    and (not (traits.lengths and traits.personal) or spec.startswith("tree"))
    if spec != WIRED
    or kind in ("broadcast", "scatter", "reduce", "reduce-broadcast")  # a gather takes longer there, as Chakra has it
]


def chunks_of_ranks(schedule):
    """Return how many chunks somebody holds before the first step: relays have none."""
    return len({chunk for _, first, stop in schedule.collective.given() for chunk in range(first, stop)})


@cache
def planned(kind, spec):
    """Return the schedule of a job: two messages, or two flits for each node under the bufferless model, or 0 to 3 of each."""
    traits = COLLECTIVES[kind]
    if traits.blocks == "class":
        return plan([(0, [1, 3], 2), ([1, 2], [0, 3], 2)], spec)
    if traits.lengths and traits.personal:
        return plan(kind, spec, lengths=2, model="bufferless" if traits.one_way else None)
    if traits.lengths:
        return plan(kind, spec, lengths=[3 * v % 4 for v in range(network(spec).nodes)])
    return plan(kind, spec, messages=2)
