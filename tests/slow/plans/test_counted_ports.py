"""Machines with several ports, and machines on which chunks arrive late: exhaustive search, and all collectives."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import treecast
from tests.oracles.machines import TINY, tiny_optimum
from tests.plans.test_counted_ports import KINDS, MACHINES, checked, machine, postal
from treecast import plan, verify

OF_SUMS = {"complete", "once", "delivered"}  # each verifier tells in words of its own what is wrong with a sum


@pytest.mark.parametrize(("ports", "latency"), list(product((0, 1, 2, 3), (1, 2, 3))))
def test_plans_of_tiny_networks_are_optimal_and_no_bound_is_above(ports, latency):
    for kind, messages, specs in TINY:
        for spec, half in product(specs, (False, True)):
            best = tiny_optimum(kind, messages, spec, ports, latency, half)
            steps, least = checked(plan(kind, spec, messages=messages, model=machine(ports, latency, half)))
            assert least <= best == steps, (kind, messages, spec, half)


@pytest.mark.parametrize("ports", [1, 2, 3])
def test_postal_broadcasts_to_many_take_the_fewest_steps(ports):
    for nodes, latency in product((8, 32, 64), (1, 2, 5, 8)):
        schedule, best = (
            plan("broadcast", f"complete:{nodes}", model=machine(ports, latency)),
            postal(nodes, ports, latency),
        )
        assert (schedule.steps, verify(schedule).ratio) == (best, 1.0)


@pytest.mark.parametrize("own", MACHINES, ids=lambda own: own.spelling)
@pytest.mark.parametrize("kind", KINDS)
def test_every_collective_is_planned(own, kind):
    for spec in ("mesh:2x3", "complete:4"):
        checked(plan(kind, spec, messages=2 - (kind == "allreduce"), model=own))


@pytest.mark.parametrize("own", MACHINES, ids=lambda own: own.spelling)
def test_both_verifiers_refuse_the_same_when_a_row_moves(own):
    chance = np.random.default_rng(1)
    for kind in KINDS:
        schedule = plan(kind, "mesh:2x3", messages=2 - (kind == "allreduce"), model=own)
        for _ in range(12):
            columns = schedule.rows.columns()
            step = columns["step"].astype(np.int64)
            at = int(chance.integers(len(step)))
            step[at] = max(0, step[at] + int(chance.choice([-2, -1, 1, 2])))
            rows = treecast.schedule.Rows.of(schedule.rows.payloads, **columns | {"step": step})
            moved = replace(schedule, rows=rows, claims=None)
            fast, slow = (verify(moved, method=method) for method in ("fast", "expanded"))
            assert fast.holds == slow.holds, (kind, at, step[at])
            broken = [{rule for rule, count in each.counts.items() if count} - OF_SUMS for each in (fast, slow)]
            assert broken[0] == broken[1], (kind, at, step[at])


def test_a_freer_machine_never_takes_more_steps():
    for kind in ("broadcast", "allgather", "alltoall", "reduce"):
        taken = [
            [plan(kind, "mesh:2x3", model=machine(ports, latency)).steps for ports in (1, 2, 3, 0)]
            for latency in (1, 2, 3)
        ]
        assert (np.diff(taken, axis=0) >= 0).all()
        assert (np.diff(taken, axis=1) <= 0).all()
