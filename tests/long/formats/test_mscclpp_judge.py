"""The judge of MSCCL++ plans: one for each rule, those that treecast writes, and alterations, against runs thread by thread."""

import pytest

from tests.formats.test_mscclpp_judge import WRITTEN, check_alterations, check_spoiled


@pytest.mark.parametrize(("kind", "spec", "messages"), WRITTEN)
def test_many_alterations_that_hold_end_right(kind, spec, messages):
    check_alterations(kind, spec, messages, 170)


def test_whatever_is_changed_at_length_there_is_a_verdict():
    check_spoiled(range(300, 10700))
