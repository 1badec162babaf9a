"""Ranks that die, stop, or are cut off: the others say the same, with the right data, and go on."""

import pytest

from tests.tcp.test_kills import LITTLE, MUCH, held
from tests.tcp.trials import NAMES


@pytest.mark.parametrize(("count", "quick"), [(LITTLE, False), (LITTLE, True), (MUCH, False), (MUCH, True)])
@pytest.mark.parametrize("name", NAMES)
def test_every_rank_dies_at_every_step_of_every_collective(name, count, quick):
    held(
        f"trials.QUICK = {quick}; n, wrong = trials.every_step(4, [{name!r}], {count}, ('die', 'half')); assert n > 1, n"
    )


def test_three_of_eight_die_at_once():
    held(
        "wrong = list(filter(None, [trials.judge(*trials.run(8, [(name, 0, count) for name in trials.NAMES] * 2,"
        "[trials.Fault(v, frame + v) for v in (2, 5, 7)], survive=3), (2, 5, 7))"
        " for count in (8, 40_000) for frame in range(1, 60, 7)]))"
    )
