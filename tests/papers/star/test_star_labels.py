"""Allgather on stars by label sets: the sets that come with the package, the rule of one copy, the search, and damaged files."""

from math import factorial
from pathlib import Path

import numpy as np
import pytest

from tests.oracles.allgather import check_rows, least
from treecast.errors import PlanError
from treecast.networks import Star, network
from treecast.papers.star.builders import label_sets
from treecast.plans import disjoint_trees, plan
from treecast.plans.times.timetable import pack
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

SPARE = {(7, 5): 8, (8, 3): 606, (8, 4): 762, (8, 5): 798, (8, 6): 673}
"""Of the sets with conflicts, how many labels had to be added."""


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_stars_meet_the_bound(n):
    star = network(f"star:{n}")
    for copies in range(1, n):
        schedule = plan("allgather", star, copies=copies)
        assert schedule.recipe.builder == "label-sets"
        assert schedule.steps == schedule.claims.steps == least(star, 1, copies)
        check_rows(star, schedule)


@pytest.mark.parametrize("copies", [1, 2, 3, 4, 6])
def test_the_star_of_seven_symbols_meets_the_bound(copies):
    star = network("star:7")
    schedule = plan("allgather", star, copies=copies)
    assert schedule.steps == least(star, 1, copies)
    check_rows(star, schedule, ways=copies == 3)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_many_messages_meet_the_bound(n):
    star = network(f"star:{n}")
    for copies in range(1, n):
        for messages in (2, 3, n - 1, 11):
            schedule = plan("allgather", star, copies=copies, messages=messages)
            assert schedule.steps == least(star, messages, copies), (copies, messages)
            assert verify(schedule).holds


def test_where_sets_have_conflicts_some_nodes_hear_more_often():
    """S_7, five copies: some sends of each node's data beyond the bound; the plan counts them, the report shows the gap."""
    schedule = plan("allgather", "star:7", copies=5)
    report = verify(schedule)
    assert report.holds
    assert report.transmissions == schedule.claims.transmissions == (5 * 5039 + 8) * 5040
    assert (report.steps, least(schedule.network, 1, 5)) == (4201, 4200)


@pytest.mark.parametrize("n", [3, 4])
def test_both_verifiers_and_all_dead_nodes_and_links(n):
    for copies in range(1, n):
        schedule = plan("allgather", f"star:{n}", copies=copies)
        assert verify(schedule, method="expanded").holds
        for what in ("nodes", "links") if copies > 1 else ():
            found = sweep(schedule, copies - 1, what)
            assert (found.exhaustive, found.failing) == (True, 0)


# --- the file and the search ---


def test_the_sets_come_in_any_order_and_back():
    star = Star(5)
    masks = np.random.default_rng(1).integers(0, 16, star.nodes)
    masks[0] = 0
    node, turn = label_sets.by_necklaces(star)  # stored are the sets that nodes would have, turned back to the least
    kept = ((masks[node] >> turn) | (masks[node] << (4 - turn))) & 15
    assert np.array_equal(label_sets.read_sets(star, 0, kept.astype(np.uint8).tobytes()), masks)


def test_sets_are_what_the_file_is_to_hold():
    found = label_sets.known_sets()
    assert set(found) == {(n, copies) for n in range(4, 9) for copies in range(2, n - 1)}
    for (n, copies), data in found.items():
        many = np.bitwise_count(label_sets.read_sets(Star(n), copies, data)[1:])
        assert many.min() == copies
        assert many.sum() == copies * (factorial(n) - 1) + SPARE.get((n, copies), 0)


def test_a_damaged_file_makes_no_schedule(monkeypatch):
    known = dict(label_sets.known_sets())
    right = known[5, 2]
    refused = 0
    for place in range(0, len(right), 7):
        for change in (1, 3, 8):
            known[5, 2] = right[:place] + bytes([right[place] ^ change]) + right[place + 1 :]
            monkeypatch.setattr(label_sets, "known_sets", lambda: known)
            try:
                schedule = plan("allgather", "star:5", copies=2, builder="label-sets")
            except PlanError as error:
                assert "closed" in str(error) or "copies" in str(error)  # noqa: PT017
                refused += 1
            else:
                assert verify(schedule).holds
    assert refused > 20
    known[5, 2] = right[:-1]
    with pytest.raises(PlanError, match="119 bytes, not 118"):
        plan("allgather", "star:5", copies=2, builder="label-sets")


def test_a_file_that_cannot_be_read_is_an_error(monkeypatch, tmp_path):
    whole = Path(label_sets.__file__).with_name("star_labels.npz").read_bytes()
    monkeypatch.setattr(label_sets, "files", lambda package: tmp_path)
    for text in (None, b"", b"no archive", whole[: len(whole) // 2], whole[:3000] + bytes(500) + whole[3500:]):
        if text is not None:
            (tmp_path / "star_labels.npz").write_bytes(text)
        label_sets.known_sets.cache_clear()
        with pytest.raises(PlanError, match=r"^the label sets .* cannot be read: [^\n]+; install it again$"):
            label_sets.known_sets()
    label_sets.known_sets.cache_clear()


@pytest.mark.parametrize(
    ("n", "copies"), [(5, 2), *(pytest.param(*case, marks=pytest.mark.long) for case in ((4, 2), (5, 3)))]
)
def test_the_search_finds_sets(n, copies):
    star = network(f"star:{n}")
    schedule = plan("allgather", star, copies=copies, search=1)
    assert schedule.steps == least(star, 1, copies)
    check_rows(star, schedule)
    assert plan("allgather", star, copies=copies, search="1").rows == schedule.rows
    assert "--search 1" in schedule.command


def test_a_search_without_time_still_gives_closed_sets():
    star, trees = Star(5), disjoint_trees("star:5", trees="paper")
    masks = label_sets.find(trees, label_sets.begin(star, 3), moves=8, hot=0.7)
    assert (np.bitwise_count(masks[1:]) >= 3).all()
    assert pack(trees, masks[None]).steps >= 90


def test_what_has_no_sets_goes_by_whole_trees(monkeypatch):
    monkeypatch.setattr(label_sets, "known_sets", dict)
    assert plan("allgather", "star:5", copies=3).recipe.builder == "disjoint-trees"
    filled = plan("allgather", "star:5", copies=3, messages=4)
    assert (filled.recipe.builder, filled.steps) == ("label-sets", 3 * 119)
    with pytest.raises(PlanError, match="give the option search"):
        plan("allgather", "star:5", copies=3, builder="label-sets")


def test_what_needs_no_search_takes_none():
    for asked in ({"copies": 1}, {"copies": 3}, {"copies": 2, "messages": 3}):
        with pytest.raises(PlanError, match="nothing to search for"):
            plan("allgather", "star:4", search=1, **asked)
    for text in ("0", "x", "-1", "1.5"):
        with pytest.raises(PlanError, match="millions"):
            plan("allgather", "star:4", copies=2, search=text)


STEPS_OF_S_8 = {2: 11520, 3: 17367, 4: 23149, 5: 28914, 6: 34656, 7: 40319}


@pytest.mark.long
@pytest.mark.parametrize("n", [6, 7])
def test_many_messages_meet_the_bound_on_larger_stars(n):
    star = network(f"star:{n}")
    for copies in range(1, n):
        for messages in range(1, 2 * n):
            schedule = plan("allgather", star, copies=copies, messages=messages)
            assert verify(schedule).holds
            if (n, copies) != (7, 5):
                assert schedule.steps == least(star, messages, copies), (copies, messages)


@pytest.mark.long
def test_the_rule_of_one_copy_needs_no_search():
    star = network("star:8")
    schedule = plan("allgather", star)
    assert schedule.steps == least(star, 1, 1) == (factorial(8) - 1 + 6) // 7
    check_rows(star, schedule, ways=False)


@pytest.mark.long
@pytest.mark.parametrize(("copies", "steps"), STEPS_OF_S_8.items())
def test_copies_on_eight_symbols(copies, steps):
    schedule = plan("allgather", "star:8", copies=copies)
    assert schedule.steps == steps
    assert verify(schedule).holds
