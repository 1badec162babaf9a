"""Gossip with a bit per source: held against simulate, and against plain loops."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.test_bit_replay import BUILDERS, MODELS, agree, planned
from tests.strategies import examples
from treecast.networks import network
from treecast.simulation.faults import Faults, random_faults

pytestmark = pytest.mark.each(2)


@st.composite
def faults_of(draw, d, last, most):
    """Nodes, links and arcs, each at some step."""
    nodes, arcs = {}, {}
    for _ in range(draw(st.integers(0, most))):
        step = draw(st.sampled_from([0, 0, *range(1, last + 2)]))
        v, port = draw(st.integers(0, (1 << d) - 1)), draw(st.integers(0, max(d - 1, 0)))
        which = draw(st.sampled_from(["node", "link", "arc"])) if d else "node"
        if which == "node":
            nodes[v] = step
        else:
            arcs[v, port] = step
            if which == "link":
                arcs[v ^ (1 << port), port] = step
    return Faults(nodes, arcs)


@st.composite
def cases(draw, most_d=5):
    d = draw(st.integers(0, most_d))
    k = draw(st.integers(0, max(d - 1, 0)))
    model, builder = draw(st.sampled_from(MODELS)), draw(st.sampled_from(BUILDERS))
    free = builder == "dimension-order" and draw(st.booleans())
    schedule = planned(d, model, builder, k, draw(st.sampled_from([1, 1, 1, 3])), free)
    return schedule, draw(faults_of(d, schedule.steps, 2 * d + 1))


@given(cases())
@examples(200)
def test_a_bit_per_source_is_simulate_under_any_faults(case):
    agree(*case)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("sizes", [range(5), pytest.param([5, 6], marks=pytest.mark.long)], ids=["to 4", "5, 6"])
def test_all_dimensions_and_numbers_of_copies(builder, model, sizes):
    for d in sizes:
        for k in range(max(d, 1)):
            schedule = planned(d, model, builder, k)
            agree(schedule, Faults())
            for seed in range(2):
                faults = random_faults(network(f"hypercube:{d}"), min(k, (1 << d) - 1), seed)
                found = agree(schedule, faults)
                assert not found.missing.any()
                later = {v: (7 * v + seed) % (schedule.steps + 1) for v in faults.nodes}
                arcs = {(v ^ 1, d - 1): step for v, step in later.items()}
                agree(schedule, Faults(later, arcs))


PORTS = """
import numpy as np
from tests.simulation.test_bit_replay import PLANNED, with_rows
from treecast.errors import TreecastError
from treecast.simulation.bit_replay import gossip
for port in (-1, 3, 30):
    try:
        gossip(with_rows(PLANNED, port=np.where(PLANNED.rows.port == 2, port, PLANNED.rows.port)))
    except TreecastError as error:
        print(len(str(error).splitlines()))
"""


def test_ports_that_are_none_are_refused():
    """In a process of its own: compiled code that is let at them writes beside its arrays."""
    done = subprocess.run([sys.executable, "-c", PORTS], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["1"] * 3)
