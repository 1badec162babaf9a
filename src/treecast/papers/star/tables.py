"""Statements of Fragopoulou & Akl that are formulas: t_n, the tables, the elections, and the cost of the acknowledged walk.

Where the paper is in error, its own words are checked, and found false; an erratum is the right statement.
"""

from fractions import Fraction
from itertools import product
from math import factorial

from treecast.lower_bounds import best
from treecast.networks import Hypercube, Network, Star
from treecast.papers.compare import tables
from treecast.papers.star.statements import TREES, levels
from treecast.papers.statement import Claims, Statements
from treecast.plans import plan
from treecast.plans.ways.trees import star as star_trees
from treecast.schedule.trees import Tree
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

_PROBLEMS = ("broadcast", "broadcast", "allgather", "scatter", "alltoall")
"""The problems of the lines of a table; only the first is asked for with one copy, whatever x."""

stated = Statements()
"""The statements of sections 4.1, 4.3, 4.4 and 5."""


@stated("t_n", "Σ distances is n! (n + 2/n + H_n - 4)", 2, 8, 9)
def _t_n(n: int) -> Claims:
    total = int(levels(Star(n)).sum())
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
            least = {of: best(list(report.bounds), of).value for of in ("steps", "transmissions")}
            cases += 1
            right = report and report.steps >= line.steps and report.transmissions >= line.transmissions
            yield right, f"{line.problem}, M = {messages}, x = {copies}: the plan takes less"
            if least["steps"] < line.steps or least["transmissions"] < line.transmissions:
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
    for network, d in ((Star(n), n), (Hypercube(n), n)):
        nodes = network.nodes
        for messages, copies in ((1, 1), (1, network.ports), (100, 2), (1000, network.ports)):
            work = messages * copies
            orders = [
                (Fraction(messages, d) + d, messages * nodes),
                (Fraction(work, d) + d, work * nodes),
                (Fraction(work * nodes, d), work * nodes**2),
                (Fraction(work * nodes, d), work * nodes * d),
                (Fraction(work * nodes), work * nodes**2 * d),
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
        reached = set[int]().union(*(_walk(tree, 1, dead)[1] for tree in trees))
        if len(reached) < star.nodes - 1:
            lost = min(set(range(star.nodes)) - reached - {dead})
            yield not claimed, f"{star.label(dead)} dead, {star.label(lost)} never hears {star.label(0)}"
            return
    yield claimed, "every living node is reached, whoever is dead"


@stated("section 4.4", "allgather with acknowledgements: M(n!-1) steps", 3, 3, 3, false_from=3)
def _said_walk(n: int) -> Claims:
    star = Star(n)
    steps, _ = _walk(star_trees.disjoint_tree(star, 0, paper=True), 1, -1)
    yield steps == star.nodes - 1, f"{steps:,} steps for M = 1, not {star.nodes - 1:,}"


def _walk(tree: Tree, messages: int, dead: int) -> tuple[int, set[int]]:
    """Walk a tree as the paper's allgather does, with acknowledgements; return its steps, and the nodes that it reaches.

    A node passes the messages to its children, to the next one when the one before has acknowledged, and then acknowledges.
    A dead node never does, and nobody sends any more. An acknowledgement takes a step.
    """
    steps, reached = 0, {tree.root}
    stack = [(tree.root, iter(tree.children(tree.root)))]
    while stack:
        child = next(stack[-1][1], None)
        if child is None:
            stack.pop()
            steps += bool(stack)  # the acknowledgement
        else:
            steps += messages
            if child == dead:
                break
            reached.add(child)
            stack.append((child, iter(tree.children(child))))
    return steps, reached


@stated("erratum: walk", "allgather with acknowledgements: (M+1)(n!-1) steps, not M(n!-1)", 3, 6, 7)
def _acknowledged(n: int) -> Claims:
    """The walk with acknowledgements takes (M+1)(N-1) steps; the plan, whose nodes know when it is their turn, M(N-1)."""
    star = Star(n)
    trees = star_trees.disjoint_trees(star, paper=True)
    for messages, tree in product((1, 2, 5), trees):
        right = _walk(tree, messages, -1) == ((messages + 1) * (star.nodes - 1), set(range(star.nodes)))
        yield right, f"M = {messages}"
    for messages in (1, 2, 5):
        right = plan("allgather", star, messages=messages, copies=n - 1).steps == messages * (star.nodes - 1)
        yield right, f"the plan of M = {messages}"
    yield True, f"{2 * (star.nodes - 1):,} steps for M = 1, not {star.nodes - 1:,}"


stated("… tolerance", "it survives n-2 dead nodes", 3, 4, 4, false_from=4)(lambda n: _stopped(n, True))


stated("erratum: acks", "… and then one dead node can cut a living one off, whatever x", 4, 5, 6)(
    lambda n: _stopped(n, False)
)
