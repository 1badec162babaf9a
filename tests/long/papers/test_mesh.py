""""""

import pytest

from tests import statements
from tests.papers.test_mesh import NAMES
from treecast.papers.theorems import PAPERS


@pytest.mark.parametrize("statement", PAPERS["mesh"], ids=NAMES)
def test_as_far_as_each_goes(statement):
    for k in range(4, statement.most + 1):
        statements.check_as_known(statement, k)
