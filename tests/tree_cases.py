"""Trees of any shape, lengths, and every way in which messages are scattered and gathered on them."""

from dataclasses import replace
from itertools import combinations, product

import networkx as nx
from hypothesis import strategies as st

from treecast import plan
from treecast.networks.wired import graph_from
from treecast.schedule import COLUMNS, Payloads, Rows

MODELS = ("bufferless", "bufferless-multiport")
WAYS = [
    *(("scatterv", model, {"builder": "farthest-first"}) for model in MODELS),
    *(("gatherv", model, {"collect": collect}) for model, collect in product(MODELS, ("slots", "walk"))),
    *(("gatherv", model, {"builder": "nearest-first"}) for model in MODELS),
]
TOLD = [way for way in WAYS if way[2].get("builder") != "nearest-first"]
ON_PATHS = [("gatherv", model, {"builder": "shoulder-tap"}) for model in MODELS]


def network_of(parents):
    """The network of a tree given by the parent of each node but node 0."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(parents) + 1))
    graph.add_edges_from((above, v) for v, above in enumerate(parents, 1))
    return graph_from(graph)


def random_case(rng, most=40, longest=9):
    """A random tree with its root and lengths: from nearly a path to nearly a star, with few null messages or many."""
    n = int(rng.integers(1, most + 1))
    reach = int(rng.integers(1, n + 1))
    parents = [int(rng.integers(max(0, v - reach), v)) for v in range(1, n)]
    flits = rng.integers(0, longest + 1, n) * (rng.random(n) < rng.choice([0.2, 0.6, 1.0]))
    return parents, int(rng.integers(n)), flits.tolist()


@st.composite
def cases(draw, most=40, longest=9):
    """The same, so that it can be made smaller."""
    n = draw(st.integers(1, most))
    parents = [draw(st.integers(0, v - 1)) for v in range(1, n)]
    lengths = draw(st.lists(st.one_of(st.just(0), st.integers(0, longest)), min_size=n, max_size=n))
    return parents, draw(st.integers(0, n - 1)), lengths


def schedules(case, ways=WAYS):
    """Every schedule of a case, and on a path from its end those by shoulder-tap."""
    parents, root, lengths = case
    where = network_of(parents)
    for kind, model, options in ways:
        yield plan(kind, where, root=root, lengths=lengths, model=model, **options)


def on_path(lengths, model="bufferless", **options):
    """A gather at the end of a path; ``lengths``: of the nodes behind the root."""
    where = network_of(range(len(lengths)))
    return plan(
        "gatherv", where, lengths=[0, *lengths], model=model, builder=options.pop("builder", "shoulder-tap"), **options
    )


SHAPES = {
    "one node": [],
    "star": [0] * 12,
    "path": list(range(12)),
    "caterpillar": [v for pair in ((2 * i, 2 * i) for i in range(15)) for v in pair],
    "broom": [*range(8), *[8] * 8],
    "spider": [0, 0, 0, 0, *range(1, 13)],
    "binary": [(v - 1) // 2 for v in range(1, 31)],
}


def rows_of(schedule):
    rows = schedule.rows
    return [tuple(int(column[r]) for column in rows.columns().values()) for r in range(len(rows))]


def changed(schedule):
    """Every schedule in which one row is left out, said twice or has one value changed, or two rows exchange one value."""
    rows, nodes = rows_of(schedule), schedule.network.nodes
    for r, (step, steps, src, dst, port, tree, payload) in enumerate(rows):
        rest = rows[:r] + rows[r + 1 :]
        yield "left out", rest
        yield "twice", [*rows, rows[r]]
        for name, row in (
            ("earlier", (step - 1, steps, src, dst, port, tree, payload)),
            ("later", (step + 1, steps, src, dst, port, tree, payload)),
            ("longer", (step, steps + 1, src, dst, port, tree, payload)),
            ("shorter", (step, steps - 1, src, dst, port, tree, payload)),
            ("source", (step, steps, (src + 1) % nodes, dst, port, tree, payload)),
            ("target", (step, steps, src, (dst + 1) % nodes, port, tree, payload)),
            ("turned", (step, steps, dst, src, int(schedule.network.port_between(dst, src)), tree, payload)),
        ):
            if row[0] >= 0 and row[1] >= 0:
                yield name, [*rest, row]
    for a, b in combinations(range(len(rows)), 2):
        for name, columns in (("steps", (0,)), ("payloads", (1, 6)), ("arcs", (2, 3, 4))):
            one, other = list(rows[a]), list(rows[b])
            for column in columns:
                one[column], other[column] = other[column], one[column]
            if one != list(rows[a]) and (one, other) != (list(rows[b]), list(rows[a])):
                kept = [row for r, row in enumerate(rows) if r not in (a, b)]
                yield f"exchanged {name}", [*kept, tuple(one), tuple(other)]


def with_rows(schedule, rows):
    table = [schedule.rows.payloads.ranges(p) for p in range(len(schedule.rows.payloads))]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
    return replace(schedule, rows=Rows.of(Payloads.of(table), **columns))
