"""The cases over PyTorch's process groups, on ranks that are processes."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.outcomes.cases import RANKS, cases_of, judge
from tests.outcomes.over_torch import program
from tests.outcomes.play import LITTLE, MUCH
from tests.torch.ranks import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", cases_of("torch"), ids=str)
def test_over_pytorch(case, tmp_path):
    count = MUCH if case.fate == "in" else LITTLE
    late = {"late": 0.5} if case.fate == "late" else {}
    found = run(
        RANKS, program, case, count, tmp_path, survive=case.survive, deadline=30.0, on_failed=case.on_failed, **late
    )
    said = [None if each is None else each[0] for each in found]
    judge(case, said, "".join(each[1] for each in found if each is not None))
