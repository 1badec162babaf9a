"""Weights from two trainers to four servers, by one plan: treecast launch --tcp -n 6 -- python examples/weights.py

The trainers, ranks 0 and 1, have half of each matrix. The servers are two replicas of two, and each replica has all. Trainers
send less than from point to point, since servers pass chunks on. Each rank has real numbers, and looks at those that it gets.
"""

import numpy as np

import treecast
from treecast.demands import Tensor, distribute, pieces, shards

BEFORE, AFTER = "tp2", "tp2,dp2"
MODEL = [Tensor("up", (512, 128), tp=0), Tensor("down", (128, 512), tp=1), Tensor("norm", (128,))]
comm = treecast.connect()
me, is_server = comm.rank, comm.rank >= 2

# all ranks make the same plan: chunks of 8 KiB, and a port a rank
plan = treecast.plan(distribute(BEFORE, AFTER, MODEL, chunk=8192), "complete:6", model="one-port")
demand, parts = plan.collective.demand, pieces(BEFORE, AFTER, MODEL)


def numbers(name, shape):
    """The weights of a tensor; a trainer has its part alone."""
    return np.random.default_rng(len(name)).standard_normal(shape).astype(np.float32)


def here(name, box, own):
    """The part of this rank's shard of a tensor that a box of the whole tensor is."""
    return tuple(slice(a.start - b.start, a.stop - b.start) for a, b in zip(box, own[name], strict=True))


mine = shards(AFTER, MODEL, me - 2) if is_server else shards(BEFORE, MODEL, me)
whole = {each.name: numbers(each.name, each.shape) for each in MODEL}
weights = {name: np.zeros_like(whole[name][box]) if is_server else whole[name][box] for name, box in mine.items()}

gives = [
    np.concatenate([weights[name][here(name, box, mine)].ravel() for name, box in parts[number]])
    for number in demand.given_by(me)
]
gets = [
    np.empty(sum(weights[name][here(name, box, mine)].size for name, box in parts[number]), np.float32)
    for number in demand.wanted_by(me)
]
comm.run(plan, gives, gets)
for number, came in zip(demand.wanted_by(me), gets, strict=True):
    for name, box in parts[number]:
        place = weights[name][here(name, box, mine)]
        place[:], came = came[: place.size].reshape(place.shape), came[place.size :]

right = all(np.array_equal(weights[name], whole[name][box]) for name, box in mine.items())
said = comm.gather(right)
if me == 0:
    sent, straight = (
        plan.rows.chunks_sent[plan.rows.src < 2].sum(),
        sum(size * len(to) for size, _, to in demand.classes()),
    )
    print(f"{plan.steps} steps; trainers send {sent} chunks, from point to point {straight}")
    print(f"every rank has the right weights: {all(said)}")
