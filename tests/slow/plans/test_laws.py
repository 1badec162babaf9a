"""Laws between collectives: no plan takes more steps than another one that does its work."""

import pytest

from tests.plans.test_laws import FEW, check, check_copies, check_links, where_of


@pytest.mark.each(2)
@pytest.mark.parametrize("name", FEW)
def test_no_collective_takes_more_steps_than_others_that_do_its_work(name):
    check(where_of(name), 2, few=True)


@pytest.mark.each(5)
@pytest.mark.parametrize("name", ["ring:5", "path:5", "tree:2,2", "complete:4", "fat-tree:2"])
def test_more_cables_are_never_slower_and_more_copies_never_faster(name):
    check_links(where_of(name), 2)
    check_copies(where_of(name), 2)
