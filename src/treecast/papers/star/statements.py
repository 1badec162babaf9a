"""Statements of Fragopoulou & Akl: the star network, its trees, and broadcast over them."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np

from treecast.lower_bounds import best, schedule_bounds
from treecast.networks import Star, permutations
from treecast.networks.core import Ints
from treecast.papers.statement import Claims, Statements
from treecast.plans import plan
from treecast.plans.ways.trees import star as star_trees
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.schedule.trees import TreeSet, find_meeting_ways
from treecast.simulation.fault_sets import Kind
from treecast.simulation.faults import Faults
from treecast.simulation.replay import replay
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

TREES: dict[str, Any] = {"builder": "disjoint-trees", "trees": "paper"}
"""The trees of the paper's broadcasts and scatters."""

stated = Statements()
"""The statements of sections 2 to 4, in the order of the paper."""


def _hole(star: Star) -> Ints:
    """Return the position of symbol 1 in every node, counted from 0."""
    return permutations.symbol_at(permutations.inverse(star.words(np.arange(star.nodes)), star.n), 0)


@cache
def _disjoint(n: int) -> TreeSet:
    return star_trees.disjoint_trees(Star(n), paper=True)


@stated("distance", "the distance to I is s + c, or s + c - 2; the diameter ⌊3(n-1)/2⌋", 2, 8, 9)
def _distances(n: int) -> Claims:
    star, level = Star(n), breadth_first(Star(n), 0).depth
    same = bool((level == star.distance(0, np.arange(star.nodes))).all())
    yield same and int(level.max()) == star.diameter, str(star.diameter)


@stated("Lemma 1", "translation keeps the dimension of every edge", 2, 6, 6)
def _lemma_1(n: int) -> Claims:
    star = Star(n)
    h, u = np.arange(star.nodes)[:, None], np.arange(star.nodes)[None, :]
    moved = star.translate(h, u)
    for port in range(star.ports):
        yield (star.neighbor(moved, port) == star.translate(h, star.neighbor(u, port))).all(), f"dimension {port + 2}"
    yield (moved[:, 0] == h[:, 0]).all(), f"{star.nodes**2 * star.ports:,} arcs"


@stated("Lemma 2", "rotation moves dimensions and symbol 1 on by r, and keeps distances to I", 2, 7, 9)
def _lemma_2(n: int) -> Claims:
    star, u = Star(n), np.arange(Star(n).nodes)
    turned = star.rotate(u)
    for port in range(star.ports):
        yield (star.rotate(star.neighbor(u, port)) == star.neighbor(turned, (port + 1) % star.ports)).all(), ""
    hole = _hole(star)
    # the front stays, all other positions move on
    yield (hole[turned] == np.where(hole == 0, 0, 1 + hole % star.ports)).all(), ""
    yield (star.distance(0, turned) == star.distance(0, u)).all(), ""


@stated("Lemma 3", "necklaces outside S^1 have n-1 nodes; every size divides n-1", 2, 7, 9)
def _lemma_3(n: int) -> Claims:
    star, u = Star(n), np.arange(Star(n).nodes)
    turned, size = star.rotate(u), np.zeros(star.nodes, np.int64)
    for times in range(1, star.ports + 1):
        # the fewest turns that bring it back
        size[(size == 0) & (turned == u)] = times
        turned = star.rotate(turned)
    yield (size > 0).all() and (star.ports % size == 0).all(), "a size does not divide n-1"
    yield (size[_hole(star) > 0] == star.ports).all(), f"{round((1 / size).sum()):,} necklaces"


@stated("Lemma 4", "subtree k of SPT is all of S^k; SPT is a shortest-path tree", 2, 8, 10)
def _lemma_4(n: int) -> Claims:
    star, hole = Star(n), _hole(Star(n))
    tree = star_trees.shortest_path_tree(star)
    inside = hole > 0
    above = tree.parent[inside]
    stays = (hole[above] == hole[inside]) | ((above == 0) & (tree.port[inside] == hole[inside] - 1))
    shorter = star.distance(0, above) == star.distance(0, np.arange(star.nodes)[inside]) - 1
    yield bool(stays.all()) and bool(shorter.all()), f"{int(inside.sum()):,} nodes"


@stated("Lemma 5", "SPG: n-1 parallel paths to each node of S^1, each as short as its end allows", 2, 8, 9)
def _lemma_5(n: int) -> Claims:
    """Walk up SPG itself: a node of S^1 is in all subtrees, any other in its own alone, and the ways to it share no node."""
    star, hole = Star(n), _hole(Star(n))
    distance = star.distance(0, np.arange(star.nodes))
    graph = star_trees.shortest_path_graph(star)
    there, every = graph.parent >= 0, np.arange(star.nodes)[1:]
    own = np.arange(1, n)[:, None] == hole[every]
    yield (there[:, every] == own | (hole[every] == 0)).all(), "a node is in other subtrees"
    tree_of, node = np.nonzero(there)
    right = not (star.neighbor(graph.parent[tree_of, node], graph.port[tree_of, node].astype(np.int64)) != node).any()
    yield right, "a way goes over no arc"
    loose = every[hole[every] == 0]
    for tree in range(star.ports):
        at = graph.parent[tree][loose].astype(np.int64)
        least, walked = distance[at] + 1, np.ones(len(loose), np.int64)  # no way with this last arc is shorter
        while bool((at > 0).any()):
            on = at > 0
            if bool((hole[at[on]] != tree + 1).any()):  # ways that stay in S^l, each in its own, are parallel
                yield False, f"a way of subtree {tree + 2} leaves S^{tree + 2}"
            at[on] = graph.parent[tree][at[on]]
            walked += on
        yield not (walked != least).any(), f"a way of subtree {tree + 2} is longer than it must be"
    yield True, f"{len(loose):,} nodes of S^1"


@cache  # one walk serves two lemmas
def _walked(n: int) -> tuple[int, int, int, int]:
    """Walk every node of every tree to the root; return (arcs walked, depth, lost node, node with a shared arc)."""
    from treecast.compiled import in_parallel
    from treecast.networks.kernels.star import walk_trees

    star, places, limit = Star(n), permutations.place_values(n), star_trees.paper_depth(n)
    parts = in_parallel(lambda a, b: walk_trees(a, b, places, limit, True), star.nodes, 1 << 15, "nodes")
    arcs, deepest, lost, shared = (np.array(column) for column in zip(*parts, strict=True))
    return int(arcs.sum()), int(deepest.max()), int(lost.max()), int(shared.max())


@stated("Lemma 6.1", "the n-1 trees of EDT span and are edge-disjoint", 3, 9, 15)
def _lemma_6_1(n: int) -> Claims:
    arcs, _, lost, shared = _walked(n)
    yield lost < 0 and shared < 0, f"{arcs:,} arcs walked"


@stated("Lemma 6.2", "each tree is a rotation of the one before", 3, 8, 10)
def _lemma_6_2(n: int) -> Claims:
    star, ports = Star(n), _disjoint(n).port.astype(np.int64)
    turned = star.rotate(np.arange(star.nodes))[1:]
    for t in range(star.ports):
        yield (ports[(t + 1) % star.ports, turned] == (ports[t, 1:] + 1) % star.ports).all(), ""


@stated("Lemma 6.3", "the n-1 tree paths to any node are node-disjoint", 3, 8, 10)
def _lemma_6_3(n: int) -> Claims:
    met = find_meeting_ways(_disjoint(n))
    yield met is None, f"{Star(n).nodes - 1:,} nodes" if met is None else f"at {Star(n).label(met[2])}"


@stated("Lemma 6.4", "depth at most ⌊3(n-1)/2⌋ + 4; exactly ⌊3n/2⌋ + 1", 3, 9, 15)
def _lemma_6_4(n: int) -> Claims:
    _, depth, lost, _ = _walked(n)
    exact, bound = star_trees.exact_depth(n, paper=True), star_trees.paper_depth(n)
    yield lost < 0 and depth == exact <= bound, f"{depth} ≤ {bound}"


@stated("broadcast", "⌈Mx/(n-1)⌉ + ⌊3n/2⌋ steps, Mx(N-1) transmissions, all x", 3, 6, 7)
def _broadcast_steps(n: int) -> Claims:
    star = Star(n)
    cases = list(product(range(1, n), (1, n - 1, 2 * n + 1, 1000), (0, star.nodes // 2 + 1)))
    for copies, messages, root in cases:
        schedule = plan("broadcast", star, root=root, messages=messages, copies=copies, **TREES)
        steps = -(-messages * copies // (n - 1)) + star_trees.exact_depth(n, paper=True) - 1
        sends = messages * copies * (star.nodes - 1)
        right = verify(schedule) and (schedule.steps, schedule.transmissions) == (steps, sends)
        yield right, f"x = {copies}, M = {messages}, root {star.label(root)}"
    yield True, f"{len(cases)} schedules"


@stated("near optimal", "⌊3n/2⌋ + 1 - D steps over the bound, x = 1: M < 2n, M = 10³, 10⁶", 3, 7, 9)
def _near_optimal(n: int) -> Claims:
    """Plans of every remainder of M, and of large M; between them both sides grow by one each n-1 messages.

    The bound is the paper's, ⌈M/(n-1)⌉ + D - 1. For some M a greater one is known.
    """
    star = Star(n)
    constant = star_trees.exact_depth(n, paper=True) - star.diameter
    for messages in (*range(1, 2 * n), 1000, 10**6):
        schedule = plan("broadcast", star, messages=messages, copies=1, **TREES)
        least = -(-messages // (n - 1)) + star.diameter - 1
        known = best(list(schedule_bounds(schedule)), "steps").value
        right = schedule.steps - least == constant and least <= known <= schedule.steps
        yield right, f"M = {messages}: {schedule.steps} steps, at least {least}"
    yield True, f"+{constant}"


@stated("speed-up", "over a single shortest-path tree, M = 10⁶: tends to n-1", 3, 7, 9)
def _speed_up(n: int) -> Claims:
    single = plan("broadcast", Star(n), messages=1_000_000, builder="breadth-first-tree")
    many = plan("broadcast", Star(n), messages=1_000_000, **TREES)
    ratio = single.steps / many.steps
    yield bool(verify(single)) and abs(ratio - (n - 1)) < 1e-3 * (n - 1), f"{ratio:.3f}"


def _swept(n: int, kinds: tuple[Kind, ...]) -> Claims:
    """Sweep the broadcasts of all copies, from two roots, of a message, of n-1, and of one more."""
    star, sets = Star(n), 0
    for copies, root, messages in product(range(1, n), (0, star.nodes // 2 + 1), (1, n - 1, n)):
        schedule = plan("broadcast", star, root=root, messages=messages, copies=copies, **TREES)
        for kind in kinds:
            found = sweep(schedule, kind=kind)
            sets += found.sets
            if found.counterexample is not None:
                yield False, " ".join(found.counterexample.describe(star))
    yield True, f"{sets:,} sets"


stated("survives", "all sets of ≤ x-1 nodes, all x; two roots; M = 1, n-1, n", 3, 4, 5)(lambda n: _swept(n, ("nodes",)))
stated("… arcs, links", "all sets of ≤ x-1 arcs, or links, all x; two roots; M = 1, n-1, n", 3, 4, 4)(
    lambda n: _swept(n, ("arcs", "links"))
)


@stated("tight", "some set of x nodes cuts a living node off, all x", 3, 7, 8)
def _tight(n: int) -> Claims:
    star = Star(n)
    far, said = int(np.argmax(star.distance(0, np.arange(star.nodes)))), ""
    for copies in range(1, n):
        schedule = plan("broadcast", star, messages=n - 1, copies=copies, **TREES)
        rows = schedule.rows.take(schedule.rows.dst == far)
        carry_first = [any(a == 0 for a, _ in rows.payloads.ranges(p)) for p in rows.payload.tolist()]
        # who brings it message 0 first in each tree is dead
        faults = Faults(dict.fromkeys(rows.src[np.array(carry_first)].tolist(), 0))
        right = len(faults) == copies and (far, 0) in [
            (node, first) for node, first, _ in replay(schedule, faults).lost
        ]
        yield right, f"x = {copies}: {star.label(far)} still hears message 0"
        said = f"{{{', '.join(faults.describe(star))}}} cut off {star.label(far)}"
    yield True, said
