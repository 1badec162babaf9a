"""Meshes and tori against networkx, and what makes a torus a Cayley network."""

from typing import Any

import networkx as nx
import numpy as np
import pytest

from tests.networks.test_grid import SHAPES, arcs_of
from treecast.networks.grid import Mesh, Torus


def oracle(sides: tuple[int, ...], periodic: bool) -> Any:
    """Networkx's grid, its nodes (the reversed coordinates) renumbered, without a ring of one node's loop."""
    grid = nx.grid_graph(dim=list(sides), periodic=periodic)
    if len(sides) == 1:
        grid = nx.relabel_nodes(grid, {u: (u,) for u in grid})
    grid.remove_edges_from(list(nx.selfloop_edges(grid)))
    return nx.relabel_nodes(grid, lambda at: int(np.ravel_multi_index(at[::-1], sides)))


@pytest.mark.parametrize("kind", [Mesh, Torus])
@pytest.mark.parametrize("shapes", SHAPES, ids=["one axis", "two axes", "three axes", "more axes"])
def test_closed_forms(kind: type[Mesh] | type[Torus], shapes: list[tuple[int, ...]]) -> None:
    for sides in shapes:
        network = kind(sides)
        truth = oracle(sides, kind is Torus)
        nodes = np.arange(network.nodes)
        arcs = arcs_of(network)
        assert network.nodes == len(truth)
        assert len(arcs) == len(set(arcs)) == network.arcs  # never two arcs between the same two nodes
        assert set(arcs) == set(truth.to_directed().edges())
        assert network.degree == max(degree for _, degree in truth.degree())
        assert network.diameter == nx.diameter(truth)
        distances = network.distance(nodes[:, None], nodes)
        lengths = dict(nx.all_pairs_shortest_path_length(truth))
        assert distances.tolist() == [[lengths[u][v] for v in nodes] for u in nodes]
        assert [network.eccentricity(u) for u in nodes] == distances.max(axis=1).tolist()
        assert np.array_equal(network.coordinates(nodes), np.unravel_index(nodes, sides))
