"""One node of the star network: its neighbours, its parent and its children in the trees of Fragopoulou & Akl.

A permutation is a word (see treecast.networks.permutations), with positions, symbols and trees counted from 0: symbol 0
is the paper's symbol 1, tree l (1 ≤ l < n) its T_(l+1), a position d ≥ 1 its dimension d+1. Run as they are, these functions
tell what one node has to know, with no compiler at hand; ``kernels/star.py`` has the same in loops over all nodes.
"""

_ONES = 0x111111111111111  # the lowest bit of each of 15 symbols


def lowest_bit(value: int) -> int:
    """Return the place of the lowest bit set in a number that is not 0."""
    return (value & -value).bit_length() - 1


def symbol(word: int, position: int) -> int:
    """Return the symbol at ``position``; of an inverse word, the position of a symbol."""
    return (word >> (4 * position)) & 15


def swapped(word: int, inverse: int, position: int) -> tuple[int, int]:
    """Return the word and its inverse after the symbols of position 0 and of ``position`` changed places."""
    first, other = word & 15, symbol(word, position)
    change = first ^ other
    return (
        word ^ change ^ (change << (4 * position)),
        inverse ^ (position << (4 * first)) ^ (position << (4 * other)),
    )


def shortest_parent(word: int, hole: int, identity: int) -> int:
    """Return the position over which the SPT parent lies of a node with symbol 0 at position ``hole`` (Definition 6).

    Where symbol 0 is in front, which SPT leaves out: the first position that leads nearer to the root.
    """
    first = word & 15
    if first != hole:
        return first
    # the first misplaced position cyclically right of the hole; the hole's own is the answer when there is no other
    wrong = word ^ identity
    wrong |= wrong >> 2
    wrong = (wrong | wrong >> 1) & _ONES
    wrong &= ~1
    right = wrong & (-16 << (4 * hole))
    return lowest_bit(right if right != 0 else wrong) >> 2


def disjoint_parent(word: int, inverse: int, tree: int, identity: int) -> int:
    """Return the position over which the parent in tree ``tree`` of the edge-disjoint trees lies (Definition 8).

    ``word`` is not the identity. Spec: one of the positions of symbols 0, ``tree``, or of the node's own hole.
    """
    hole = inverse & 15
    if tree == hole:  # first, since most of the way to the root lies in this part of the network
        return shortest_parent(word, hole, identity)
    if hole == 0:
        return tree
    first = word & 15
    if first == tree:
        return hole  # which is not in front, for then it would be the tree
    after = symbol(word, shortest_parent(word, hole, identity))  # the first symbol of the SPT parent
    if tree != after:
        return symbol(inverse, tree)
    return hole if first == hole else symbol(inverse, hole)


def child_positions(word: int, inverse: int, tree: int, n: int, identity: int) -> int:
    """Return the mask of the positions over which the children of a node in an edge-disjoint tree lie."""
    mask = 0
    for position in range(1, n):
        child, child_inverse = swapped(word, inverse, position)
        if child != identity and disjoint_parent(child, child_inverse, tree, identity) == position:
            mask |= 1 << position
    return mask


def depth_in_tree(word: int, inverse: int, tree: int, identity: int) -> int:
    """Return how many arcs an edge-disjoint tree has between the root and a node."""
    depth = 0
    while word != identity:
        word, inverse = swapped(word, inverse, disjoint_parent(word, inverse, tree, identity))
        depth += 1
    return depth
