"""One node of the star network: its neighbours, its parent and its children in the trees of Fragopoulou & Akl.

A permutation is a word (see treecast.networks.permutations), with positions, symbols and trees counted from 0: symbol 0
is the paper's symbol 1, tree l (1 ≤ l < n) its T_(l+1), a position d ≥ 1 its dimension d+1. Run as they are, these functions
tell the facts that one node has to know, with no compiler at hand; ``networks/kernels/star.py`` has the same in loops over all
nodes.

All functions take a few operations on words, whatever the length of the permutation.
"""

from treecast.compiled import compilable, lowest_bit

# the lowest bit of each symbol: 15 of them in a 64-bit word, 16 where numbers have any length
_ONES = 0x1111111111111111


@compilable
def symbol(word: int, position: int) -> int:
    """Return the symbol at ``position``; of an inverse word, the position of a symbol.

    word = 4 bits each:   … | 8 … 11: position 2 | 4 … 7: position 1 | 0 … 3: position 0
    """
    return (word >> (4 * position)) & 15


@compilable
def swapped(word: int, inverse: int, position: int) -> tuple[int, int]:
    """Return the word and its inverse after the symbols of position 0 and of ``position`` changed places."""
    first, other = word & 15, symbol(word, position)
    # xor with this turns each of the two symbols into the other one
    change = first ^ other
    return (
        word ^ change ^ (change << (4 * position)),
        # in the inverse the same two positions change, at the two symbols
        inverse ^ (position << (4 * first)) ^ (position << (4 * other)),
    )


@compilable
def differing(word: int, other: int) -> int:
    """Return a mask of the positions at which two words differ: bit 4j for position j.

    The four bits of a symbol are joined in its lowest one: 4 to 2, 2 to 1. What shifts leave in the other bits is masked out.
    """
    wrong = word ^ other
    wrong |= wrong >> 2
    return (wrong | wrong >> 1) & _ONES


@compilable
def shortest_parent(word: int, hole: int, identity: int) -> int:
    """Return the position over which the SPT parent lies of a node with symbol 0 at position ``hole`` (Definition 6).

    Where symbol 0 is in front, which SPT leaves out: the first position that leads nearer to the root.
    """
    first = word & 15
    if first != hole:
        return first  # symbol 0 is not in front: bring the front symbol home
    # the first misplaced position cyclically right of the hole; the hole's own is the answer when there is no other
    wrong = differing(word, identity) & ~1  # the hole itself is bit 0 of the word, and out of question
    right = wrong & (-16 << (4 * hole))  # minus 16, shifted: all positions to the right of the hole
    return lowest_bit(right if right != 0 else wrong) >> 2  # a bit 4j is position j


@compilable
def paper_parent(word: int, inverse: int, tree: int, identity: int) -> int:
    """Return the position over which the parent in tree ``tree`` of the paper's edge-disjoint trees lies (Definition 8).

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


@compilable
def is_mended(word: int, inverse: int, identity: int) -> bool:
    """Return whether a node is one of those below which the paper's trees are an arc deeper than they have to be.

    It has no fixed symbol, symbol 0 is in a cycle of four, and all other cycles have two symbols. So n is even.
    """
    if differing(word, identity) != differing(identity, 0) | 1:  # most nodes on most ways have a symbol at home
        return False
    second = symbol(word, word & 15)
    if second == 0 or symbol(word, second) != inverse & 15:
        # 0 ─▶ first ─▶ second ─▶ hole ─▶ 0: four positions
        return False
    ring = 1 | 1 << 4 * (word & 15) | 1 << 4 * second | 1 << 4 * (inverse & 15)
    return differing(word, inverse) == ring  # elsewhere the permutation is its own inverse: pairs


@compilable
def mended_parent(word: int, inverse: int, tree: int, identity: int) -> int:
    """Return the position over which the parent of such a node lies where the paper's rule is not kept, else 0.

    Symbol 0 goes over positions 0, a, m and ``hole``. Once a is home, the paper's way leads on to a node with symbol 0
    in front only in the tree of the symbol that is then at p, the position cyclically right of the hole. So the three
    trees that are concerned change parents, according to the symbol at p.
    """
    hole, a = inverse & 15, word & 15
    m = symbol(word, a)
    p = hole + 1 if symbol(identity, hole + 1) != 0 else 1  # cyclically: behind the last position comes 1
    if p == a:
        return 0
    if p == m:
        return m if tree == a else hole if tree == m else 0
    if tree == hole:
        return p
    if tree == m:
        return a
    return m if tree == symbol(word, p) else 0


@compilable
def disjoint_parent(word: int, inverse: int, tree: int, identity: int) -> int:
    """Return the position over which the parent in tree ``tree`` of the edge-disjoint trees lies.

    That is the paper's rule, except for the nodes that ``is_mended`` says.
    """
    if is_mended(word, inverse, identity):
        position = mended_parent(word, inverse, tree, identity)  # 0: the paper's rule holds
        if position != 0:
            return position
    return paper_parent(word, inverse, tree, identity)
