"""Gossip with a bit per source: held against simulate, and against plain loops."""

import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import replay_sparing
from tests.strategies import examples
from treecast.errors import TreecastError
from treecast.networks import network
from treecast.plans import plan
from treecast.progress import reporting
from treecast.schedule import Payloads, Rows
from treecast.simulation.bit_replay import gossip
from treecast.simulation.faults import Faults, random_faults
from treecast.simulation.replay import simulate
from treecast.steps import NEVER

pytestmark = pytest.mark.each(2)

MODELS = ("whispering", "shouting")
BUILDERS = ("dimension-order", "fraigniaud")


@cache
def planned(d, model, builder, k, messages=1, fault_free=False):
    more = {"fault_free": True} if fault_free else {}
    return plan("allgather", f"hypercube:{d}", model=model, builder=builder, survive=k, messages=messages, **more)


def missing_of(trace):
    """How many sources, alive to the end, each node lacks that is alive to the end."""
    collective, living = trace.schedule.collective, trace.living
    lacking = trace.arrival == NEVER
    source = collective.source_of(trace.atoms.bounds[:-1])
    return [
        len({int(s) for s in source[lacking[:, v]] if living[s]}) if living[v] else 0 for v in range(collective.nodes)
    ]


def agree(schedule, faults):
    """Hold the two replays against each other; return the gossip."""
    found, trace = gossip(schedule, faults), simulate(schedule, faults)
    missing = missing_of(trace)
    assert found.missing.tolist() == missing
    assert (found.transmissions, found.lost_sends) == (trace.transmissions, trace.lost_sends)
    assert found.steps == trace.steps
    assert found.sizes[: trace.steps].tolist() == trace.message_sizes.tolist()
    assert not found.sizes[trace.steps :].any()
    living = [v for v in range(schedule.network.nodes) if v not in faults.nodes]
    assert found.delivered == sum(missing[v] == 0 for v in living)
    if not any(faults.nodes.values()):
        assert found.delivered == trace.delivered
    return found


@pytest.mark.parametrize("model", MODELS)
def test_it_is_the_plain_replay(model):
    for d in range(1, 5):
        schedule = planned(d, model, "dimension-order", d - 1)
        for seed in range(3):
            random = np.random.default_rng([d, seed])
            nodes = {int(v): int(random.integers(schedule.steps)) for v in random.integers(1 << d, size=2)}
            arcs = {(int(v), int(v) % d): int(random.integers(schedule.steps)) for v in random.integers(1 << d, size=3)}
            arrival, made = replay_sparing(schedule, nodes, arcs)
            found = gossip(schedule, Faults(nodes, arcs))
            living = [v for v in range(1 << d) if v not in nodes]
            assert found.transmissions == len(made)
            assert [int(found.missing[v]) for v in living] == [
                sum((v, c) not in arrival for c in living) for v in living
            ]


@pytest.mark.parametrize("stretch", ["step * 2", "step + 3", "0", "step // 2"])
def test_other_orbits_with_steps_left_out_or_together(stretch):
    """Rows at other steps, so that what a node is to send is not always there."""
    for model in MODELS:
        for builder in BUILDERS:
            base = planned(3, model, builder, 2)
            columns = base.rows.columns()
            step = columns["step"]
            moved = {"step * 2": step * 2, "step + 3": step + 3, "0": step * 0, "step // 2": step // 2}[stretch]
            where = np.unique(np.stack([moved, columns["src"], columns["dst"]]), axis=1, return_index=True)[1]
            rows = {name: column[where] for name, column in (columns | {"step": moved}).items()}
            schedule = replace(base, rows=Rows.of(base.rows.payloads, **rows), claims=None)
            for faults in (Faults(), Faults({3: 1, 6: 0}, {(1, 2): 2})):
                agree(schedule, faults)


def test_progress_is_told():
    told = []
    schedule = planned(4, "whispering", "dimension-order", 2)
    with reporting(lambda *report: told.append(report)):
        gossip(schedule)
    assert told == [(i + 1, schedule.steps, "steps") for i in range(schedule.steps)]


def with_rows(schedule, payloads=None, **columns):
    rows = Rows.of(payloads or schedule.rows.payloads, **(schedule.rows.columns() | columns))
    return replace(schedule, rows=rows, claims=None)


def test_rows_said_twice():
    """The same message twice over an arc in a step: counted as by simulate, or refused."""
    schedule = planned(3, "whispering", "dimension-order", 2)
    twice = {name: np.concatenate([column, column[:3]]) for name, column in schedule.rows.columns().items()}
    try:
        gossip(with_rows(schedule, **twice))
    except TreecastError:
        return
    agree(with_rows(schedule, **twice), Faults())


PLANNED = planned(3, "whispering", "dimension-order", 2)
REFUSED = {
    "a star": lambda: plan("allgather", "star:4"),
    "a broadcast": lambda: plan("broadcast", "hypercube:4", model="whispering"),
    "no orbit": PLANNED.plain,
    "four phases": lambda: plan("allgather", "hypercube:4", model="whispering", initiator=3),
    "streams": lambda: plan("allgather", "hypercube:4", messages=4),
    "an alltoall": lambda: plan("alltoall", "hypercube:3"),
    "too large": lambda: plan("allgather", "hypercube:18", model="whispering"),
    "half of the messages": lambda: with_rows(
        planned(3, "whispering", "dimension-order", 2, 2), Payloads.of([[(0, 1)]])
    ),
    "no arc": lambda: with_rows(PLANNED, dst=PLANNED.rows.dst ^ 3),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_it_cannot_do_is_refused_in_one_line(what):
    schedule = REFUSED[what]()
    with pytest.raises(TreecastError, match=r"^[^\n]+$"):
        gossip(schedule)


@pytest.mark.parametrize("faults", [Faults({99: 0}), Faults({1: -1}), Faults({}, {(1, 9): 0}), Faults({-1: 0})])
def test_faults_that_cannot_be_are_refused(faults):
    with pytest.raises(TreecastError, match=r"^[^\n]+$"):
        gossip(planned(3, "whispering", "dimension-order", 2), faults)


def test_everybody_dead():
    for step in (0, 1, 2):
        schedule = planned(3, "whispering", "dimension-order", 2)
        found = agree(schedule, Faults(dict.fromkeys(range(8), step)))
        assert (found.delivered, int(found.missing.sum())) == (0, 0)
        assert found.steps == step


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


@pytest.mark.slow
@given(cases())
@examples(200)
def test_a_bit_per_source_is_simulate_under_any_faults(case):
    agree(*case)


@pytest.mark.slow
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


@pytest.mark.slow
def test_ports_that_are_none_are_refused():
    """In a process of its own: compiled code that is let at them writes beside its arrays."""
    done = subprocess.run([sys.executable, "-c", PORTS], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["1"] * 3)


LARGE = """
import sys
import numpy as np
from treecast.simulation.faults import Faults, random_faults
from treecast.simulation.bit_replay import gossip
from treecast.networks import network
from treecast.plans import plan
cube = network("hypercube:12")
for model in ("whispering", "shouting"):
    schedule = plan("allgather", cube, model=model, survive=11)
    for seed in (1, 2):
        dead = list(random_faults(cube, 11, seed).nodes)
        for steps in ([0] * 11, list(range(0, 22, 2))):
            found = gossip(schedule, Faults(dict(zip(dead, steps))))
            assert found.delivered == 4096 - 11 and not found.missing.any()
    arcs = {(v * 331 % 4096, v): 0 for v in range(11)}
    found = gossip(schedule, Faults({}, arcs))
    assert found.delivered == 4096
    assert found.transmissions <= schedule.transmissions * 2
from tests.memory import peak_kib
print(peak_kib())
"""


@pytest.mark.long
def test_twelve_dimensions_under_eleven_faults():
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) * 1024 < 2**30
