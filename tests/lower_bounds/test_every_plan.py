"""No plan beats its bounds: every builder, on small members of every family, under each of its machines."""

from itertools import product
from zlib import crc32

import networkx as nx
import numpy as np
import pytest

from treecast.collectives import COLLECTIVES
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds, schedule_bounds
from treecast.models import model
from treecast.networks import families, network
from treecast.plans import builders, plan

SERVED = ("all-port", "one-port", "all-port,half", "one-port,half", "one-port,partner", "whispering", "shouting")


def machines_of(builder, kind, where, few):
    """The machines that a builder is for; where it is for any, also these: each on the smallest networks, else one by turns."""
    turn = crc32(f"{builder.name} {kind} {where.spec}".encode()) % len(SERVED)
    served = SERVED[turn : turn + 1] if few or where.nodes > 5 else SERVED
    return list(dict.fromkeys([*builder.models, *(served if builder.any_model else ())]))


def jobs(kind, where, few):
    """What is asked for besides the collective and the network: arguments of ``plan``, one after the other."""
    random = np.random.default_rng(where.nodes)
    for builder in builders(kind, where):
        most = max(1, builder.most_copies(where))
        copies = range(1, most + 1) if not few else sorted({1, 2, most} & set(range(1, most + 1)))
        flags = [{}, *({option.keyword: True} for option in builder.options if option.flag)]
        named = [{option.keyword: choice} for option in builder.options for choice in option.choices[1:]]
        roots = (0,) if COLLECTIVES[kind].all_source else (0, where.nodes - 1)
        machines = machines_of(builder, kind, where, few)
        for under, x, messages, options in product(machines, copies, (1, 2, 5), [*flags, *named]):
            if few and (
                messages > 2 or ((options or messages > 1) and (under != machines[0] or (messages > 1 and options)))
            ):
                continue
            for root in roots[: 1 if few and messages > 1 else 2]:
                asked = {"root": root, "messages": messages, "copies": x, **options}
                if COLLECTIVES[kind].lengths:
                    lengths = random.integers(0, 5, where.nodes)
                    lengths[root] = 0
                    asked |= {"messages": 1, "lengths": lengths.tolist()}
                if COLLECTIVES[kind].targets:
                    picked = random.choice(where.nodes, min(where.nodes, 2 + messages), replace=False)
                    asked |= {"targets": [int(v) for v in picked if v != root]}
                yield asked | {"builder": builder.name, "model": under}


def check(kind, where, few=False):
    """Hold every plan against the bounds of the job and those of the schedule; return how many plans there were."""
    count = 0
    for asked in jobs(kind, where, few):
        try:
            schedule = plan(kind, where, **asked)
        except PlanError:  # not this root, not these lengths
            continue
        count += 1
        distance = int(where.distance(schedule.rows.src, schedule.rows.dst) @ schedule.rows.steps)
        of_job = bounds(schedule.collective, where, schedule.copies, model(asked["model"]))
        for found in (of_job, schedule_bounds(schedule)):
            steps, sends = best(found, "steps").value, best(found, "transmissions").value
            assert schedule.steps >= steps, (where.spec, kind, asked, found)
            assert schedule.transmissions >= sends, (where.spec, kind, asked, found)
            if model(asked["model"]).routing and schedule.steps == steps:
                assert distance >= best(found, "tcd").value, (where.spec, kind, asked, found)
            assert all(b.formula and b.source and isinstance(b.value, int) for b in found)
    return count


FEW = [
    "star:3", "hypercube:3", "complete:4", "torus:3x3", "mesh:2x3", "path:5", "tree:2,2", "debruijn:2,2", "circulant:7,1,2",
    "hyperx:2x3",
]  # fmt: skip
RARE = ("kautz", "ring", "petersen", "slim-fly", "dragonfly", "random-regular", "fat-tree", "leaf-spine")


@pytest.mark.slow
@pytest.mark.each(7)
@pytest.mark.parametrize("spec", FEW)
def test_no_plan_beats_its_bounds(spec):
    where = network(spec)
    assert sum(check(kind, where, few=True) for kind in COLLECTIVES) > 10


MANY = [
    *(f"star:{n}" for n in (2, 3, 4)), *(f"hypercube:{d}" for d in range(7)), *(f"complete:{n}" for n in (1, 2, 3, 5, 8, 13)),
    *(f"{family}:{n}" for family in ("path", "ring") for n in (1, 2, 3, 4, 7, 8, 9, 12, 16, 17, 21, 32, 33)),
    *(f"{family}:{sides}" for family in ("mesh", "torus") for sides in ("2x2", "2x5", "3x3", "3x4", "1x7", "3x6", "4x4", "5x5",
      "4x6", "7x5", "6x6", "8x8", "2x2x3", "3x3x3", "2x3x4", "4x4x4", "2x2x2x2")),
    *(f"tree:{a},{d}" for a, d in ((1, 5), (2, 3), (3, 2), (3, 3), (5, 1))),
    *(f"debruijn:{d},{k}" for d, k in ((2, 3), (3, 2), (2, 5))), *(f"kautz:{d},{k}" for d, k in ((2, 2), (3, 2), (2, 4))),
    *(f"circulant:{n},{steps}" for n, steps in ((8, "1,4"), (16, "1,5"), (21, "3,7,1"))), "hyperx:3x4", "hyperx:3x3x3",
    "petersen", "slim-fly:3", "slim-fly:4", "dragonfly:2,2", "dragonfly:3,1", "random-regular:12,3,1", "fat-tree:2",
    "leaf-spine:2,1,2",
]  # fmt: skip


def test_every_family_is_among_them():
    for specs in (FEW, MANY):
        assert {network(spec).family for spec in specs} >= {
            entry.name for entry in families().values() if entry.nodes and (specs is MANY or entry.name not in RARE)
        }


@pytest.mark.long
@pytest.mark.parametrize("spec", MANY)
def test_no_plan_on_more_networks_beats_its_bounds(spec):
    where = network(spec)
    assert sum(check(kind, where, few=where.nodes > 40) for kind in COLLECTIVES) > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_no_plan_on_a_random_graph_beats_its_bounds(seed):
    where = network(nx.connected_watts_strogatz_graph(8 + 3 * seed, 4, 0.5, seed=seed))
    assert sum(check(kind, where) for kind in COLLECTIVES) > 10
