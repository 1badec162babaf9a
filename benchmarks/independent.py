"""Independent trees on named networks, as many as the connectivity, by plans that are verified.

``python -m benchmarks.independent`` prints the table of docs/explanation/copies.md in some minutes, with names behind it the rows
of networks whose names begin so: ``FQ AQ_4``. networkx says the connectivity. Fewer trees make the exit status 1.
"""

import sys
import time
from itertools import combinations, permutations

import networkx as nx

import treecast

COLUMNS = ("network", "nodes", "links", "connectivity", "trees", "depth", "diameter")


def _graph(nodes, beside):
    """The graph of some nodes and the nodes beside each."""
    return nx.Graph((u, v) for u in nodes for v in beside(u) if u != v)


def _words(n, beside):
    """A graph on the words of n bits, as numbers."""
    return _graph(range(1 << n), beside)


def _folded(n):
    return _words(n, lambda u: [*(u ^ 1 << i for i in range(n)), u ^ (1 << n) - 1])


def _augmented(n):
    return _words(n, lambda u: [*(u ^ 1 << i for i in range(n)), *(u ^ (2 << i) - 1 for i in range(n))])


def _moebius(n, top):
    """Bit i flips alone if bit i + 1 is 0, and with all below it if that is 1; above the highest stands ``top``."""
    return _words(n, lambda u: [u ^ ((2 << i) - 1 if (u | top << n) >> i + 1 & 1 else 1 << i) for i in range(n)])


def _crossed(n):
    """Along dimension i pairs of bits below it change as 01 - 11 do, or stay as 00 and 10 do; the bit alone below i stays."""

    def across(u, i):
        v = u ^ 1 << i
        for low in range(0, i - 1, 2):
            v ^= (u >> low & 1) << low + 1
        return v

    return _words(n, lambda u: [across(u, i) for i in range(n)])


def _locally_twisted(n):
    return _words(n, lambda u: [u ^ 1, u ^ 2, *(u ^ 1 << i ^ (u & 1) << i - 1 for i in range(2, n))])


def _cayley(n, moves):
    """A graph on the orders of n symbols; a move is the order in which it takes the symbols."""
    return _graph(permutations(range(n)), lambda p: [tuple(p[i] for i in move) for move in moves])


def _swaps(n, pairs):
    moves = []
    for i, j in pairs:
        move = list(range(n))
        move[i], move[j] = j, i
        moves.append(move)
    return _cayley(n, moves)


def _pancake(n):
    return _cayley(n, [[*reversed(range(k)), *range(k, n)] for k in range(2, n + 1)])


def _knoedel(d):
    half = 1 << d - 1
    return _graph([(0, j) for j in range(half)], lambda u: [(1, (u[1] + (1 << k) - 1) % half) for k in range(d)])


def _connected_cycles(n):
    nodes = [(w, i) for w in range(1 << n) for i in range(n)]
    return _graph(nodes, lambda u: [(u[0], (u[1] + 1) % n), (u[0] ^ 1 << u[1], u[1])])


def _butterfly(n):
    nodes = [(w, i) for w in range(1 << n) for i in range(n)]
    return _graph(nodes, lambda u: [(u[0], (u[1] + 1) % n), (u[0] ^ 1 << u[1], (u[1] + 1) % n)])


def _de_bruijn(n):
    return _words(n, lambda u: [(2 * u + bit) % (1 << n) for bit in (0, 1)])


def _sets(n, k, common):
    """The k-sets of n, joined if they have so many in common."""
    nodes = [frozenset(some) for some in combinations(range(n), k)]
    return _graph(nodes, lambda u: [v for v in nodes if len(u & v) == common])


def _paley(q):
    squares = {x * x % q for x in range(1, q)}
    return _graph(range(q), lambda u: [(u + s) % q for s in squares])


def named():
    """Yield the name of each network and the function that makes its graph."""
    for n in (4, 5, 7):
        yield f"FQ_{n}, folded cube", lambda n=n: _folded(n)
    for n in (3, 4, 5, 6, 7):
        yield f"AQ_{n}, augmented cube", lambda n=n: _augmented(n)
    for n in (4, 5, 6):
        for top in (0, 1):
            yield f"{top}-MQ_{n}, Möbius cube", lambda n=n, top=top: _moebius(n, top)
    for n in (4, 5, 6, 7):
        yield f"CQ_{n}, crossed cube", lambda n=n: _crossed(n)
    for n in (4, 5, 6, 7, 8):
        yield f"LTQ_{n}, locally twisted cube", lambda n=n: _locally_twisted(n)
    for n in (4, 5, 6):
        yield f"P_{n}, pancake graph", lambda n=n: _pancake(n)
    for n in (4, 5, 6):
        yield f"B_{n}, bubble-sort graph", lambda n=n: _swaps(n, [(i, i + 1) for i in range(n - 1)])
    yield "T_4, transposition graph", lambda: _swaps(4, combinations(range(4), 2))
    for d in (4, 5, 6):
        yield f"W({d}, {1 << d}), Knödel graph", lambda d=d: _knoedel(d)
    for n in (3, 4):
        yield f"CCC_{n}, cube-connected cycles", lambda n=n: _connected_cycles(n)
        yield f"BF_{n}, wrapped butterfly", lambda n=n: _butterfly(n)
    yield "UB(2, 6), de Bruijn graph, both ways", lambda: _de_bruijn(6)
    yield "K(6, 2), Kneser graph", lambda: _sets(6, 2, 0)
    yield "K(7, 3), Kneser graph", lambda: _sets(7, 3, 0)
    yield "J(6, 3), Johnson graph", lambda: _sets(6, 3, 2)
    yield "Paley graph of 13", lambda: _paley(13)
    yield "Paley graph of 17", lambda: _paley(17)
    yield "Hoffman-Singleton graph", nx.hoffman_singleton_graph
    yield "Tutte-Coxeter graph", lambda: nx.LCF_graph(30, [-13, -9, 7, -7, 9, 13], 5)
    yield "C_5 x C_5 x C_5", lambda: nx.grid_graph([5, 5, 5], periodic=True)
    yield "K_{3,7}", lambda: nx.complete_bipartite_graph(3, 7)
    yield "wheel of 60", lambda: nx.wheel_graph(60)


def row(name, graph):
    """Plan a broadcast of one message over as many trees as the connectivity; return the row of a network, as a tuple."""
    graph = nx.convert_node_labels_to_integers(graph)
    apart = nx.node_connectivity(graph)
    report = treecast.verify(treecast.plan("broadcast", graph, copies=apart))
    trees = report.schedule.copies if report.holds else 0
    return name, len(graph), graph.number_of_edges(), apart, trees, report.depth, nx.diameter(graph)


def main(wanted):
    """Print the table; return 1 if a network has fewer trees than its connectivity."""
    lacking = 0
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for name, make in named():
        if not wanted or any(name.startswith(text) for text in wanted):
            began = time.process_time()
            found = row(name, make())
            lacking += found[3] != found[4]
            print(f"| {' | '.join(map(str, found))} |", flush=True)
            print(f"{name}: {time.process_time() - began:.1f} s", file=sys.stderr, flush=True)
    return int(lacking > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
