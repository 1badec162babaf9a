import pytest

from tests import statements
from tests.papers.test_trees import NAMES, verdict
from treecast.errors import PlanError
from treecast.papers.theorems import PAPERS, check_theorems

pytestmark = pytest.mark.each(3)


@pytest.mark.parametrize("most", [4, pytest.param(5, marks=pytest.mark.long)])
@pytest.mark.parametrize("statement", PAPERS["trees"], ids=NAMES)
def test_every_statement_of_the_tree_paper_is_as_it_is_known(statement, most):
    for n in range(statement.least, max(statement.least, min(most, statement.usual)) + 1):
        statements.check_as_known(statement, n)


def test_it_is_counted_by_nodes():
    found = check_theorems("trees", up_to=3)
    assert [f.name for f in found] == NAMES
    assert len(set(NAMES)) == len(NAMES)
    checked = {"N = 2 … 3", "N = 3 … 3", "N = 16 … 16", "N = 8 … 8"}
    assert {f.checked for f in found} == checked | {"N = 3"}  # where Theorem 3 is false
    with pytest.raises(PlanError, match="N = 2"):
        check_theorems("trees", up_to=1)


def test_how_far_certificates_are_from_the_optimum():
    assert [verdict("lower bound", n).detail.split()[-4] for n in (2, 3, 4, 5)] == ["2.00", "2.50", "2.67", "2.75"]
