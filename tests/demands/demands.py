"""Demands by chance, and the fewest steps of tiny ones by exhaustive search."""

import numpy as np

from treecast.networks import network

NETWORKS = ("ring:8", "mesh:3x4", "hypercube:3", "torus:4x4", "star:4", "fat-tree:4", "petersen", "complete:8")
MACHINES = (
    "all-port", "all-port,half", "one-port", "one-port,partner", "one-port,half", "whispering", "one-port,combining",
    "one-port,combining,half", "shouting", "shouting,half",
)  # fmt: skip
FAMILIES = ("copies", "sums for one", "all")


def by_chance(ranks, family, seed, most=None):
    """Rows of a demand: 2 … R classes of 1 … 4 chunks, 1 … 3 holders or 2 … 5 contributions, 1 … R wanters."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(int(rng.integers(2, (most or ranks) + 1))):
        wants = rng.choice(ranks, int(rng.integers(1, ranks + 1)), replace=False).tolist()
        if family == "copies" or (family == "all" and rng.random() < 0.5):
            held = rng.choice(ranks, int(rng.integers(1, min(3, ranks) + 1)), replace=False).tolist()
        else:
            givers = rng.choice(ranks, int(rng.integers(2, min(5, ranks) + 1)), replace=False).tolist()
            held = [each for v in givers for each in (v, "+")][:-1]
            wants = wants[:1] if family == "sums for one" else wants
        rows.append((held, wants, int(rng.integers(1, 3 if most else 5))))
    return rows


def rules(spec, machine):
    """Whether a set of sends (arc, chunk) may take place in a step, and the arcs: for machines whose messages do not combine."""
    graph = network(spec).to_networkx()
    index = {v: i for i, v in enumerate(graph)}
    arcs = [(index[u], index[v]) for u, v in graph.to_directed().edges]
    one, half = machine.startswith("one-port"), machine.endswith("half")

    def allowed(used):
        if len(set(used)) < len(used):
            return False
        if half and any((v, u) in used for u, v in used):
            return False
        if one:
            senders, receivers = [u for u, _ in used], [v for _, v in used]
            if len(set(senders)) < len(senders) or len(set(receivers)) < len(receivers):
                return False
            return not (half and set(senders) & set(receivers))
        return True

    return arcs, allowed


def fewest_steps(spec, machine, rows, limit=6):
    """The fewest steps in which copies get to whoever wants them, by search over all that nodes can hold; None beyond a limit."""
    arcs, allowed = rules(spec, machine)
    chunks = [
        (set(held if isinstance(held, list) else [held]), set(wants)) for held, wants, size in rows for _ in range(size)
    ]
    start = frozenset((v, c) for c, (held, _) in enumerate(chunks) for v in held)
    goal = {(v, c) for c, (_, wants) in enumerate(chunks) for v in wants}
    seen, states = {start}, [start]
    for step in range(limit + 1):
        if any(goal <= state for state in states):
            return step
        after = set()
        for state in states:
            options = [
                (arc, c)
                for arc in arcs
                for c in range(len(chunks))
                if (arc[0], c) in state and (arc[1], c) not in state
            ]
            for sends in maximal(options, allowed):
                after.add(state | {(arc[1], c) for arc, c in sends})
        states = [state for state in after if state not in seen]
        seen.update(states)
        if len(seen) > 20_000:
            return None
    return None


def maximal(options, allowed):
    """The sets of sends of one step to which nothing can be added."""
    found, open_ = [], [((), 0)]
    while open_:
        chosen, at = open_.pop()
        if at == len(options):
            used = [arc for arc, _ in chosen]
            heard = {(arc[1], c) for arc, c in chosen}
            if not any(allowed([*used, arc]) and (arc[1], c) not in heard for arc, c in options):
                found.append(chosen)
            continue
        open_.append((chosen, at + 1))
        arc, c = options[at]
        if allowed([*(a for a, _ in chosen), arc]) and all((a[1], k) != (arc[1], c) for a, k in chosen):
            open_.append(((*chosen, options[at]), at + 1))
    return found
