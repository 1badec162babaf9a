"""What dead cables and switches cost, against closed forms of leaves and spines, networkx, and every cable tried alone."""

from typing import Any

import networkx as nx
import pytest

import treecast
from tests.networks.printed import Fabric
from treecast.advice.failing import Failures, slope_of
from treecast.description import describe
from treecast.errors import PlanError, TreecastError
from treecast.networks.cabling import cables_of


def clos(leaves: int, spines: int, hosts: int) -> Any:
    graph = nx.Graph((f"l{leaf}", f"s{spine}") for leaf in range(leaves) for spine in range(spines))
    graph.add_edges_from((f"l{leaf}", f"h{leaf}-{host}") for leaf in range(leaves) for host in range(hosts))
    nx.set_node_attributes(graph, {name: name[0] != "h" for name in graph}, "relay")
    return graph


def by_name(found: Failures) -> dict[str, Any]:
    return {part.name: each for each in found.found for part in each.parts}


@pytest.mark.parametrize(("leaves", "spines", "hosts"), [(2, 2, 3), (3, 2, 4), (4, 3, 5), (5, 4, 2)])
def test_the_cost_of_an_uplink_is_that_of_its_leaf(leaves: int, spines: int, hosts: int) -> None:
    """An alltoall of N hosts takes N - 1 steps, or what a leaf's h hosts send to the others over its u uplinks."""
    found = by_name(treecast.cables(clos(leaves, spines, hosts), plans=0))
    ranks = leaves * hosts

    def steps(uplinks: int) -> float:
        return max(ranks - 1, hosts * (ranks - hosts) / uplinks)

    wanted = steps(spines - 1) / steps(spines) - 1
    assert found["l0 - s0"].more == pytest.approx(wanted, abs=1e-9)
    assert found["s0"].more == pytest.approx(wanted, abs=1e-9)
    assert found["l0 - h0-0" if "l0 - h0-0" in found else "h0-0 - l0"].cut_off == 1
    assert found["l0"].cut_off == min(hosts, ranks - hosts) or leaves == 2


def slope(graph: Any, kind: str) -> float:
    """Return how many steps each further chunk needs, of many."""
    few, many = 5040, 5040 << 10
    steps = [
        max(bound.value for bound in treecast.bounds(kind, graph, messages=chunks) if bound.of == "steps")
        for chunks in (few, many)
    ]
    return (steps[1] - steps[0]) / (many - few)


@pytest.mark.parametrize("kind", ["alltoall", "broadcast"])
@pytest.mark.parametrize("seed", range(2))
def test_parts_that_look_alike_cost_the_same(seed: int, kind: str) -> None:
    """The last of each group, tried alone, costs what was found for its first; networkx says which ranks are cut off."""
    graph = nx.random_labeled_tree(7, seed=seed)
    graph.add_edges_from([(0, 3), (1, 5), (2, 6)])
    nx.set_node_attributes(graph, {6: True}, "relay")
    usual = slope(graph, kind)
    for each in treecast.cables(graph, kind, plans=0).found:
        without, last = graph.copy(), each.parts[-1]
        if last.sort == "switch":
            without.remove_node(6)
        else:
            without.remove_edge(*map(int, last.name.split(" - ")))
        assert each.cut_off == 6 - max(len(part - {6}) for part in nx.connected_components(without))
        if not each.cut_off:
            assert each.more == pytest.approx(slope(without, kind) / usual - 1)


def test_plans_of_the_dearest_are_no_faster_than_bounds() -> None:
    found = treecast.cables(clos(3, 2, 2), plans=1, rate="100Gbit/s", bytes="36MB")
    (first,) = [each for each in found.found if each.planned is not None]
    assert found.planned is not None
    assert first.planned is not None
    assert first.planned >= first.more > found.planned >= 0
    assert found.seconds == pytest.approx(5 * 1e6 / 12.5e9)  # five blocks of a pair over a card


def test_cables_have_the_names_of_their_ports(tmp_path: Any) -> None:
    fabric = Fabric(groups=2, rails=1, spines=2, hosts=3, between=2)
    fabric.cables.remove(("leaf0-0", "spine1"))
    (tmp_path / "net.topo").write_text(fabric.text())
    found = treecast.cables(str(tmp_path / "net.topo"), bytes="1GB")
    assert found.seconds is not None
    names = by_name(found)
    ends = [
        " - ".join(sorted(f"{name.split()[0]}/{name.split()[1] if ' ' in name else f'P{port}'}" for name, port in pair))
        for u, port, v, other, _ in fabric.ends()
        for pair in [((u, port), (v, other))]
    ]
    cables = {" - ".join(sorted(name.split(" - "))) for name in names if " - " in name}
    assert cables == set(ends)
    assert "+" in str(describe(found).tables[0].rows)


def test_one_way_cables_and_coarse_units(tmp_path: Any) -> None:
    arcs = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")])
    assert [each.name for each in cables_of(treecast.network(arcs))] == ["a - b", "b - c"]
    ring = nx.cycle_graph(["a", "b", "c"], create_using=nx.DiGraph)
    assert {each.cut_off for each in treecast.cables(ring).found} == {2}
    (tmp_path / "net.csv").write_text("u,v,rate\na,b,400Gbit/s\nb,c,400Gbit/s\na,c,100Gbit/s\n")
    taken = {each.name: len(each.arcs) for each in cables_of(treecast.network(tmp_path / "net.csv"))}
    assert taken == {"a - b": 8, "b - c": 8, "a - c": 2}


def test_one_of_several_cables_cuts_off_nobody(tmp_path: Any) -> None:
    """An arc that stands for 18 NVLinks is not gone with one of them: they cost what those of a box of switches do."""
    cells = [["X" if u == v else "NV18" for v in range(8)] for u in range(8)]
    rows = [
        "\t".join(["", *(f"GPU{u}" for u in range(8))]),
        *("\t".join([f"GPU{u}", *row]) for u, row in enumerate(cells)),
    ]
    (tmp_path / "topo.txt").write_text("\n".join(rows) + "\n")
    matrix, box = treecast.network(tmp_path / "topo.txt"), treecast.network("machine:dgx-h100")
    (cable,) = [each for each in treecast.cables(matrix, plans=0).found if each.parts[0].sort == "cable"]
    other = next(each for each in treecast.cables(box, plans=0).found if each.parts[0].sort == "cable")
    assert (len(cable.parts), cable.cut_off, cable.more) == (144, 0, other.more)
    assert cable.more == pytest.approx(1 / 17, abs=1e-4)
    for gpu, rate in (("", "164.8Gbit/s"), ("H100", None)):
        where = f"file:{tmp_path / 'topo.txt'}" + (f" with gpu {gpu}" if gpu else "")
        found = treecast.cables(where, plans=0, rate=rate, bytes="8GB")
        assert found.seconds == pytest.approx(7 * 0.125e9 / 20.6e9 / (18 if gpu else 1))
    torn = matrix.without(nodes=["gpu0"], links=["gpu1-nvswitch"])
    assert {each.name for each in cables_of(torn)} == {f"gpu{u} - nvswitch" for u in range(2, 8)}
    fewer = treecast.cables(matrix.without(nodes=["gpu0"]), plans=0)
    (cable,) = [each for each in fewer.found if each.parts[0].sort == "cable"]
    assert (len(cable.parts), cable.cut_off) == (126, 0)


def test_cables_keep_the_names_of_their_ports_where_parts_are_missing() -> None:
    whole = treecast.network("examples/fabric.ibnetdiscover")
    names = {each.name for each in cables_of(whole)}
    cable = next(each for each in cables_of(whole) if "leaf0-0" in each.name and "spine0" in each.name)
    ends = [whole.label(u) for u in (cable.u, cable.v)]
    torn = whole.without(nodes=["spine1"], links=["-".join(ends) + "#0"])
    left = {each.name for each in cables_of(torn)}
    assert left == {name for name in names if "spine1/" not in name} - {cable.name}
    for each in cables_of(torn):
        assert all(int(torn.neighbor(a, port)) in (each.u, each.v) for a, port in each.arcs)


def test_the_worst_are_a_switch_and_a_cable() -> None:
    hosts: Any = nx.Graph(
        [("core", "spine1"), ("core", "spine2"), *(("spine1", f"a{i}") for i in range(5)), ("spine2", "b")]
    )
    nx.set_node_attributes(hosts, {name: name[0] in "cs" for name in hosts}, "relay")
    assert describe(treecast.cables(hosts, plans=0)).lines["worst"] == [
        "switch spine1: cuts off 5 of 6 ranks",
        "cable core - spine1: cuts off 1 of 6 ranks",
    ]
    said = describe(treecast.cables(clos(4, 3, 5), plans=0)).lines["worst"]
    assert said == [
        "switch l0: cuts off 5 of 20 ranks",
        "cable l0 - h0-0: cuts off 1 of 20 ranks",
        "cable l0 - s0: +50.0%",
    ]


def test_what_has_no_bound_is_refused() -> None:
    with pytest.raises(PlanError, match="has no bound by its bytes here"):
        treecast.cables("mesh:3x3", "broadcast", model="wormhole")
    with pytest.raises(TreecastError, match="'100' has no unit"):
        treecast.cables("ring:4", rate="100")


def test_cuts_of_a_torn_network_begin_with_those_of_the_whole():
    """The bounds of a large network without a cable are no weaker than of the same graph, whose cuts nobody knows."""
    whole = treecast.network("random-regular:80,4,1")
    for u in (0, 7, 30):
        torn = whole.without(links=[f"{u}-{whole.label(int(whole.neighbors(u)[0]))}"])
        assert torn.torn_from is not None
        arcs = [(torn.label(a), torn.label(int(b))) for a in range(torn.nodes) for b in torn.neighbors(a) if a < b]
        fresh = treecast.network(arcs)
        assert slope_of("alltoall", torn) >= 0.98 * slope_of("alltoall", fresh)  # or better: several cuts were known
    assert treecast.network("torus:4x4").without(links=["0,0-0,1"]).torn_from is None
