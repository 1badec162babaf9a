"""What a plan of a demand is to bring, by plain loops: for ranks over sockets and over MPI."""

import numpy as np

import treecast
from tests.demands.demands import by_chance


def plan_by_chance(where, family, seed, model="all-port"):
    """A plan of a demand by chance."""
    return treecast.plan(by_chance(treecast.network(where).rank_count, family, seed), where, model=model)


def lengths_of(demand, seed):
    """How many entries each class has: any number, also fewer than chunks, and none."""
    return np.random.default_rng(seed).integers(0, 30, len(demand)).tolist()


def data_of(number, rank, length, dtype, adds):
    """The data of a class at a rank, small whole numbers: of a copy the same at all."""
    return np.random.default_rng([number, rank if adds else 99]).integers(1, 4, length).astype(dtype)


def carry(comm, plan, lengths, op, total=np.add, dtype=np.float64, run=None):
    """Carry a plan out; return whether this rank has what it wants. ``total``: what the operation is in numpy."""
    demand, me = plan.collective.demand, comm.rank
    parts = [[part[0] for part in parts] for _, parts, _ in demand.numbered()]
    adds = [len(each) > 1 for each in parts]
    sent = [data_of(k, me, lengths[k], dtype, adds[k]) for k in demand.given_by(me)]
    before = [each.copy() for each in sent]
    received = [np.full(lengths[k], 77, dtype) for k in demand.wanted_by(me)]
    (run or comm.run)(plan, sent if sent or received else np.zeros(0, dtype), received, op)
    right = [
        total.reduce([data_of(k, rank, lengths[k], dtype, adds[k]) for rank in parts[k][: None if adds[k] else 1]])
        for k in demand.wanted_by(me)
    ]
    same = [np.array_equal(*pair) for pair in (*zip(received, right, strict=True), *zip(sent, before, strict=True))]
    return all(same)
