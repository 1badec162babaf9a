"""A step of a mixture of experts by plans: treecast launch --tcp -n 4 -- python examples/moe.py

Each rank has 8 tokens and 4 of 16 experts. A token goes once to each rank that has some of its two experts. There it is
multiplied by the sum of their factors, and what ranks make of it is added where it came from. Each rank looks at its own.
"""

import numpy as np

import treecast
from treecast.demands import combine, dispatch

RANKS, EACH, TOKENS, WIDTH = 4, 4, 32, 64
comm = treecast.connect()
me = comm.rank
chance = np.random.default_rng(0)
routing = np.stack([chance.choice(RANKS * EACH, 2, replace=False) for _ in range(TOKENS)])
factors, source = np.arange(1, RANKS * EACH + 1), np.arange(TOKENS) * RANKS // TOKENS
where = treecast.network(f"complete:{RANKS}")

# the classes of both demands are the tokens that have an expert on another rank, in order
at = [set((chosen // EACH).tolist()) for chosen in routing]
away = [token for token in range(TOKENS) if at[token] != {source[token]}]
there, back = dispatch(routing, RANKS, EACH), combine(routing, RANKS, EACH)
out, home = (treecast.plan(demand, where, model="one-port") for demand in (there, back))
of_out, of_home = ([away[number] for number in demand.ordered(where)[1]] for demand in (there, back))

# 1. dispatch
tokens = {token: np.full(WIDTH, token + 1.0) for token in range(TOKENS) if source[token] == me}
wanted = [of_out[number] for number in out.collective.demand.wanted_by(me)]
places = [np.empty(WIDTH) for _ in wanted]
comm.run(out, [tokens[of_out[number]] for number in out.collective.demand.given_by(me)] or np.zeros(0), places)
here = {**tokens, **dict(zip(wanted, places, strict=True))}

# 2. this rank's experts
made = {
    token: data * factors[[expert for expert in routing[token] if expert // EACH == me]].sum()
    for token, data in here.items()
    if me in at[token]
}

# 3. combine
wanted = [of_home[number] for number in home.collective.demand.wanted_by(me)]
places = [np.empty(WIDTH) for _ in wanted]
comm.run(home, [made[of_home[number]] for number in home.collective.demand.given_by(me)] or np.zeros(0), places)
found = {**made, **dict(zip(wanted, places, strict=True))}

right = all(np.array_equal(found[t], tokens[t] * factors[routing[t]].sum()) for t in tokens)
said = comm.gather(right)
if me == 0:
    print(
        f"{len(away)} of {TOKENS} tokens travel, {out.steps} steps there and {home.steps} back; all are right: {all(said)}"
    )
