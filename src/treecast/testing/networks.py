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
from treecast.testing.rank import expect

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
    """Check one network in six parts."""
    nodes, ports = np.arange(where.nodes), np.arange(where.ports)

    def law(found: object, wanted: object, what: str) -> None:
        expect(found, wanted, f"{where.spec}: {what}")

    # 1. Arcs: the table, degrees, ports between nodes, arcs back.
    table = where.neighbor_table()
    law(table.shape, (where.nodes, where.ports), "the shape of the table of neighbours")
    law(bool(((table >= -1) & (table < where.nodes)).all()), True, "neighbours are nodes, or -1")
    arcs = Counter((u, v) for u, row in enumerate(table.tolist()) for v in row if v >= 0)
    law(where.arcs, arcs.total(), "arcs")
    law(where.degree, int((table >= 0).sum(axis=1).max(initial=0)), "degree")
    law(any(u == v for u, v in arcs), False, "an arc leads from a node to itself")
    law(where.parallel_arcs, max(arcs.values(), default=1) > 1, "parallel_arcs")
    law(where.both_ways, all((v, u) in arcs for u, v in arcs), "both_ways")
    law(
        where.every_pair_joined,
        where.every_pair_joined and len(arcs) == where.nodes * (where.nodes - 1),
        "every_pair_joined",
    )
    between = where.port_between(nodes[:, None], nodes)
    law({(u, v) for u, v in np.argwhere(between >= 0).tolist()}, set(arcs), "the pairs that port_between joins")
    u, v = np.nonzero(between >= 0)
    law(where.neighbor(u, between[u, v]).tolist(), v.tolist(), "the neighbours over port_between")
    outside = where.port_between([-1, 0, where.nodes, 0], [0, -1, 0, where.nodes])
    law(outside.tolist(), [-1] * 4, "ports to numbers that are no nodes")
    # 2. Labels name nodes, and are read again.
    labels = where.labels(nodes)
    law(len(set(labels)), where.nodes, "labels that differ")
    law([where.node(label) for label in labels], nodes.tolist(), "the nodes of its labels")
    # 3. Distances are those of a search along arcs.
    far = _searched(table)
    law(where.distance(nodes[:, None], nodes).tolist(), far.tolist(), "distances")
    among = far[np.ix_(where.ranks, where.ranks)]
    law(where.connected, bool((among >= 0).all()), "connected")
    law(where.diameter, int((far if where.connected and where.relays is None else among).max()), "diameter")
    # 4. Symmetries carry arcs to arcs.
    if where.seen_alike:
        for h in where:
            moved = where.translate(h, nodes)
            law((int(moved[0]), where.untranslate(h, moved).tolist()), (h, nodes.tolist()), f"the translation to {h}")
            law(
                where.neighbor(moved[:, None], ports).tolist(),
                moved[table].tolist(),
                f"arcs under the translation to {h}",
            )
    if where.ports_alike:
        turned = where.rotate(nodes)
        law(int(turned[0]), 0, "the node to which rotation carries node 0")
        moved = where.neighbor(turned[:, None], (ports + 1) % max(1, where.ports))
        law(moved.tolist(), turned[table].tolist(), "arcs under rotation")
    if where.flips_bits:
        law(table.tolist(), (nodes[:, None] ^ (1 << ports)).tolist(), "flips_bits: neighbours")
    # 5. Starts of shortest paths, in closed form.
    if (starts := where.shortest_starts()) is not None:
        nearer = (far[table[0]] == far[0] - 1).sum(axis=0)
        law(dict(starts), Counter(zip(far[0].tolist(), nearer.tolist(), strict=True)), "shortest_starts")
    # 6. Routes under wormhole switching go along shortest paths.
    if where.routed:
        routes = len(where.channels(nodes, nodes[::-1])[0])
        law(routes, int(far[nodes, nodes[::-1]].sum()), "the channels of routes")


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
    tokens = re.findall(r"[0-9]+|[A-Za-z]+|\S", formula)[::-1]

    def total() -> Fraction:
        value = product()
        while tokens and tokens[-1] in "+-":
            sign = 1 if tokens.pop() == "+" else -1
            value += sign * product()
        return value

    def product() -> Fraction:
        value = power()
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

    try:
        value = total()
    except (IndexError, KeyError, ValueError):  # words
        return None
    return int(value) if not tokens and value.denominator == 1 else None
