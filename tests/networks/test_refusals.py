"""Slips in files of networks: each is refused in one line that says the slip, or read with a remark."""

import pytest

import treecast
from treecast.errors import NetworkError


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("a.dot", "digraph { a } digraph { b }", "several graphs"),
        ("a.dot", "graph { a [label=<b<i>] }", "angle brackets is not closed"),
        ("a.dot", "graph { a -- b", "a brace is not closed"),
        ("a.dot", "graph { a -- = }", "stands where a name is to stand"),
        ("a.conf", "SwitchName=s0 Nodes=n]1", "closes a bracket that is not open"),
        ("a.conf", "SwitchName=s0 Nodes=n[a]", "write numbers and ranges"),
        ("a.conf", "SwitchName=s0 Nodes=s0", "is a host and a switch"),
        ("a.conf", "SwitchName=s0 Nodes=a\nSwitchName=s1 Switches=a", "is a host and a switch"),
        ("a.yaml", "- topology: t\n  torus3d: {toruses: [{dims: {x: 2, y: 2, z: 2}, nodes: 'n[1-7]'}]}", "2 x 2 x 2 has 8"),
        ("a.topo", "Switch 1\n[1] x", "is no port of a node"),
        ("a.topo", 'SW 1 1 0x1 4x EDR - \nSwitch 2 "S-1"', "it is cut short"),
        ("a.json", '{"hosts": [{"ssh": "a"},]}', "it is no JSON"),
        ("a.json", '{"links": [{"compounded_links": [{"interfaces": [{"node": "a"}]}]}]}', "1 interfaces, not two"),
        ("a.yaml", "ethernet_connections: [[{chip: 0, chan: 8}]]", "has not two ends"),
        ("a.yaml", "ethernet_connections: []", "it has no chip"),
        ("a.yaml", "ethernet_connections: {a: b}", "is to be a list"),
        ("a.yaml", "arch: [a]\nethernet_connections: []", "is to be a table"),
        ("a.textproto", "mesh_descriptors { 1: 2 }", "where a name is to stand"),
        ("a.textproto", 'mesh_descriptors { name: "a" device_topology { dims: [2] dim_types: [KNOT] } }', "RING or LINE"),
        ("a.textproto", 'mesh_descriptors { name: "a" } top_level_instance { mesh { mesh_descriptor: "b" } }', "no mesh 'b'"),
        ("a.txt", "===== Link Type between two GPUs =====\n", "is empty"),
        ("a.xml", '<system><cpu numaid="0"/></system>', "only adds NICs"),
        ("a.edges", "a b {1}", "no dict of attributes"),
    ],
)  # fmt: skip
def test_slips_are_named(tmp_path, name, text, wrong):
    (tmp_path / name).write_text(text)
    with pytest.raises(NetworkError, match=wrong) as caught:
        treecast.network(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_what_a_fabric_lacks_is_said(tmp_path):
    odd = tmp_path / "a.topo"
    lines = [
        'Switch 4 "S-1" # "leaf"', '[1] "H-1"[1] # 4xHDR', '[2] "H-2"[1] # ', '[3] "S-1"[4] # 4xHDR', '[4] "S-1"[3] # 4xHDR',
        "what is this", 'Ca 1 "H-1" # "localhost mlx5_0"', '[1] "S-1"[1] # 4xHDR', 'Ca 1 "H-2" # "b mlx5_0"', '[1] "S-1"[2] # ',
    ]  # fmt: skip
    odd.write_text("\n".join(lines))
    said = [each.text for each in treecast.machine(odd).complaints]
    for word in ("localhost", "from line 6", "between two ports of one node", "of unknown rate, taken for 4xHDR"):
        assert any(word in text for text in said), (word, said)


def test_pcie_joins_the_halves_of_a_table(tmp_path):
    table = tmp_path / "a.txt"
    table.write_text(
        "===== Link Type between two GPUs =====\n       GPU0 GPU1\nGPU0   0    PCIE\nGPU1   PCIE 0\n"
        "GPU[0] : (Topology) Numa Node: 0\nGPU[1] : (Topology) Numa Node: 1\n"
    )
    where = treecast.network(f"file:{table} with pcie-rate 126Gbit/s")
    assert where.rank_count == 2
    assert where.connected
