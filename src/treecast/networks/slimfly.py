"""Slim flies: routers of degree about 3q/2 in two halves of q², any two of which are at most two links apart.

Their graphs are those of McKay, Miller & Širáň, "A note on large graphs of diameter two and given maximum degree" (1998), in
the form of Hafner (2004); as an interconnection network Besta & Hoefler, at the International Conference for High Performance
Computing, Networking, Storage and Analysis (2014).
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from math import isqrt
from typing import ClassVar

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.core import Ints
from treecast.networks.family import counted, family
from treecast.networks.graph import Graph
from treecast.networks.symmetry import AbelianSymmetry, Automorphism, Symmetry

_MOST = 128
_MOST_NODES = 1 << 20


@family(
    "slim-fly",
    "Q[,P]",
    example="slim-fly:5",
    summary="two halves of Q² routers, at most two links apart; Q a prime power; with P hosts a router, routers are relays",
    nodes="2 Q² (1 + P)",
    degree="P + (3Q - δ)/2, Q = 4w + δ",
    diameter="2, between hosts 4",
    members=lambda ranks: [q for q in counted(lambda q: 2 * q * q)(ranks) if _prime_of(int(q))],
)
class SlimFly(Graph):
    """The slim fly of a prime power q, 3 ≤ q ≤ 128: 2q² nodes, diameter 2.

    Over the field of q elements, (0, x, y) is joined to (1, m, c) where y = m x + c, to (0, x, y + d) for d in one set, and
    (1, m, c) to (1, m, c + d) for d in another. A label is those three numbers; where q is no prime, an element of the field
    is the number with its coefficients as digits. With p hosts a router, hosts have a fourth number, and come first; routers are
    relays then.

    >>> from treecast import network
    >>> where = network("slim-fly:5")
    >>> where.nodes, where.degree, where.diameter
    (50, 7, 2)
    >>> where.labels(where.neighbors(where.node("0,1,2")))
    ['0,1,1', '0,1,3', '1,0,2', '1,1,1', '1,2,0', '1,3,4', '1,4,3']
    >>> hosted = network("slim-fly:5,3")
    >>> hosted.rank_count, hosted.labels(hosted.neighbors(hosted.node("0,1,2,0"))), hosted.symmetry.order
    (150, ['0,1,2'], 25)
    """

    described: ClassVar[str] = "a slim fly"

    def __init__(self, q: int, hosts: int = 0) -> None:
        spec = f"slim-fly:{q}" + (f",{hosts}" if hosts else "")
        if not (prime := _prime_of(q)):
            raise NetworkError(
                f"{spec} is no network: write slim-fly:Q with a power of a prime Q from 3 to {_MOST}, as in slim-fly:13"
            )
        if 2 * q * q * (1 + hosts) > _MOST_NODES:
            raise NetworkError(f"{spec} has {2 * q * q:,} routers: at most {_MOST_NODES:,} nodes")
        names = [f"{half},{x},{y}" for half in range(2) for x in range(q) for y in range(q)]
        self._field, self._shape = _field(q, prime), (q, prime, hosts)
        arcs, relays = _arcs(*self._field), None
        if hosts:
            host, count = np.arange(len(names) * hosts), len(names) * hosts
            wires = np.stack([host, count + host // hosts], axis=1)
            arcs = np.concatenate([wires, wires[:, ::-1], arcs + count])
            relays = np.arange(count + len(names)) >= count
            names = [f"{router},{host}" for router in names for host in range(hosts)] + names
        super().__init__(spec, names, arcs, relays)

    @cached_property
    def symmetry(self) -> Symmetry | None:
        """Of odd Q, y and c + t, and x + a with m + a, y + a x and c - a (m + a): powers of a prime, of which all are free."""
        q, prime, hosts = self._shape
        plus, times, _ = self._field
        if prime == 2:
            return super().symmetry
        minus, (x, y), found = np.argmax(plus == 0, axis=1), np.divmod(np.arange(q * q), q), list[Automorphism]()
        step = 1
        while step < q:
            m = plus[x, step]
            moved = [m * q + plus[y, times[step, x]], q * q + m * q + plus[y, minus[times[m, step]]]]
            up = x * q + plus[y, step]
            for words, image in (
                (f"y+{step}", np.concatenate([up, q * q + up])),
                (f"x+{step}", np.concatenate(moved)),
            ):
                below = (image[:, None] * hosts + np.arange(hosts)).ravel()
                found.append(Automorphism(words, prime, np.concatenate([below, len(below) + image])))
            step *= prime
        return AbelianSymmetry(self, found)


def _prime_of(q: int) -> int:
    """Return the prime of which q, from 3 to 128, is a power; else 0."""
    if not 3 <= q <= _MOST:
        return 0
    prime = next((p for p in range(2, isqrt(q) + 1) if q % p == 0), q)
    rest = q
    while rest % prime == 0:
        rest //= prime
    return prime if rest == 1 else 0


def _field(q: int, prime: int) -> tuple[Ints, Ints, Ints]:
    """Return the sums and products in the field of q elements, int64 (q, q), and the powers of one that makes all others.

    They are polynomials over ``prime``, modulo one of which x makes all others.
    """
    digits = [np.arange(q)]
    # column k has each element divided by prime^k: its last digit is the coefficient k
    while prime ** len(digits) < q:
        digits.append(digits[-1] // prime)
    length = len(digits)
    columns = np.stack([column % prime for column in digits])
    weights = prime ** np.arange(length)
    plus = np.tensordot(weights, (columns[:, :, None] + columns[:, None, :]) % prime, 1)
    # the powers of one that makes all, with 0, are the whole field
    powers = next(some for some in _candidates(q, prime, length) if len({0, *some}) == q)
    logarithm = np.zeros(q, np.int64)
    logarithm[powers] = np.arange(q - 1)
    times = np.array(powers)[(logarithm[:, None] + logarithm) % (q - 1)]  # logarithms add up
    times[0] = times[:, 0] = 0  # 0 has no logarithm
    return plus, times, np.array(powers)


def _candidates(q: int, prime: int, length: int) -> Iterator[list[int]]:
    """Yield the q - 1 first powers of some element, for each element or each polynomial that may do."""
    if length == 1:
        yield from ([pow(root, e, prime) for e in range(q - 1)] for root in range(1, prime))
        return
    for rest in product(range(prime), repeat=length):  # x^length = the polynomial with these coefficients
        word, powers = [1, *[0] * (length - 1)], list[int]()
        for _ in range(q - 1):
            powers.append(sum(digit * prime**place for place, digit in enumerate(word)))
            top = word[-1]
            # times x: coefficients move up, and the top one brings x^length, as those of ``rest``
            word = [(low + top * r) % prime for low, r in zip([0, *word[:-1]], rest, strict=True)]
        yield powers


def _arcs(plus: Ints, times: Ints, powers: Ints) -> Ints:
    """Return the arcs, by their ends: int64, shape (arcs, 2)."""
    q = len(plus)
    half = (q + 1) // 4  # w, where q = 4w - 1
    even = [*range(0, 2 * half - 1, 2), *range(2 * half - 1, 4 * half - 2, 2)] if q % 4 == 3 else [*range(0, q - 1, 2)]
    odd = [*range(1, 2 * half, 2), *range(2 * half, 4 * half - 1, 2)] if q % 4 == 3 else [*range(1, q, 2)]
    x, y = np.divmod(np.arange(q * q), q)
    parts = list[Ints]()
    for side, exponents in enumerate((even, odd)):
        for step in powers[np.array(exponents) % (q - 1)]:
            parts.append(np.stack([side * q * q + x * q + y, side * q * q + x * q + plus[y, step]], axis=1))
    for m in range(q):  # (1, m, c) with y = m x + c, c as y here
        across = np.stack([x * q + plus[times[m, x], y], q * q + m * q + y], axis=1)
        parts += [across, across[:, ::-1]]
    return np.concatenate(parts)
