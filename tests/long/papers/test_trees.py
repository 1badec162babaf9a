""""""

import pytest

from tests import statements
from tests.papers.test_trees import NAMES
from treecast.papers.theorems import PAPERS


@pytest.mark.parametrize("statement", PAPERS["trees"], ids=NAMES)
def test_as_far_as_each_goes(statement):
    for n in range(statement.usual, statement.most + 1):
        statements.check_as_known(statement, n)
