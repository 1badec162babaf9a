"""Hypothesis strategies for schedules, right and wrong ones."""

from dataclasses import replace

from hypothesis import strategies as st

from treecast.collectives import Collective
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.schedule import COLUMNS, Payloads, Rows, Schedule

SMALL = ["star:3", "star:4", "hypercube:3", "mesh:2x3", "torus:3x3", "ring:5", "path:4", "tree:2,2"]


@st.composite
def planned(draw):
    """A right broadcast on a small network."""
    where = network(draw(st.sampled_from(SMALL)))
    copies = draw(st.integers(1, where.ports)) if where.spec.startswith("star") else 1
    root, messages = draw(st.integers(0, where.nodes - 1)), draw(st.integers(1, 7))
    return plan("broadcast", where, root=root, messages=messages, copies=copies)


@st.composite
def payload(draw, chunks):
    """The ranges of a payload: one or two, disjoint."""
    first = draw(st.integers(0, chunks - 1))
    stop = draw(st.integers(first + 1, chunks))
    ranges = [(first, stop)]
    if stop < chunks and draw(st.booleans()):
        low = draw(st.integers(stop, chunks - 1))
        ranges.insert(draw(st.integers(0, 1)), (low, draw(st.integers(low + 1, chunks))))
    return ranges


@st.composite
def arbitrary(draw, orbit=False):
    """Any schedule that the constructor takes, mostly wrong: on existing nodes, often along existing arcs."""
    where = network(draw(st.sampled_from(["star:3", "hypercube:2", "ring:4"] if orbit else SMALL)))
    messages = draw(st.integers(1, 5))
    kind = "allgather" if orbit else "broadcast"
    collective = Collective(kind, where.nodes, messages, 0 if orbit else draw(st.integers(0, where.nodes - 1)))
    table = draw(st.lists(payload(messages), min_size=1, max_size=4))
    rows = []
    for _ in range(draw(st.integers(0, 12))):
        number = draw(st.integers(0, len(table) - 1))
        length = sum(b - a for a, b in table[number])
        src, port = draw(st.integers(0, where.nodes - 1)), draw(st.integers(0, where.ports - 1))
        dst = int(where.neighbor(src, port))
        if dst < 0 or draw(st.integers(0, 9)) == 0:
            dst = draw(st.integers(0, where.nodes - 1))
        steps = draw(st.sampled_from([1, length]))
        rows.append((draw(st.integers(0, 6)), steps, src, dst, port, draw(st.integers(-1, 2)), number))
    columns = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
    copies = 1 if orbit else draw(st.integers(1, 2))
    return Schedule(where, collective, model("all-port"), Rows.of(Payloads.of(table), **columns), copies, orbit)


def mutations(schedule):
    """Every schedule that differs in one row by a little, as (what was changed, a function that builds it).

    The row is left out, said twice, or has one column changed.
    """
    rows, network, messages = schedule.rows, schedule.network, schedule.collective.messages
    table = [rows.payloads.ranges(p) for p in range(len(rows.payloads))]
    base = [tuple(int(column[r]) for column in rows.columns().values()) for r in range(len(rows))]

    def built(new_rows, payloads=table):
        return lambda: build(new_rows, payloads)

    def build(new_rows, payloads):
        columns = {name: [row[i] for row in new_rows] for i, name in enumerate(COLUMNS)}
        return replace(schedule, rows=Rows.of(Payloads.of(payloads), **columns), local=None)

    for r, (step, steps, src, dst, port, tree, number) in enumerate(base):
        rest = base[:r] + base[r + 1 :]
        yield "left out", built(rest)
        yield "twice", built([*base, base[r]])
        for name, changed in (
            ("earlier", (step - 1, steps, src, dst, port, tree, number)),
            ("later", (step + 1, steps, src, dst, port, tree, number)),
            ("another source", (step, steps, (src + 1) % network.nodes, dst, port, tree, number)),
            ("another target", (step, steps, src, (dst + 1) % network.nodes, port, tree, number)),
            ("another port", (step, steps, src, dst, (port + 1) % network.ports, tree, number)),
            ("another arc", (step, steps, src, int(network.neighbor(src, (port + 1) % network.ports)),
                             (port + 1) % network.ports, tree, number)),
            ("another tree", (step, steps, src, dst, port, (tree + 1) % max(schedule.trees, 1), number)),
            ("no tree", (step, steps, src, dst, port, -1, number)),
            ("combined", (step, 1, src, dst, port, tree, number)),
        ):  # fmt: skip
            if changed[0] >= 0 and changed != base[r] and changed[3] >= 0:
                yield name, built([*rest, changed])
        ranges = table[number]
        if steps > 1 or messages > 1:
            for name, other in (
                ("one chunk less", [(ranges[0][0], ranges[0][1] - 1), *ranges[1:]]),
                ("shifted chunks", [((a + 1) % messages, (a + 1) % messages + 1) for a, _ in ranges[:1]]),
            ):
                kept = [(a, b) for a, b in other if a < b]
                if kept:
                    length = sum(b - a for a, b in kept)
                    yield name, built([*rest, (step, length, src, dst, port, tree, len(table))], [*table, kept])
