"""Statements of Fragopoulou & Akl, sections 4 and 5: translates, the costs of the other collectives, tables, and the walk.

Where the paper is in error, its own words are checked, and found false; an erratum is the right statement.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from math import factorial
from typing import Any

import numpy as np

from treecast.collectives import Collective
from treecast.lower_bounds import best
from treecast.models import MODELS
from treecast.networks import Hypercube, Network, Star
from treecast.networks.core import Ints, ints
from treecast.networks.kept import kept
from treecast.papers.star.statements import TREES
from treecast.papers.statement import Claims, Statements
from treecast.papers.tables import tables
from treecast.plans import plan
from treecast.plans.built import rows_between
from treecast.plans.ways.trees import star as star_trees
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.schedule import Payloads, Schedule
from treecast.schedule.trees import Tree
from treecast.simulation.faults import Faults
from treecast.simulation.sweeps import sweep
from treecast.verification.report import Report
from treecast.verification.verifier import verify

_SETS = 100  # random ones, for each n
_PROBLEMS = ("broadcast", "broadcast", "allgather", "scatter", "alltoall")
"""The problems of the lines of a table; only the first is asked for with one copy, whatever x."""

stated = Statements()
"""The statements of section 4 on the other collectives, in the order of the paper, then formulas."""


@kept(1)
def _translates(star: Star) -> Ints:
    """Return where each translation carries each node: int64, shape (N, N)."""
    every = np.arange(star.nodes)
    return star.translate(every[:, None], every)


def _used_twice(star: Star, sources: Ints, ports: Ints) -> int:
    """Return how many arcs all translates of some arcs use more than once."""
    moved = _translates(star)[:, sources]
    used = np.bincount(star.arc(moved, ports[None, :]).reshape(-1), minlength=star.arcs)
    return int((used > 1).sum())


def _step_sets(star: Star) -> Iterator[tuple[Ints, Ints]]:
    """Yield sources and ports of the arcs that node 0's data uses at a step: planned ones, and random ones."""
    for kind, copies in product(("allgather", "alltoall"), (1, star.ports)):
        rows = plan(kind, star, copies=copies).rows
        cuts = np.searchsorted(rows.step, np.arange(int(rows.step.max()) + 2))  # M = 1: each row is one step long
        yield from ((ints(rows.src[a:b]), ints(rows.port[a:b])) for a, b in pairwise(cuts.tolist()))
    chance = np.random.default_rng(star.n)
    for _ in range(_SETS):
        ports = chance.permutation(star.ports)[: chance.integers(1, star.ports, endpoint=True)]
        yield chance.integers(star.nodes, size=len(ports)), ports


@stated("Lemma 7", "no arc is used twice over all translates if dimensions differ; else some are", 3, 5, 6)
def _lemma_7(n: int) -> Claims:
    star, sets = Star(n), 0
    for sources, ports in _step_sets(star):
        right = len(np.unique(ports)) >= len(ports) and not _used_twice(star, sources, ports)
        yield right, f"arcs from {star.labels(sources)} over {(ports + 2).tolist()}"
        sets += 1
    # the lemma's condition is needed: the translates of two arcs of one dimension are all arcs of it, each used twice
    for other, port in product((1, star.nodes - 1), range(star.ports)):
        right = _used_twice(star, np.array([0, other]), np.array([port, port])) == star.nodes
        yield right, f"two arcs of dimension {port + 2}, and their translates do not meet"
    yield True, f"{sets} sets; else {star.nodes} arcs are used twice"


def _measured(kind: str, n: int, messages: int, copies: int, **how: Any) -> tuple[Schedule, float, float]:
    """Return a schedule, and its steps and transmissions over their lower bounds; infinite when it is wrong."""
    schedule = plan(kind, Star(n), messages=messages, copies=copies, **how)
    report = verify(schedule)
    if not report:
        return schedule, np.inf, np.inf
    steps, transmissions = _least(report)
    return schedule, schedule.steps / steps, schedule.transmissions / transmissions


def _least(report: Report) -> tuple[int, int]:
    """Return the known lower bounds of steps and transmissions."""
    return best(list(report.bounds), "steps").value, best(list(report.bounds), "transmissions").value


def _cases(n: int) -> Iterator[tuple[int, int]]:
    """Yield copies and messages, those first that n - 1 may not divide."""
    yield from product(range(1, n), (1, 2, n, n - 1, 12 * (n - 1)))


@stated("allgather", "MxN(N-1) transmissions; Mx(N-1)/(n-1) steps where n-1 divides Mx, all x", 3, 6, 7)
def _allgather(n: int) -> Claims:
    nodes, worst = Star(n).nodes, (1.0, "")
    for copies, messages in _cases(n):
        schedule, ratio, sends = _measured("allgather", n, messages, copies)
        least = messages * copies * (nodes - 1)
        right = sends == 1 and (messages * copies % (n - 1) != 0 or schedule.steps == least // (n - 1))
        yield right, f"x = {copies}, M = {messages}: {schedule.steps} steps"
        worst = max(worst, (ratio, f", x = {copies}, M = {messages}"))
    yield np.isfinite(worst[0]), f"else at most {worst[0]:.3f} x the bound{worst[1]}"


@stated("full use", "allgather, x = n-1: every arc is busy in every step", 3, 6, 8)
def _busy(n: int) -> Claims:
    star = Star(n)
    for messages in (1, 2, n):
        schedule = plan("allgather", star, messages=messages, copies=n - 1)
        # no arc carries two chunks in a step (rule link-once), so that many sends fill all of them
        yield verify(schedule) and schedule.transmissions == schedule.steps * star.arcs, f"M = {messages}"
    yield True, f"{star.arcs:,} arcs"


@stated("one chunk", "allgather: N-1 steps for n-1 chunks, max(diameter, ⌈(N-1)/(n-1)⌉) for one", 3, 6, 8)
def _few_chunks(n: int) -> Claims:
    star = Star(n)
    for messages, steps in ((n - 1, star.nodes - 1), (1, max(star.diameter, -(-(star.nodes - 1) // (n - 1))))):
        schedule, ratio, _ = _measured("allgather", n, messages, 1)
        yield schedule.steps == steps and ratio == 1, f"M = {messages}: {schedule.steps} steps, not {steps}"
    yield True, f"{schedule.steps}"


def _depths(n: int) -> int:
    """Return the sum of the depths of all nodes of one tree."""
    return int(star_trees.disjoint_trees(Star(n), paper=True).depths[0].sum())


@stated("scatter", "⌈Mx(N-1)/(n-1)⌉ steps, the least, all x; M(n-1) Σ depths sends, x = n-1", 3, 6, 7)
def _scatter(n: int) -> Claims:
    worst = (1.0, "")
    for copies, messages in _cases(n):
        schedule, ratio, sends = _measured("scatter", n, messages, copies, **TREES)
        all_trees = messages * (n - 1) * _depths(n) if copies == n - 1 else schedule.transmissions
        right = ratio == 1 and schedule.transmissions == all_trees
        yield right, f"x = {copies}, M = {messages}: {schedule.steps} steps"
        worst = max(worst, (sends, f", x = {copies}"))
    yield True, f"transmissions at most {worst[0]:.3f} x the bound{worst[1]}"


@stated("alltoall", "x = n-1: M Σ depths steps, MN(n-1) Σ depths transmissions", 3, 6, 7)
def _alltoall(n: int) -> Claims:
    worst, flat = (1.0, ""), True
    for copies, messages in _cases(n):
        schedule, ratio, _ = _measured("alltoall", n, messages, copies, **TREES)
        if copies == n - 1:
            sends = messages * Star(n).nodes * (n - 1) * _depths(n)
            flat = flat and (schedule.steps, schedule.transmissions) == (messages * _depths(n), sends)
        yield flat and np.isfinite(ratio), f"x = {copies}, M = {messages}: {schedule.steps} steps"
        worst = max(worst, (ratio, f", x = {copies}, M = {messages}"))
    yield True, f"at most {worst[0]:.3f} x the bound{worst[1]}"


@stated("one message", "alltoall: max(diameter, ⌈Σ distances/(n-1)⌉) steps", 3, 6, 7)
def _one_message(n: int) -> Claims:
    star = Star(n)
    distances = int(star.distance(0, np.arange(star.nodes)).sum())
    schedule, ratio, sends = _measured("alltoall", n, 1, 1)
    steps = max(star.diameter, -(-distances // (n - 1)))
    yield schedule.steps == steps and ratio == sends == 1, f"{schedule.steps}"


# --- formulas: t_n, the tables, the elections, and the cost of the acknowledged walk ---


@stated("t_n", "Σ distances is n! (n + 2/n + H_n - 4)", 2, 8, 9)
def _t_n(n: int) -> Claims:
    total = int(breadth_first(Star(n), 0).depth.sum())
    harmonic = sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))
    yield total == factorial(n) * (n + Fraction(2, n) + harmonic - 4), f"{total:,}"


def _table_lines(network: Network, name: str, most: int) -> Claims:
    """Whether a table's lower bounds are none that we know better, and no plan of ours is below them; all copies, some M."""
    cases, above = 0, list[str]()
    least_copies = network.ports if name == "Table 1" else 1
    for messages, copies in product((1, 3, network.ports), range(least_copies, network.ports + 1)):
        (table,) = (one for one in tables(network, messages, copies) if one.title.startswith(name))
        for place, line in enumerate(table.lines):
            if network.nodes > most and _PROBLEMS[place] == "alltoall":
                continue
            report = verify(plan(_PROBLEMS[place], network, messages=messages, copies=copies if place else 1))
            steps, transmissions = _least(report)
            cases += 1
            right = report and report.steps >= line.steps and report.transmissions >= line.transmissions
            yield right, f"{line.problem}, M = {messages}, x = {copies}: the plan takes less"
            if steps < line.steps or transmissions < line.transmissions:
                above.append(f"{line.problem}, M = {messages}, x = {copies}")
    yield not above, f"{', '.join(above[:1])}: not a bound that is proved"
    yield True, f"{cases} plans"


stated("Table 1", "lower bounds for x = n-1: proved, and no plan is below; M = 1, 3, n-1", 3, 5, 5)(
    lambda n: _table_lines(Star(n), "Table 1", 120)
)
stated("Table 2", "lower bounds for all x: proved, and no plan is below; M = 1, 3, n-1", 3, 4, 5)(
    lambda n: _table_lines(Star(n), "Table 2", 120)
)
stated("Table 3", "lower bounds on C_n, all x: proved, and no plan is below; M = 1, 3, n", 2, 5, 6)(
    lambda k: _table_lines(Hypercube(k), "Table 3", 64)
)


@stated("Table 4", "Tables 2 and 3, for S_n and C_n, are 0.4 to 2 times its orders", 3, 9, 9)
def _table_4(n: int) -> Claims:
    least, most = Fraction(10), Fraction(0)
    for network in (Star(n), Hypercube(n)):
        nodes = network.nodes
        for messages, copies in ((1, 1), (1, network.ports), (100, 2), (1000, network.ports)):
            work = messages * copies
            orders = [
                (Fraction(messages, n) + n, messages * nodes),
                (Fraction(work, n) + n, work * nodes),
                (Fraction(work * nodes, n), work * nodes**2),
                (Fraction(work * nodes, n), work * nodes * n),
                (Fraction(work * nodes), work * nodes**2 * n),
            ]
            table = tables(network, messages, copies)[-1]
            for line, (steps, sends) in zip(table.lines, orders, strict=True):
                ratios = Fraction(line.steps) / steps, Fraction(line.transmissions, sends)
                least, most = min(least, *ratios), max(most, *ratios)
    yield Fraction(2, 5) <= least and most <= 2, f"{float(least):.2f} to {float(most):.2f} times"


@stated("election", "x copies: ⌊(x-1)/2⌋ nodes that alter messages do no harm, one more does", 3, 4, 4)
def _election(n: int) -> Claims:
    said, star = list[str](), Star(n)
    for copies, root in product(range(1, n), (0, star.nodes // 2 + 1)):
        schedule = plan("broadcast", star, root=root, messages=1, copies=copies, **TREES)
        liars = (copies - 1) // 2
        yield sweep(schedule, 0, "nodes", liars=liars).holds, f"x = {copies}, root {star.label(root)}"
        found = sweep(schedule, 0, "nodes", liars=liars + 1)
        yield not found.holds, f"x = {copies}: {liars + 1} liars do no harm"
        said.append(f"x = {copies}: {liars}")
    yield True, ", ".join(dict.fromkeys(said))


def _stopped(n: int, claimed: bool) -> Claims:
    """Some dead node stops the walks of all n-1 trees before they have reached some living node: or none, as is ``claimed``."""
    star = Star(n)
    trees = list(star_trees.disjoint_trees(star, paper=True))
    for dead in range(1, star.nodes):
        reached = _heard(trees, dead)
        if len(reached) < star.nodes - 1:
            lost = min(set(range(star.nodes)) - reached - {dead})
            yield not claimed, f"{star.label(dead)} dead, {star.label(lost)} never hears {star.label(0)}"
            return
    yield claimed, "every living node is reached, whoever is dead"


def _walk(tree: Tree, messages: int, dead: int) -> tuple[int, set[int]]:
    """Walk a tree as the paper's allgather does, with acknowledgements; return its steps, and the nodes that it reaches."""
    moves = list(_moves(tree, messages, dead))
    # the last send takes as long as its messages, or a step for an acknowledgement
    step, _, _, data = moves[-1] if moves else (-1, 0, 0, False)
    return step + (messages if data else 1), {tree.root, *(dst for _, _, dst, data in moves if data and dst != dead)}


def _moves(tree: Tree, messages: int, dead: int) -> Iterator[tuple[int, int, int, bool]]:
    """Yield the sends of a walk: step, from whom, to whom, and whether they are the messages or an acknowledgement.

    A node passes the messages to its children, to the next one when the one before has acknowledged, and then acknowledges.
    A dead node never does, and nobody sends any more. An acknowledgement takes a step.
    """
    # Depth first: the walk is at one node at a time.
    step, stack = 0, [(tree.root, iter(tree.children(tree.root)))]
    while stack:
        node, below = stack[-1]
        child = next(below, None)
        if child is not None:
            yield step, node, child, True
            step += messages
            if child == dead:
                return
            stack.append((child, iter(tree.children(child))))
        else:
            stack.pop()
            if stack:
                yield step, node, stack[-1][0], False
                step += 1


def _walked(n: int, dies: bool) -> tuple[Schedule, Faults]:
    """Return the walks of all trees as they go, of one message: all the way, or until a dead node cuts a living one off."""
    star = Star(n)
    trees = list(star_trees.disjoint_trees(star, paper=True))
    # The first node whose death cuts somebody off; of a walk that goes all the way none.
    dead = next((v for v in range(1, star.nodes) if dies and len(_heard(trees, v)) < star.nodes - 1), -1)
    moves = [(*move, number) for number, tree in enumerate(trees) for move in _moves(tree, 1, dead)]
    step, src, dst, data, number = ints(moves).T
    table, tree = Payloads.of([[], [(0, 1)]]), np.where(data > 0, number, -1)
    rows = rows_between(star, table, step, src, dst, tree=tree, payload=data, steps=1)
    schedule = Schedule(star, Collective.over(star, "broadcast"), MODELS["all-port"], rows)
    return schedule, Faults({} if dead < 0 else {dead: 0})


def _heard(trees: list[Tree], dead: int) -> set[int]:
    """Return the nodes that the walks of all trees reach."""
    return set[int]().union(*(_walk(tree, 1, dead)[1] for tree in trees))


@stated(
    "section 4.4",
    "allgather with acknowledgements: M(n!-1) steps",
    3,
    3,
    3,
    false_from=3,
    shows=partial(_walked, dies=False),
)
def _said_walk(n: int) -> Claims:
    star = Star(n)
    steps, _ = _walk(star_trees.disjoint_tree(star, 0, paper=True), 1, -1)
    yield steps == star.nodes - 1, f"{steps:,} steps for M = 1, not {star.nodes - 1:,}"


@stated("erratum: walk", "allgather with acknowledgements: (M+1)(n!-1) steps, not M(n!-1)", 3, 6, 7)
def _acknowledged(n: int) -> Claims:
    """The plan, whose nodes know when it is their turn, takes M(N-1)."""
    star = Star(n)
    trees = star_trees.disjoint_trees(star, paper=True)
    for messages, tree in product((1, 2, 5), trees):
        right = _walk(tree, messages, -1) == ((messages + 1) * (star.nodes - 1), set(range(star.nodes)))
        yield right, f"M = {messages}"
    for messages in (1, 2, 5):
        right = plan("allgather", star, messages=messages, copies=n - 1).steps == messages * (star.nodes - 1)
        yield right, f"the plan of M = {messages}"
    yield True, f"{2 * (star.nodes - 1):,} steps for M = 1, not {star.nodes - 1:,}"


stated("… tolerance", "it survives n-2 dead nodes", 3, 4, 4, false_from=4, shows=partial(_walked, dies=True))(
    lambda n: _stopped(n, True)
)
stated("erratum: acks", "… and then one dead node can cut a living one off, whatever x", 4, 5, 6)(
    lambda n: _stopped(n, False)
)
