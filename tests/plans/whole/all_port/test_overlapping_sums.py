"""Allreduce and reduce-broadcast whose halves overlap: right on any network, near the bound past weak links."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.test_relays import capacities, multigraphs
from tests.strategies import examples
from treecast import bounds, network, plan


def least(where, messages, kind="allreduce"):
    return max(b.value for b in bounds(kind, where, messages=messages) if b.of == "steps")


def cards(weak, nodes=8):
    """Nodes joined each to each by eight cables, node 0 by ``weak`` to each."""
    graph = nx.complete_graph(nodes)
    for u, v in graph.edges:
        graph.edges[u, v]["capacity"] = weak if u == 0 else 8
    return network(graph)


def sums_leaving(schedule, inside):
    """Return of how many sums something leaves some nodes, send by send."""
    sums = schedule.collective.sums
    return {send.chunk % sums for send in schedule.plain() if send.src in inside and send.dst not in inside}


@given(multigraphs(most=7, whole=True), st.integers(1, 3), st.data())
@examples(20)
def test_something_of_every_sum_leaves_any_ranks(graph, messages, data):
    """What the bound past cuts rests on, counted in plans; and the bound itself, over all cuts by networkx."""
    where = network(graph).adding()
    ranks = where.ranks.tolist()
    if len(ranks) == 1:
        return
    schedule = plan("allreduce", where, messages=messages)
    inside = data.draw(st.sets(st.sampled_from(range(where.nodes)), min_size=1))
    if set(ranks) & inside and set(ranks) - inside:
        assert len(sums_leaving(schedule, inside)) == messages * len(ranks)
    flow = nx.DiGraph()
    for (u, v), many in capacities(graph).items():
        flow.add_edge(u, v, capacity=many)
    cut = min(nx.maximum_flow_value(flow, u, v) for u in ranks for v in ranks if u != v)
    assert least(where, messages) >= -(-messages * len(ranks) // cut)
    assert schedule.steps >= least(where, messages)
