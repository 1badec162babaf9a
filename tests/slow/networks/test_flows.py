import networkx as nx

from tests.networks.test_flows import arc_ways, node_ways, random_graphs
from treecast.networks.flows import connectivity, fewest_ways, least_cut


def test_the_fewest_arc_disjoint_ways_are_the_least_flow_of_networkx():
    for where, root in random_graphs(60, 24):
        found, flows = fewest_ways(where, root), arc_ways(where, root)
        assert found.ways == min(flows.values()) == flows[found.node]


def test_the_fewest_node_disjoint_ways_are_those_of_networkx():
    for where, root in random_graphs(40, 12, seed=2):
        found, flows = fewest_ways(where, root, nodes=True), node_ways(where, root)
        assert found.ways == min(flows.values()) == flows[found.node]
        cut = least_cut(where, root, found.node)
        assert len(cut) == found.ways
        nodes = [where.node(label) for label in cut if "-" not in label]
        assert len(cut) - len(nodes) == (where.port_between(root, found.node) >= 0)
        left = nx.restricted_view(where.to_networkx(), nodes, [(root, found.node)])
        assert not nx.has_path(left, root, found.node)


def test_the_connectivity_is_that_of_the_worst_root():
    for where, _ in random_graphs(40, 9, seed=11):
        assert connectivity(where) == min(min(node_ways(where, root).values()) for root in range(where.nodes))
