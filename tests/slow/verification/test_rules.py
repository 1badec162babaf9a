"""The rules of every collective: the fast verifier, the expanded one and plain loops judge the same schedules."""

import pytest
from hypothesis import given

from tests.oracles.plain import faults_found
from tests.strategies import ALL_SOURCE, KINDS, examples, mutations, spread_at_random
from tests.verification.test_rules import all_changes, graph, judged_alike, tight
from tests.verification.test_rules import no_threads as no_threads
from treecast.verification.verifier import verify


@pytest.mark.each(11)
@pytest.mark.parametrize("spec", ["star:3", "hypercube:2", pytest.param("hypercube:3", marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", KINDS)
def test_any_change_of_one_row_of_any_kind_is_judged_right(kind, spec):
    all_changes(kind, spec, 40)


@pytest.mark.each(3)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.long if kind in ALL_SOURCE else ()) for kind in KINDS]
)
def test_changes_of_one_row_on_a_larger_star(kind):
    for schedule in tight(kind, "star:4", 2):
        found = list(mutations(schedule))
        for _, build in found[:: 1 + len(found) // 8]:
            mutant = build()
            right, wrong = verify(mutant).holds, faults_found(mutant, graph(mutant.network))
            if right or schedule.copies == 1:
                assert right == (not wrong), (wrong, verify(mutant).violations)


@examples(80)
@given(spread_at_random())
def test_schedules_made_at_random(schedule):
    judged_alike(schedule)
