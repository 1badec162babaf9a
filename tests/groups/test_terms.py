"""The terms of calls: what is said comes before the environment, nonsense is refused in one line, and unlike ones are named."""

import pytest

from treecast.errors import PlanError
from treecast.running.groups.terms import OVER_MPI, Terms, check_alike, read_words

SAID = {
    "survive": ("3", 3),
    "deadline": ("2.5", 2.5),
    "late": ("7", 7.0),
    "sure": ("1", True),
    "on_failed": ("raise", "raise"),
    "on_error": ("die", "die"),
    "sums": ("exact", "exact"),
    "network": ("ring:4", "ring:4"),
}


@pytest.mark.parametrize("usual", [Terms(), OVER_MPI])
@pytest.mark.parametrize("name", Terms._fields)
def test_a_program_comes_before_the_environment_and_that_before_what_is_usual(name, usual):
    text, value = SAID[name]
    there = {f"TREECAST_{name.upper()}": text}
    assert Terms.of({}, usual, {}) == usual
    assert Terms.of({}, usual, there).check() == usual._replace(**{name: value})
    given = getattr(usual, name)
    assert Terms.of({name: given}, usual, there) == usual


def test_a_term_that_is_none_is_named():
    with pytest.raises(PlanError, match=r"no term 'survice'; terms are survive, .*; did you mean 'survive'\?"):
        Terms.of({"survice": 1})


def test_none_in_the_environment_waits_for_ever():
    assert Terms.of({}, environment={"TREECAST_DEADLINE": "none", "TREECAST_LATE": ""})[1:3] == (None, None)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("survive", "x", "survive is a number of failures from 0, not 'x'"),
        ("survive", "-1", "survive is a number of failures from 0, not -1"),
        ("deadline", "soon", "deadline is a number of seconds above 0, not 'soon'"),
        ("late", "0", "late is a number of seconds above 0, not 0.0"),
        ("sure", "yes", "sure is True or False, not 'yes'"),
        ("on_failed", "keep", "on_failed is 'warn' or 'raise' or 'ignore', not 'keep'"),
        ("on_error", "", "on_error is 'abort' or 'die', not ''"),
    ],
)
def test_nonsense_is_refused_in_one_line(name, text, says):
    with pytest.raises(PlanError) as raised:
        Terms.of({}, environment={f"TREECAST_{name.upper()}": text}).check()
    assert str(raised.value) == says


@pytest.mark.parametrize("name", Terms._fields)
def test_unlike_terms_are_named_with_who_says_what(name):
    usual, other = Terms(), Terms()._replace(**{name: SAID[name][1]})
    check_alike(dict.fromkeys(range(3), usual.words()))
    with pytest.raises(PlanError) as raised:
        check_alike({0: usual.words(), 1: read_words(other.words()), 2: usual.words()})
    said = sorted([f"{getattr(usual, name)} (ranks 0, 2)", f"{getattr(other, name)} (rank 1)"])
    assert str(raised.value) == f"the ranks of a job say the same {name}, not {' and '.join(said)}"


def test_words_of_another_version_are_none():
    with pytest.raises(ValueError, match="no terms"):
        read_words(Terms().words()[:-1])
