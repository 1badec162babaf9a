"""The rules of every collective: the fast verifier, the expanded one and plain loops judge the same schedules."""

import pytest

from tests.strategies import KINDS
from tests.verification.test_rules import all_changes
from tests.verification.test_rules import no_threads as no_threads


@pytest.mark.parametrize("spec", ["star:3", "hypercube:2", "hypercube:3"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_change_of_one_row_of_any_kind_is_judged_right(kind, spec):
    all_changes(kind, spec, 10**6)
