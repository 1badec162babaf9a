"""Broadcast by eyes: the paper's values, and what every schedule of it must be, from every source in every order."""

import pytest

from tests.papers.test_eyes import assert_binomial, assert_free_of_contention, built, variants
from treecast.networks import network
from treecast.papers.mesh.builders import eyes

pytestmark = pytest.mark.each(3)


def manhattan(mesh, rows):
    """The TCD, in plain loops from labels."""
    label = {u: tuple(map(int, mesh.label(u).split(","))) for u in range(mesh.nodes)}
    pairs = zip(rows.src.tolist(), rows.dst.tolist(), strict=True)
    return sum(abs(a - b) for u, v in pairs for a, b in zip(label[u], label[v], strict=True))


@pytest.mark.parametrize(
    "spec", ["mesh:1x1", "mesh:2x2", "mesh:4x4", "mesh:8x8", "mesh:4x4x4", "path:16", "mesh:2x2x2x2"]
)
def test_every_schedule_is_a_binomial_broadcast_free_of_contention(spec):
    mesh = network(spec)
    steps = eyes.level(mesh) * len(mesh.sides)
    for options in variants(mesh):
        for root in range(mesh.nodes):
            rows, claims, *_ = built(mesh, root, 3, **options)
            assert_binomial(mesh, root, rows)
            assert_free_of_contention(mesh, rows)
            assert (claims.steps, claims.transmissions) == (steps, 3 * (mesh.nodes - 1))
            assert len(set(rows.step.tolist())) == steps
            assert int(rows.chunks_sent.sum()) == claims.transmissions
            assert manhattan(mesh, rows) == eyes.total_distance(mesh, rows)
