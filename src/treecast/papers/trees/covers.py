"""Covers of networks by trees with one root that share no link: which there are, and their gain.

Communication model: bufferless, multi-port. The paper shows two trees on the 4x4 mesh and two on the 4x4 torus, and says that
the mesh, the de Bruijn network and the hypercube have covers. Its figures are lost. Nothing here uses the checks of the builder.
"""

from collections.abc import Iterator
from typing import Any

from treecast.networks import Network, network
from treecast.networks.core import ints
from treecast.papers.statement import Claims, Statements
from treecast.papers.trees.builders.cover import Cover, cover
from treecast.plans import plan
from treecast.schedule.trees import Tree
from treecast.verification.verifier import verify

stated = Statements()
"""The statements of the paper on covers."""


def _steps(where: Network) -> list[int]:
    """Return the steps of a scatter of one flit to each node over a cover, and down one tree; 0 and -1 if one is wrong."""
    steps = list[int]()
    for builder in ("cover", "farthest-first"):
        schedule = plan("scatterv", where, lengths=1, model="bufferless-multiport", builder=builder)
        if not verify(schedule):
            return [0, -1]
        steps.append(schedule.steps)
    return steps


@stated("Figure 5", "two trees that share no arc span the 4x4 mesh, and two the 4x4 torus", 16, 16, 16)
def _two_trees(n: int) -> Claims:
    """Two trees on the mesh and on the torus that are as long as they are wide, as in the paper's Figure 5.

    Where more trees are found, half of them are made one: of their links those that lead to a node first.
    """
    side = round(n**0.5)
    for where in (network(f"mesh:{side}x{side}"), network(f"torus:{side}x{side}")):
        found = [_links(tree) for tree in _found(where, 0).trees]
        half = len(found) // 2
        both = [_spanning(set[frozenset[int]]().union(*part), 0) for part in (found[:half], found[half:])]
        reached = {v for tree in both for v in (0, *tree)}
        links = [frozenset(link) for tree in both for link in tree.items()]
        right = len(reached) == n and len(links) == len(set(links)) and all(both)
        yield right, f"{where.spec}: {len(reached)} nodes, {len(links)} links"
    yield True, f"{side}x{side}, from node 0"


def _networks(n: int) -> Iterator[Network]:
    """Yield the networks of n nodes that the paper names."""
    for side in range(2, n):
        if side * side <= n and n % side == 0:
            yield network(f"mesh:{side}x{n // side}")
            yield network(f"torus:{side}x{n // side}")
    for letters in range(2, n):
        length = 1
        while letters**length < n:
            length += 1
        if letters**length == n and length > 1:
            yield network(f"debruijn:{letters},{length}")
    if n & (n - 1) == 0:
        yield network(f"hypercube:{n.bit_length() - 1}")


def _links(tree: Tree) -> set[frozenset[int]]:
    """Return the links of a tree, each with its two ends; a part that does not lead to the root has none."""
    parents = tree.parent.tolist()
    links = [(v, above) for v, above in enumerate(parents) if above >= 0 and v in tree.network.neighbors(above)]
    reached = _spanning({frozenset(link) for link in links}, tree.root)
    return {frozenset((v, parents[v])) for v in reached}


def _wrong(found: list[Tree], root: int) -> str:
    """Return why trees are no cover, or nothing: their links differ, and every node is at the end of one of them."""
    each = [_links(tree) for tree in found]
    reached = {v for links in each for link in links for v in link}
    if sum(map(len, each)) != len(set[frozenset[int]]().union(*each)):
        return "a link is in two trees"
    if len(reached | {root}) != found[0].network.nodes:
        return f"{len(reached | {root})} nodes are reached"
    return ""


def _found(where: Network, root: int) -> Cover:
    return cover(where, root, ints([v != root for v in range(where.nodes)]))


@stated("covers", "mesh, torus, de Bruijn, hypercube: from every root; as fast as one tree", 8, 16, 36)
def _named_covers(n: int) -> Claims:
    said = list[str]()
    for where in _networks(n):
        counts = list[int]()
        for root in range(where.nodes):
            found = _found(where, root)
            wrong = _wrong(list(found.trees), root)
            yield not wrong, f"{where.spec} from {where.label(root)}: {wrong}"
            counts.append(len(found.trees))
        steps, alone = _steps(where)
        yield steps <= alone, f"{where.spec}: {max(counts)} trees, {steps} steps, down one tree {alone}"
        trees = str(max(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        said.append(f"{where.spec} {trees} trees, {steps} steps for {alone}")
    yield True, "; ".join(said) or f"no such network of {n} nodes"


def _spanning(links: set[frozenset[int]], root: int) -> dict[int, int]:
    """Return the node above each node but the root that some links lead to, in a tree of these links."""
    import networkx

    nx: Any = networkx  # its functions have no types
    graph = nx.Graph(map(tuple, links))
    graph.add_node(root)
    return dict(nx.bfs_predecessors(graph, root, sort_neighbors=sorted))
