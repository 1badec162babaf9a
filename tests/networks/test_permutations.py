import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import lexicographic
from treecast.networks import permutations as perm


@pytest.mark.parametrize("n", range(1, 8))
def test_ranks_are_those_of_itertools(n):
    rows = lexicographic(n) - 1
    words = perm.pack(rows)
    assert (perm.rank(words, n) == np.arange(len(rows))).all()
    assert (perm.unrank(np.arange(len(rows)), n) == words).all()
    assert (perm.unpack(words, n) == rows).all()


@st.composite
def two_permutations(draw):
    n = draw(st.integers(1, perm.MAX_SYMBOLS))
    return n, draw(st.permutations(range(n))), draw(st.permutations(range(n)))


@given(two_permutations())
def test_composition_and_inverse_against_plain_lists(case):
    n, p, q = case
    a, b = perm.pack(p), perm.pack(q)
    assert perm.unpack(perm.compose(a, b, n), n).tolist() == [p[j] for j in q]
    assert perm.unpack(perm.inverse(a, n), n).tolist() == [p.index(s) for s in range(n)]
    assert int(perm.compose(a, perm.inverse(a, n), n)) == perm.identity(n)
    assert int(perm.unrank(perm.rank(a, n), n)) == int(a)


@given(two_permutations(), st.data())
def test_swap_exchanges_two_symbols_and_is_its_own_inverse(case, data):
    n, p, _ = case
    k = data.draw(st.integers(0, n - 1))
    swapped = list(p)
    swapped[0], swapped[k] = p[k], p[0]
    word = perm.swap(perm.pack(p), k)
    assert perm.unpack(word, n).tolist() == swapped
    assert int(perm.swap(word, k)) == int(perm.pack(p))


@given(two_permutations())
def test_cycles_lead_round(case):
    n, p, _ = case
    word = int(perm.pack(p))
    cycles = perm.cycles(word, n)
    for cycle in cycles:
        assert len(cycle) >= 2
        assert cycle[0] == min(cycle)
        assert [p[s] for s in cycle] == [*cycle[1:], cycle[0]]
    assert {s for cycle in cycles for s in cycle} == {s for s in range(n) if p[s] != s}
    misplaced, count = perm.misplaced_and_cycles(word, n)
    assert (int(misplaced), int(count)) == (sum(p[s] != s for s in range(n)), len(cycles))
