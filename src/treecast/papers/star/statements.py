"""Statements of Fragopoulou & Akl: the star network, its trees, and broadcast over them."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np

from treecast.lower_bounds import best, schedule_bounds
from treecast.networks import Star, permutations
from treecast.papers.statement import Statement, Verdict
from treecast.plans import plan
from treecast.plans.trees import star as star_trees
from treecast.schedule.trees import TreeSet
from treecast.simulation.fault_sets import Kind
from treecast.simulation.faults import Faults
from treecast.simulation.replay import replay
from treecast.simulation.sweeps import sweep
from treecast.verification.trees import find_meeting_ways
from treecast.verification.verifier import verify


def _every(star: Star) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(star.nodes)


def _hole(star: Star) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the position of symbol 1 in every node, counted from 0."""
    return permutations.symbol_at(permutations.inverse(star.words(_every(star)), star.n), 0)


@cache
def _disjoint(n: int) -> TreeSet:
    return star_trees.disjoint_trees(Star(n), paper=True)


def _distances(n: int) -> Verdict:
    star, table = Star(n), Star(n).neighbor_table()
    level = np.full(star.nodes, -1)
    front, depth = np.array([0]), 0
    while len(front):
        level[front] = depth
        front, depth = np.unique(table[front]), depth + 1
        front = front[level[front] < 0]
    same = bool((level == star.distance(0, _every(star))).all())
    return Verdict(same and int(level.max()) == star.diameter, str(star.diameter))


def _lemma_1(n: int) -> Verdict:
    star = Star(n)
    h, u = _every(star)[:, None], _every(star)[None, :]
    moved = star.translate(h, u)
    holds = all(
        bool((star.neighbor(moved, port) == star.translate(h, star.neighbor(u, port))).all())
        for port in range(star.ports)
    )
    return Verdict(holds and bool((moved[:, 0] == h[:, 0]).all()), f"{star.nodes**2 * star.ports:,} arcs")


def _lemma_2(n: int) -> Verdict:
    star, u = Star(n), _every(Star(n))
    turned = star.rotate(u)
    arcs = all(
        bool((star.rotate(star.neighbor(u, port)) == star.neighbor(turned, (port + 1) % star.ports)).all())
        for port in range(star.ports)
    )
    hole = _hole(star)
    holes = bool((hole[turned] == np.where(hole == 0, 0, 1 + hole % star.ports)).all())
    return Verdict(arcs and holes and bool((star.distance(0, turned) == star.distance(0, u)).all()))


def _lemma_3(n: int) -> Verdict:
    star, u = Star(n), _every(Star(n))
    turned, size = star.rotate(u), np.zeros(star.nodes, np.int64)
    for times in range(1, star.ports + 1):
        size[(size == 0) & (turned == u)] = times
        turned = star.rotate(turned)
    divide = bool((size > 0).all()) and bool((star.ports % size == 0).all())
    return Verdict(
        divide and bool((size[_hole(star) > 0] == star.ports).all()),
        f"{round((1 / size).sum()):,} necklaces",
    )


def _lemma_4(n: int) -> Verdict:
    star, hole = Star(n), _hole(Star(n))
    tree = star_trees.shortest_path_tree(star)
    inside = hole > 0
    above = tree.parent[inside]
    stays = (hole[above] == hole[inside]) | ((above == 0) & (tree.port[inside] == hole[inside] - 1))
    shorter = star.distance(0, above) == star.distance(0, _every(star)[inside]) - 1
    return Verdict(bool(stays.all()) and bool(shorter.all()), f"{int(inside.sum()):,} nodes")


def _lemma_5(n: int) -> Verdict:
    """Walk up SPG itself: a node of S^1 is in all subtrees, any other in its own alone, and the ways to it share no node."""
    star, hole, distance = Star(n), _hole(Star(n)), Star(n).distance(0, _every(Star(n)))
    graph = star_trees.shortest_path_graph(star)
    there, every = graph.parent >= 0, _every(star)[1:]
    own = np.arange(1, n)[:, None] == hole[every]
    if not bool((there[:, every] == (own | (hole[every] == 0))).all()):
        return Verdict(False, "a node is in other subtrees")
    tree_of, node = np.nonzero(there)
    if bool((star.neighbor(graph.parent[tree_of, node], graph.port[tree_of, node].astype(np.int64)) != node).any()):
        return Verdict(False, "a way goes over no arc")
    loose = every[hole[every] == 0]
    for tree in range(star.ports):
        at = graph.parent[tree][loose].astype(np.int64)
        least, walked = distance[at] + 1, np.ones(len(loose), np.int64)  # no way with this last arc is shorter
        while bool((at > 0).any()):
            on = at > 0
            if bool((hole[at[on]] != tree + 1).any()):  # ways that stay in S^l, each in its own, are parallel
                return Verdict(False, f"a way of subtree {tree + 2} leaves S^{tree + 2}")
            at[on] = graph.parent[tree][at[on]]
            walked += on
        if bool((walked != least).any()):
            return Verdict(False, f"a way of subtree {tree + 2} is longer than it must be")
    return Verdict(True, f"{len(loose):,} nodes of S^1")


@cache  # one walk serves two lemmas
def _walked(n: int) -> tuple[int, int, int, int]:
    """Walk every node of every tree to the root; return (arcs walked, depth, lost node, node with a shared arc)."""
    from treecast.kernels.compiled import in_parallel
    from treecast.kernels.star import walk_trees

    star, places, limit = Star(n), permutations.place_values(n), star_trees.paper_depth(n)
    parts = in_parallel(lambda a, b: walk_trees(a, b, places, limit, True), star.nodes, 1 << 15, "nodes")
    arcs, deepest, lost, shared = (np.array(column) for column in zip(*parts, strict=True))
    return int(arcs.sum()), int(deepest.max()), int(lost.max()), int(shared.max())


def _lemma_6_1(n: int) -> Verdict:
    arcs, _, lost, shared = _walked(n)
    return Verdict(lost < 0 and shared < 0, f"{arcs:,} arcs walked")


def _lemma_6_2(n: int) -> Verdict:
    star, ports = Star(n), _disjoint(n).port.astype(np.int64)
    turned = star.rotate(_every(star))[1:]
    return Verdict(
        all(
            bool((ports[(t + 1) % star.ports, turned] == (ports[t, 1:] + 1) % star.ports).all())
            for t in range(star.ports)
        )
    )


def _lemma_6_3(n: int) -> Verdict:
    met = find_meeting_ways(_disjoint(n))
    return Verdict(met is None, f"{Star(n).nodes - 1:,} nodes" if met is None else f"at {Star(n).label(met[2])}")


def _lemma_6_4(n: int) -> Verdict:
    _, depth, lost, _ = _walked(n)
    exact, bound = star_trees.exact_depth(n, paper=True), star_trees.paper_depth(n)
    return Verdict(lost < 0 and depth == exact <= bound, f"{depth} ≤ {bound}")


_TREES: dict[str, Any] = {"builder": "disjoint-trees", "trees": "paper"}
"""The trees of the paper's broadcasts."""


def _broadcast_steps(n: int) -> Verdict:
    star, cases = Star(n), 0
    for copies in range(1, n):
        for messages in (1, n - 1, 2 * n + 1, 1000):
            for root in (0, star.nodes // 2 + 1):
                schedule = plan("broadcast", star, root=root, messages=messages, copies=copies, **_TREES)
                steps = -(-messages * copies // (n - 1)) + star_trees.exact_depth(n, paper=True) - 1
                sends = messages * copies * (star.nodes - 1)
                if not verify(schedule) or (schedule.steps, schedule.transmissions) != (steps, sends):
                    return Verdict(False, f"x = {copies}, M = {messages}, root {star.label(root)}")
                cases += 1
    return Verdict(True, f"{cases} schedules")


def _near_optimal(n: int) -> Verdict:
    """Plans of every remainder of M, and of large M; between them both sides grow by one each n-1 messages."""
    star = Star(n)
    constant = star_trees.exact_depth(n, paper=True) - star.diameter
    for messages in (*range(1, 2 * n), 1000, 10**6):
        schedule = plan("broadcast", star, messages=messages, copies=1, **_TREES)
        least = best(list(schedule_bounds(schedule)), "steps").value
        if schedule.steps - least != constant or least != -(-messages // (n - 1)) + star.diameter - 1:
            return Verdict(False, f"M = {messages}: {schedule.steps} steps, at least {least}")
    return Verdict(True, f"+{constant}")


def _speed_up(n: int) -> Verdict:
    single = plan("broadcast", Star(n), messages=1_000_000, builder="shortest-path-tree")
    many = plan("broadcast", Star(n), messages=1_000_000, **_TREES)
    ratio = single.steps / many.steps
    return Verdict(bool(verify(single)) and abs(ratio - (n - 1)) < 1e-3 * (n - 1), f"{ratio:.3f}")


def _survives(n: int) -> Verdict:
    return _swept(n, ("nodes",))


def _arcs_survive(n: int) -> Verdict:
    return _swept(n, ("arcs", "links"))


def _swept(n: int, kinds: tuple[Kind, ...]) -> Verdict:
    """Sweep the broadcasts of all copies, from two roots, of a message, of n-1, and of one more."""
    star, sets = Star(n), 0
    for copies, root, messages in product(range(1, n), (0, star.nodes // 2 + 1), (1, n - 1, n)):
        schedule = plan("broadcast", star, root=root, messages=messages, copies=copies, **_TREES)
        for kind in kinds:
            found = sweep(schedule, kind=kind)
            sets += found.sets
            if found.counterexample is not None:
                return Verdict(False, " ".join(found.counterexample.describe(star)))
    return Verdict(True, f"{sets:,} sets")


def _tight(n: int) -> Verdict:
    star = Star(n)
    far, said = int(np.argmax(star.distance(0, _every(star)))), ""
    for copies in range(1, n):
        schedule = plan("broadcast", star, messages=n - 1, copies=copies, **_TREES)
        rows = schedule.rows.take(schedule.rows.dst == far)
        carry_first = [any(a == 0 for a, _ in rows.payloads.ranges(p)) for p in rows.payload.tolist()]
        faults = Faults(dict.fromkeys(rows.src[np.array(carry_first)].tolist(), 0))
        if len(faults) != copies or (far, 0) not in [(node, first) for node, first, _ in replay(schedule, faults).lost]:
            return Verdict(False, f"x = {copies}: {star.label(far)} still hears message 0")
        said = f"{{{', '.join(faults.describe(star))}}} cut off {star.label(far)}"
    return Verdict(True, said)


STATEMENTS = (
    Statement("distance", "the distance to I is s + c, or s + c - 2; the diameter ⌊3(n-1)/2⌋", 2, 8, 9, _distances),
    Statement("Lemma 1", "translation keeps the dimension of every edge", 2, 6, 6, _lemma_1),
    Statement(
        "Lemma 2",
        "rotation moves dimensions and symbol 1 on by r, and keeps distances to I",
        2,
        7,
        9,
        _lemma_2,
    ),
    Statement("Lemma 3", "necklaces outside S^1 have n-1 nodes; every size divides n-1", 2, 7, 9, _lemma_3),
    Statement("Lemma 4", "subtree k of SPT is all of S^k; SPT is a shortest-path tree", 2, 8, 10, _lemma_4),
    Statement(
        "Lemma 5", "SPG: n-1 parallel paths to each node of S^1, each as short as its end allows", 2, 8, 9, _lemma_5
    ),
    Statement("Lemma 6.1", "the n-1 trees of EDT span and are edge-disjoint", 3, 9, 15, _lemma_6_1),
    Statement("Lemma 6.2", "each tree is a rotation of the one before", 3, 8, 10, _lemma_6_2),
    Statement("Lemma 6.3", "the n-1 tree paths to any node are node-disjoint", 3, 8, 10, _lemma_6_3),
    Statement("Lemma 6.4", "depth at most ⌊3(n-1)/2⌋ + 4; exactly ⌊3n/2⌋ + 1", 3, 9, 15, _lemma_6_4),
    Statement("broadcast", "⌈Mx/(n-1)⌉ + ⌊3n/2⌋ steps, Mx(N-1) transmissions, all x", 3, 6, 7, _broadcast_steps),
    Statement(
        "near optimal", "⌊3n/2⌋ + 1 - D steps over the bound, x = 1: M < 2n, M = 10³, 10⁶", 3, 7, 9, _near_optimal
    ),
    Statement("speed-up", "over a single shortest-path tree, M = 10⁶: tends to n-1", 3, 7, 9, _speed_up),
    Statement("survives", "all sets of ≤ x-1 nodes, all x; two roots; M = 1, n-1, n", 3, 4, 5, _survives),
    Statement(
        "… arcs, links", "all sets of ≤ x-1 arcs, or links, all x; two roots; M = 1, n-1, n", 3, 4, 4, _arcs_survive
    ),
    Statement("tight", "some set of x nodes cuts a living node off, all x", 3, 7, 8, _tight),
)
"""The statements of sections 2 to 4, in the order of the paper."""
