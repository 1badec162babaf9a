"""Inner loops of recursive bisection: least distances over grids, in flat arrays with the sides beside them."""
# pyright: basic

from treecast.kernels.compiled import njit


@njit
def sweep(field, sides, around, one):
    """Replace each entry of ``field``, int64, by the least of entry + ``one`` · L1 distance over all entries, in place.

    ``around``: int64, the length of each axis where its ends are joined, at least the side, else 0. Two sweeps per axis.
    """
    inner = 1
    for axis in range(len(sides) - 1, -1, -1):
        size = inner * sides[axis]
        for low in range(0, len(field), size):
            for _ in range(2 if around[axis] else 1):  # the second time with what came round
                for at in range(low + inner, low + size):
                    here, near = field[at], field[at - inner] + one
                    field[at] = near if near < here else here
                for at in range(low + size - inner - 1, low - 1, -1):
                    here, near = field[at], field[at + inner] + one
                    field[at] = near if near < here else here
                if around[axis]:
                    gap = (around[axis] - sides[axis] + 1) * one
                    for at in range(low, low + inner):
                        first, last = field[at], field[at + size - inner]
                        field[at] = min(first, last + gap)
                        field[at + size - inner] = min(last, first + gap)
        inner = size
