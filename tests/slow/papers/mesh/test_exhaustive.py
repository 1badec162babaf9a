"""What bounds total distances, held against all broadcasts; and the builder that searches them."""

import pytest

from tests.papers.mesh.test_bisection import exact, shapes
from tests.papers.mesh.test_exhaustive import across, by_formula, found
from treecast.lower_bounds import LEAST_OF_ALL, best
from treecast.networks import Mesh


@pytest.mark.each(7)
@pytest.mark.parametrize("shape", shapes(16, 2), ids=str)
def test_no_bound_is_above_the_least_of_all_broadcasts_and_the_search_is_that(shape):
    truth, mesh = exact(shape).reshape(-1), Mesh(shape)
    for root in range(mesh.nodes):
        assert by_formula(mesh, root, LEAST_OF_ALL) == truth[root]
        assert best(found(mesh, root), "tcd").value == truth[root]
        assert across(mesh, root) <= truth[root]
