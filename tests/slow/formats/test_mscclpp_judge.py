"""The judge of MSCCL++ plans: one for each rule, those that treecast writes, and alterations, against runs thread by thread."""

import pytest

from tests.formats.test_mscclpp_judge import WRITTEN, check_alterations


@pytest.mark.each(3)
@pytest.mark.parametrize(("kind", "spec", "messages"), WRITTEN)
def test_what_treecast_writes_holds_and_alterations_that_hold_end_right(kind, spec, messages):
    check_alterations(kind, spec, messages, 50)
