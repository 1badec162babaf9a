"""Multicast on meshes and tori: in the fewest steps, and without contention under the model that it is planned for."""

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.verifier import verify


@examples(40)
@given(st.data())
def test_on_a_torus_no_longer_than_on_the_mesh(data):
    sides = data.draw(st.sampled_from(["9", "4x4", "5x7", "8x6", "3x4x3"]))
    torus, mesh = network(f"torus:{sides}"), network(f"mesh:{sides}")
    nodes = data.draw(st.lists(st.integers(0, mesh.nodes - 1), min_size=2, max_size=14, unique=True))
    far = [
        verify(plan("multicast", where, root=nodes[0], targets=nodes[1:], model="wormhole")).distance
        for where in (torus, mesh)
    ]
    assert far[0] <= far[1]
