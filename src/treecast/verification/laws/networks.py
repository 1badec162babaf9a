"""The laws of a network: what it says of itself is what its arcs say, and a family's formulas are its members' figures."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import factorial, floor, prod
from typing import Any

import numpy as np

from treecast.networks import families, network
from treecast.networks.core import Network
from treecast.networks.family import Family
from treecast.verification.laws.expecting import expect

_MOST = 60
"""Members of a family with up to so many ranks are looked at."""


def check_network(which: Any) -> None:
    """Check a network, or a family: its example, and all members with few ranks that it lists.

    Parameters
    ----------
    which : str, Network or graph
        The name of a family, as ``wheel``, or what ``treecast.network`` takes. All pairs of nodes are looked at.

    Raises
    ------
    AssertionError
        For the first law that is broken: ``wheel:6: degree: there is 5, not 3``.
    NetworkError
        When it is no network.

    Examples
    --------
    >>> from treecast.testing import check_network
    >>> check_network("mesh:3x4")
    >>> check_network("circulant")
    """
    if not isinstance(which, str) or which not in families():
        _check(network(which))
        return
    family = families()[which]
    example = network(family.example)
    if family.nodes or not (example.stored or family.arguments in ("PATH", "NAME")):
        expect(example.family, which, f"{family.example}: the name of its family")
        expect(network(example.spec), example, f"{family.example}: what its spelling finds")
    _check(example)
    _check_formulas(family, example, exact=True)
    for ranks in range(1, _MOST):
        for text in family.with_ranks(ranks):
            member = network(text)
            expect(member.rank_count, ranks, f"{text}, listed among those with {ranks} ranks: its ranks")
            _check_formulas(family, member, exact=False)


def _check(where: Network) -> None:
    """Check one network."""
    table = where.neighbor_table()
    far = _searched(table)
    _check_arcs(where, table)
    _check_distances(where, table, far)
    _check_symmetries(where, table)


def _check_arcs(where: Network, table: Any) -> None:
    """Check the table of neighbours, what is said of it, ports between nodes, and labels."""
    nodes, said = np.arange(where.nodes), f"{where.spec}: "
    expect(table.shape, (where.nodes, where.ports), said + "the shape of the table of neighbours")
    expect(bool(((table >= -1) & (table < where.nodes)).all()), True, said + "whether neighbours are nodes, or -1")
    arcs = Counter((u, v) for u, row in enumerate(table.tolist()) for v in row if v >= 0)
    expect(where.arcs, arcs.total(), said + "arcs")
    expect(where.degree, int((table >= 0).sum(axis=1).max(initial=0)), said + "degree")
    expect([u for u, v in arcs if u == v], [], said + "arcs from a node to itself")
    expect(where.parallel_arcs, max(arcs.values(), default=1) > 1, said + "parallel_arcs")
    expect(where.both_ways, all((v, u) in arcs for u, v in arcs), said + "both_ways")
    if where.every_pair_joined:
        expect(len(arcs), where.nodes * (where.nodes - 1), said + "arcs, as every pair is joined")
    between = where.port_between(nodes[:, None], nodes)
    u, v = np.nonzero(between >= 0)
    expect(set(zip(u.tolist(), v.tolist(), strict=True)), set(arcs), said + "the pairs that port_between joins")
    expect(where.neighbor(u, between[u, v]).tolist(), v.tolist(), said + "the neighbours over port_between")
    outside = where.port_between([-1, 0, where.nodes, 0], [0, -1, 0, where.nodes])
    expect(outside.tolist(), [-1] * 4, said + "ports to numbers that are no nodes")
    labels = where.labels(nodes)
    expect([where.node(label) for label in labels], nodes.tolist(), said + "the nodes of its labels")


def _check_distances(where: Network, table: Any, far: Any) -> None:
    """Check distances, routes and what is said of the farthest, against those of a search."""
    nodes, said = np.arange(where.nodes), f"{where.spec}: "
    expect(where.distance(nodes[:, None], nodes).tolist(), far.tolist(), said + "distances")
    among = far[np.ix_(where.ranks, where.ranks)]
    expect(where.connected, bool((among >= 0).all()), said + "connected")
    expect(where.diameter, int((far if where.connected and where.relays is None else among).max()), said + "diameter")
    if (starts := where.shortest_starts()) is not None:
        nearer = (far[table[0]] == far[0] - 1).sum(axis=0)
        expect(dict(starts), Counter(zip(far[0].tolist(), nearer.tolist(), strict=True)), said + "shortest_starts")
    if where.routed:
        routes = len(where.channels(nodes, nodes[::-1])[0])
        expect(routes, int(far[nodes, nodes[::-1]].sum()), said + "how many channels the routes to opposite nodes have")


def _check_symmetries(where: Network, table: Any) -> None:
    """Check that translations and the rotation carry arcs to arcs."""
    nodes, ports, said = np.arange(where.nodes), np.arange(where.ports), f"{where.spec}: "
    for h in where if where.seen_alike else ():
        moved = where.translate(h, nodes)
        there = (int(moved[0]), where.untranslate(h, moved).tolist())
        expect(there, (h, nodes.tolist()), said + f"the translation to {h}, and back")
        found = where.neighbor(moved[:, None], ports).tolist()
        expect(found, moved[table].tolist(), said + f"arcs under the translation to {h}")
    if where.ports_alike:
        turned = where.rotate(nodes)
        expect(int(turned[0]), 0, said + "the node to which rotation carries node 0")
        found = where.neighbor(turned[:, None], (ports + 1) % max(1, where.ports)).tolist()
        expect(found, turned[table].tolist(), said + "arcs under rotation")
    if where.flips_bits:
        expect(table.tolist(), (nodes[:, None] ^ (1 << ports)).tolist(), said + "neighbours, as ports flip bits")


def _searched(table: Any) -> Any:
    """Return all distances by a search, -1 where no path leads: int64 (N, N)."""
    nodes = len(table)
    far = np.full((nodes, nodes), -1, np.int64)
    for root in range(nodes):
        level, far[root, root] = [root], 0
        while level:
            found = np.unique(table[level])
            level = found[(found >= 0) & (far[root, found] < 0)].tolist()
            far[root, level] = far[root].max() + 1
    return far


def _check_formulas(family: Family, member: Network, *, exact: bool) -> None:
    """Hold figures against formulas: members with short sides have a smaller degree or diameter than their formula says."""
    text = member.spec.partition(":")[2]
    numbers = family.numbers(text) if family.arguments else []
    if numbers is None:  # a variant, or a text
        return
    for name in ("nodes", "degree", "diameter"):
        value, found = read_formula(getattr(family, name), family.arguments, numbers), getattr(member, name)
        if value is not None and (exact or name == "nodes" or found > value):
            expect(found, value, f"{member.spec}: {name}, which its family says is {getattr(family, name)}")


def read_formula(formula: str, arguments: str, numbers: Sequence[int]) -> int | None:
    """Return the value of a formula of a family for a member; None where the formula has words that are no arithmetic.

    >>> read_formula("⌊3(N - 1)/2⌋", "N", [5]), read_formula("A - 1 + B - 1 + …", "AxBx…", [3, 4, 5])
    (6, 9)
    >>> read_formula("2 per side", "AxBx…", [8, 8, 8]), read_formula("the larger of H + S and L", "L,S,H", [9, 2, 3])
    (6, 9)
    """
    letters = re.findall("[A-Z]+", arguments)
    known = dict(zip(letters, [*numbers, *[0] * len(letters)], strict=False))  # what may be left out is 0
    if formula.endswith("…"):  # the term of A, once for each side
        sums = formula.endswith(" + …")
        some = formula.removesuffix(" + …" if sums else " …")
        term = some[: (len(some) - (3 if sums else 1)) // 2]
        terms = [read_formula(term, "A", [side]) for side in numbers]
        every = [each for each in terms if each is not None]
        return None if len(every) < len(terms) else sum(every) if sums else prod(every)
    if " per " in formula:  # each of the numbers that repeat
        value = read_formula(formula.partition(" per ")[0], arguments, numbers)
        return None if value is None else value * len(numbers if "A" in known else numbers[1:])
    if formula.startswith("the larger of "):
        both = [read_formula(part, arguments, numbers) for part in formula[14:].split(" and ")]
        return None if None in both else max(each for each in both if each is not None)
    return _value(formula, known)


def _value(formula: str, known: Mapping[str, int]) -> int | None:
    """Return the value of a formula in which things that stand side by side are multiplied."""
    # 1. Tokens, the last one first, so that `pop` takes the next.
    tokens = re.findall(r"[0-9]+|[A-Za-z]+|\S", formula)[::-1]

    # 2. The grammar, a function for each level: sums, products, powers, single things.
    def total() -> Fraction:
        value = product()
        while tokens and tokens[-1] in "+-":
            sign = 1 if tokens.pop() == "+" else -1
            value += sign * product()
        return value

    def product() -> Fraction:
        value = power()
        # Things side by side are multiplied: all that ends no product is its next factor.
        while tokens and tokens[-1] not in "+-)⌋":
            if tokens[-1] == "/":
                tokens.pop()
                value /= power()
            else:
                value *= power()
        return value

    def power() -> Fraction:
        value = single()
        while tokens and tokens[-1] in "!^²":
            match tokens.pop():
                case "!":
                    value = Fraction(factorial(int(value)))
                case "^":
                    value **= int(single())
                case _:
                    value **= 2
        return value

    def single() -> Fraction:
        token = tokens.pop()
        if token in "(⌊":
            value = total()
            tokens.pop()
            return value if token == "(" else Fraction(floor(value))
        return Fraction(int(token) if token.isdigit() else known[token])

    # 3. The value; words that are no arithmetic have none.
    try:
        value = total()
    except (IndexError, KeyError, ValueError):  # words
        return None
    return int(value) if not tokens and value.denominator == 1 else None
