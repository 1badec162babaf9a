"""No plan takes more steps than it once did, nor more transmissions in as many steps."""

import pytest

from tests.test_golden_steps import EACH, no_worse, some


@pytest.mark.parametrize(("words", "cost"), some(EACH // 2))
def test_no_plan_is_worse_than_it_was(words, cost):
    no_worse(words, cost)
