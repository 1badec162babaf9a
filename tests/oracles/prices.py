"""What data pays where arcs have prices, and what a step can sell, in plain Python: other algorithms than those of treecast."""

from itertools import combinations

import networkx as nx


def cheapest_tree(root, arcs, nodes):
    """Edmonds' recursion over dictionaries: the price of a cheapest spanning tree from ``root``; arcs are (tail, head, price)."""
    into = {}
    for u, v, price in arcs:
        if v != root and u != v and (v not in into or price < into[v][1]):
            into[v] = (u, price)
    if set(into) != set(nodes) - {root}:
        return None
    for start in into:
        seen, v = [], start
        while v in into and v not in seen:
            seen.append(v)
            v = into[v][0]
        if v in into:
            circle = set(seen[seen.index(v) :])
            one = frozenset(circle)
            name = {v: one if v in circle else v for v in nodes}
            paid = sum(into[v][1] for v in circle)
            left = [(name[u], name[v], price - (into[v][1] if v in circle else 0)) for u, v, price in arcs]
            rest = cheapest_tree(root, left, set(name.values()))
            return None if rest is None else paid + rest
    return sum(price for _, price in into.values())


def cheapest_steiner(root, arcs, nodes, wanted):
    """Dreyfus & Wagner's table: the price of a cheapest tree from ``root`` to all that are wanted, past whatever nodes."""
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    for u, v, price in arcs:
        if not graph.has_edge(u, v) or graph[u][v]["weight"] > price:
            graph.add_edge(u, v, weight=price)
    far = dict(nx.all_pairs_dijkstra_path_length(graph))
    goals = sorted(set(wanted) - {root})
    cost = {(v, frozenset([g])): far[v].get(g, float("inf")) for v in nodes for g in goals}
    for size in range(2, len(goals) + 1):
        for some in map(frozenset, combinations(goals, size)):
            first = min(some)
            meet = {
                v: min(
                    cost[v, part] + cost[v, some - part]
                    for k in range(size - 1)
                    for more in combinations(sorted(some - {first}), k)
                    for part in [frozenset({first, *more})]
                )
                for v in nodes
            }
            for v in nodes:
                cost[v, some] = min(far[v].get(u, float("inf")) + meet[u] for u in nodes)
    return cost[root, frozenset(goals)] if goals else 0


def most_sold(arcs, ports, half):
    """The most that the sends of one step cost together; arcs are (tail, head, link, price)."""
    if ports == "all":
        best = {}
        for a, (_, _, link, price) in enumerate(arcs):
            key = link if half else a
            best[key] = max(best.get(key, 0), price)
        return sum(best.values())
    graph = nx.Graph()
    for u, v, _, price in arcs:
        ends = (u, v) if half else (("out", u), ("in", v))
        if price and (not graph.has_edge(*ends) or graph.edges[ends]["weight"] < price):
            graph.add_edge(*ends, weight=price)
    return sum(graph.edges[pair]["weight"] for pair in nx.max_weight_matching(graph))
