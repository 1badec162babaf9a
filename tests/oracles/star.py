"""The parents of Definitions 6 and 7 of Fragopoulou & Akl, node by node: SPT and SPG of the star network."""

from treecast.errors import NetworkError
from treecast.networks import permutations
from treecast.networks.kernels import star_node
from treecast.plans.ways.trees.hops import check_tree


def seen_from(star, node, root):
    """Return the word of ``node`` as the root sees it, where it has symbol 1, and the identity."""
    word = star.words(star.untranslate(star.check_node(root), star.check_node(node)))
    return int(word), int(permutations.inverse(word, star.n)) & 15, permutations.identity(star.n)


def parent_spt(star, node, root=0):
    """Return the parent of ``node`` in the shortest-path tree SPT, None at the root (Definition 6)."""
    word, hole, identity = seen_from(star, node, root)
    if word == identity:
        return None
    if hole == 0:
        raise NetworkError(f"{star.label(node)} is not in the shortest-path tree: its symbol 1 is in front")
    port = star_node.shortest_parent(word, hole, identity) - 1
    return int(star.neighbor(node, port)), port


def parent_spg(star, node, tree, root=0):
    """Return the parent of ``node`` in subtree ``tree`` of the shortest-path graph SPG (Definition 7); None outside it."""
    word, hole, identity = seen_from(star, node, root)
    if word == identity or hole not in (0, check_tree(star, tree) + 1):
        return None
    return (int(star.neighbor(node, tree)), tree) if hole == 0 else parent_spt(star, node, root)
