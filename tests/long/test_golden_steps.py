"""No plan takes more steps than it once did, nor more transmissions in as many steps."""

import pytest

from tests.test_golden_steps import LINES, no_worse


@pytest.mark.parametrize(("words", "cost"), LINES)
def test_no_plan_at_all_is_worse_than_it_was(words, cost):
    no_worse(words, cost)
