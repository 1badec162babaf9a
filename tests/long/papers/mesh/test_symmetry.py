"""What looks the same costs the same: from images of a source, with the sides in another order, on a torus, as a multicast."""

import pytest

from tests.papers.mesh.test_bisection import shapes
from tests.papers.mesh.test_symmetry import assert_symmetric
from treecast.papers.mesh.builders import spreading


@pytest.mark.parametrize(
    "shape", sorted({spreading.shape_of(shape) for shape in shapes(64, 13) if len(shape) < 4}), ids=str
)
def test_all_sources_of_meshes_up_to_64_nodes(shape):
    assert_symmetric(shape)
