"""What docs/explanation/peers.md shows of treecast beside other planners: never more steps, never deeper trees."""

from tests.plans.whole.all_port.test_peers import peers as peers
from treecast import plan, verify
from treecast.networks import network


def test_no_root_of_the_mesh_has_deeper_trees(peers):
    peer = next(peer for peer in peers.PEERS if peer.spec == "mesh:4x4x4")
    depths = [
        verify(plan("broadcast", peer.spec, root=root, messages=600)).depth for root in range(network(peer.spec).nodes)
    ]
    assert max(depths) == 9 <= peer.height
