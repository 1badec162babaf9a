"""Hypothesis strategies for schedules, right and wrong ones."""

from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from treecast.collectives import COLLECTIVES, Collective
from treecast.models import model
from treecast.networks import Cayley, network
from treecast.plans import builders, plan
from treecast.plans.built import Job
from treecast.schedule import COLUMNS, Payloads, Rows, Schedule

KINDS = tuple(name for name, kind in COLLECTIVES.items() if not kind.lengths and not kind.targets)
ALL_SOURCE = tuple(name for name in KINDS if COLLECTIVES[name].all_source)
ROOTED = tuple(name for name in KINDS if not COLLECTIVES[name].all_source)
SMALL = ["star:3", "star:4", "hypercube:3", "mesh:2x3", "torus:3x3", "ring:5", "path:4", "tree:2,2"]


def examples(asked, **others):
    """Settings of so many examples in thorough runs, and of a share of them in quick ones: the profile's share of 100."""
    return settings(max_examples=max(1, asked * settings().max_examples // 100), **others)


def all_port(kind, where):
    """The builders of schedules in which all ports are used and messages do not combine."""
    return [b for b in builders(kind, where) if "all-port" in b.models]


def fits(builder, kind, where, copies=1):
    """Whether a builder can plan so many copies of a collective."""
    return not builder.why_not(Job(where, Collective.over(where, kind), model("all-port"), copies))


def stretched(schedule, pace):
    """The same schedule with each step as long as ``pace``: its streams are paced ones."""
    rows = schedule.rows
    columns = rows.columns() | {"step": rows.step * pace, "steps": (rows.steps - 1) * pace + 1}
    return replace(schedule, rows=Rows.of(rows.payloads, **columns), claims=None)


@st.composite
def planned(draw):
    """A right broadcast on a small network."""
    where = network(draw(st.sampled_from(SMALL)))
    copies = draw(st.integers(1, where.ports)) if where.spec.startswith("star") else 1
    root, messages = draw(st.integers(0, where.nodes - 1)), draw(st.integers(1, 7))
    return plan("broadcast", where, root=root, messages=messages, copies=copies)


@st.composite
def paced(draw):
    """A right schedule of paced streams, or of such and others: those of one tree are as they were, if it leaves room."""
    pace = draw(st.integers(2, 4))
    found = stretched(draw(planned() | planned_of()), pace)
    late = draw(st.integers(0, pace - 1))
    columns = found.rows.columns()
    columns["step"] = columns["step"] + np.where(columns["tree"] == columns["tree"].max(initial=0), late, 0)
    return replace(found, rows=Rows.of(found.rows.payloads, **columns))


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
def planned_of(draw, kinds=KINDS, specs=("star:3", "hypercube:2", "hypercube:3", "torus:3x3", "ring:5", "ring:4")):
    """A right schedule of any kind on a small network, by any of its builders; an orbit may be written out."""
    kind, where = draw(st.sampled_from(kinds)), network(draw(st.sampled_from(specs)))
    builder = draw(st.sampled_from([b for b in all_port(kind, where) if fits(b, kind, where)]))
    copies = 1 if COLLECTIVES[kind].adds else draw(st.integers(1, builder.most_copies(where)))
    root = 0 if kind in ALL_SOURCE else draw(st.integers(0, where.nodes - 1))
    messages = draw(st.integers(1, 4))
    schedule = plan(kind, where, root=root, messages=messages, copies=copies, builder=builder.name)
    plain = where.nodes < 7 and draw(st.integers(0, 3)) == 0
    return replace(schedule.plain() if plain else schedule, claims=None)


@st.composite
def arbitrary(draw, orbit=False, kinds=None):
    """Any schedule that the constructor takes, mostly wrong: on existing nodes, often along existing arcs.

    ``kinds``: the collectives to choose from; default: broadcast, or allgather as an orbit.
    """
    kind = draw(st.sampled_from(kinds)) if kinds else "allgather" if orbit else "broadcast"
    few = ["star:3", "hypercube:2", "ring:4"]
    where = network(draw(st.sampled_from(few if orbit else [*few, "mesh:2x3", "path:4"] if kinds else SMALL)))
    messages = draw(st.integers(1, 3 if kinds else 5))
    root = 0 if kind in ALL_SOURCE else draw(st.integers(0, where.nodes - 1))
    collective = Collective(kind, where.nodes, messages, root)
    chunks = (collective.from_node_zero() if orbit else collective).chunks
    table = draw(st.lists(payload(chunks), min_size=1, max_size=4))
    rows = []
    for _ in range(draw(st.integers(0, 12))):
        number = draw(st.integers(0, len(table) - 1))
        length = sum(b - a for a, b in table[number])
        src, port = draw(st.integers(0, where.nodes - 1)), draw(st.integers(0, where.ports - 1))
        dst = int(where.neighbor(src, port))
        if dst < 0 or draw(st.integers(0, 9)) == 0:
            dst = draw(st.integers(0, where.nodes - 1))
        steps = (length - 1) * draw(st.sampled_from([0, 1, 1, 2, 3])) + 1
        rows.append((draw(st.integers(0, 6)), steps, src, dst, port, draw(st.integers(-1, 2)), number))
    columns = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
    copies = 1 if orbit and not kinds else draw(st.integers(1, 2))
    return Schedule(where, collective, model("all-port"), Rows.of(Payloads.of(table), **columns), copies, orbit)


@st.composite
def spread_at_random(draw, kinds=("broadcast", "scatter", "gather", "allgather", "alltoall")):
    """A schedule made step by step of sends of what is held, mostly along free arcs, some of them in trees."""
    kind = draw(st.sampled_from(kinds))
    where = network(draw(st.sampled_from(["star:3", "hypercube:2", "ring:4", "mesh:2x3", "path:3"])))
    orbit = kind in ALL_SOURCE and isinstance(where, Cayley) and draw(st.booleans())
    messages = draw(st.integers(1, 2))
    collective = Collective(
        kind, where.nodes, messages, 0 if kind in ALL_SOURCE else draw(st.integers(0, where.nodes - 1))
    )
    part = collective.from_node_zero() if orbit else collective
    random, held = Random(draw(st.integers(0, 2**32))), set()  # drawn one by one, such choices would take seconds
    given = part.given()
    for v, a, b in given:
        held |= {(v, chunk) for chunk in range(a, b)}
    rows, greedy = [], random.random() < 0.8
    for step in range(random.randint(1, 30)):
        new, taken = set(), set()
        for v, chunk in random.sample(sorted(held), len(held)):
            for port in random.sample(range(where.ports), where.ports):
                there = int(where.neighbor(v, port))
                key = port if orbit else (v, port)
                if there < 0 or key in taken or (greedy and (there, chunk) in held | new) or random.random() < 0.1:
                    continue
                taken.add(key)
                new.add((there, chunk))
                rows.append((step, 1, v, there, port, random.choice([-1, 0, 0, 0, port]), chunk))
        held |= new
    columns = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
    table = Payloads.of([[(chunk, chunk + 1)] for chunk in range(part.chunks)])
    copies = draw(st.sampled_from([1, 1, 2]))
    return Schedule(where, collective, model("all-port"), Rows.of(table, **columns), copies, orbit)


def mutations(schedule):
    """Every schedule that differs in one row by a little, as (what was changed, a function that builds it).

    The row is left out, said twice, or has one column changed.
    """
    rows, network, chunks = schedule.rows, schedule.network, schedule.part.chunks
    table = [rows.payloads.ranges(p) for p in range(len(rows.payloads))]
    base = list(zip(*(column.tolist() for column in rows.columns().values()), strict=True))

    def built(new_rows, payloads=table):
        return lambda: build(new_rows, payloads)

    def build(new_rows, payloads):
        columns = {name: [row[i] for row in new_rows] for i, name in enumerate(COLUMNS)}
        return replace(schedule, rows=Rows.of(Payloads.of(payloads), **columns))

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
            ("at once", (0, steps, src, dst, port, tree, number)),
            ("last", (schedule.steps, steps, src, dst, port, tree, number)),
            ("turned round", (step, steps, dst, src, int(network.port_between(dst, src)), tree, number)),
            ("combined", (step, 1, src, dst, port, tree, number)),
        ):  # fmt: skip
            if changed[0] >= 0 and changed != base[r] and changed[3] >= 0:
                yield name, built([*rest, changed])
        ranges = table[number]
        if steps > 1 or chunks > 1:
            for name, other in (
                ("one chunk less", [(ranges[0][0], ranges[0][1] - 1), *ranges[1:]]),
                ("shifted chunks", [((a + 1) % chunks, (a + 1) % chunks + 1) for a, _ in ranges[:1]]),
            ):
                kept = [(a, b) for a, b in other if a < b]
                if kept:
                    length = sum(b - a for a, b in kept)
                    yield name, built([*rest, (step, length, src, dst, port, tree, len(table))], [*table, kept])
