"""Own small files as machines print them, made by rule, so that what must come out of them is known."""

import json
from collections.abc import Collection, Iterator
from itertools import count


class Fabric:
    """Leaves, spines and hosts: host h of group g has a card on each of its group's leaves, its rails."""

    def __init__(self, groups: int = 2, rails: int = 2, spines: int = 2, hosts: int = 3, between: int = 2) -> None:
        self.leaves = [f"leaf{g}-{rail}" for g in range(groups) for rail in range(rails)]
        self.spines = [f"spine{s}" for s in range(spines)]
        self.hosts = [f"host{g}-{h}" for g in range(groups) for h in range(hosts)]
        self.cables = [(leaf, spine) for leaf in self.leaves for spine in self.spines for _ in range(between)]
        self.cards = [
            (f"host{g}-{h}", f"mlx5_{rail}", f"leaf{g}-{rail}")
            for g in range(groups)
            for h in range(hosts)
            for rail in range(rails)
        ]

    def ends(self) -> Iterator[tuple[str, int, str, int, str]]:
        """Yield each cable by its ends' names and ports, and its speed."""
        free = {name: count(1) for name in [*self.leaves, *self.spines]}
        for leaf, spine in self.cables:
            yield leaf, next(free[leaf]), spine, next(free[spine]), "4xNDR"
        for host, card, leaf in self.cards:
            yield f"{host} {card}", 1, leaf, next(free[leaf]), "4xNDR"

    def guid(self, name: str) -> str:
        names = [*self.leaves, *self.spines, *(f"{host} {card}" for host, card, _ in self.cards)]
        return f"{'H' if ' ' in name else 'S'}-{0xE09D7303007A0000 + names.index(name):016x}"

    def text(self, unreported: Collection[str] = ()) -> str:
        """Return the fabric as ``ibnetdiscover`` prints it; the ends of some nodes' cables are left out there."""
        below: dict[str, list[str]] = {}
        for u, port, v, other, speed in self.ends():
            for a, p, b, q in ((u, port, v, other), (v, other, u, port)):
                guid = self.guid(a)[2:]
                line = f'[{p}]({guid}) \t"{self.guid(b)}"[{q}]\t\t# "{b}" lid {q} {speed}'
                below.setdefault(a, [])
                if a not in unreported:
                    below[a].append(line)
        lines = ["#", "# Topology file: generated on Mon Jan  1 00:00:00 2024", "#"]
        for name, ports in below.items():
            guid = self.guid(name)
            kind, said = ("Ca", name) if " " in name else ("Switch", f"MF0;{name}:MQM9700/U1")
            lines += ["", "vendid=0x2c9", f"sysimgguid=0x{guid[2:]}", f"{kind.lower()}guid=0x{guid[2:]}"]
            lines += [f'{kind}\t{len(ports)} "{guid}"\t\t# "{said}"', *ports]
        return "\n".join([*lines, ""])

    def by_links(self) -> str:
        """Return the fabric as ``iblinkinfo`` prints it."""
        below: dict[str, list[str]] = {}
        lids = {name: str(place) for place, name in enumerate([*dict.fromkeys(end[0] for end in self.ends())], 10)}
        lids |= {name: str(place) for place, name in enumerate(self.spines, 500)}
        said = {name: name if " " in name else f"MF0;{name}:MQM9700/U1" for name in lids}
        for u, port, v, other, _ in self.ends():
            for a, p, b, q in ((u, port, v, other), (v, other, u, port)):
                guid = f"0x{self.guid(a)[2:]} " if " " in a else ""
                line = f'  {guid} {lids[a]} {p}[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>  {lids[b]} {q}[  ] "{said[b]}" ( )'
                below.setdefault(a, []).append(line)
        heads = {
            name: f"CA: {name}:" if " " in name else f"Switch: 0x{self.guid(name)[2:]} {said[name]}:" for name in below
        }
        down = '     1   64[  ] ==(                Down/ Polling)==>             [  ] "" ( )'
        lines = [
            [heads[name], *some, *([] if " " in name else [down.replace("     1", f"     {lids[name]}")])]
            for name, some in below.items()
        ]
        return "\n".join(line for some in lines for line in some) + "\n"

    def by_ports(self) -> str:
        """Return the fabric as ``ibnetdiscover -p`` prints it."""
        lines = ['DR path slid 0; dlid 0; 0 -> new Channel Adapter {0} portnum 1 lid 0-0 ""']
        kind = {False: "SW", True: "CA"}
        for u, port, v, other, speed in self.ends():
            for a, p, b, q in ((u, port, v, other), (v, other, u, port)):
                ends = [f"{kind[' ' in name]} 7 {at} 0x{self.guid(name)[2:]}" for name, at in ((a, p), (b, q))]
                said = [name if " " in name else f"MF0;{name}:MQM9700/U1" for name in (a, b)]
                lines.append(f"{ends[0]} {speed.replace('x', 'x ')} - {ends[1]} ( '{said[0]}' - '{said[1]}' )")
        lines.append(
            f"SW 7 60 0x{self.guid(self.leaves[0])[2:]} 4x SDR                'MF0;{self.leaves[0]}:MQM9700/U1'"
        )
        return "\n".join([*lines, ""])


DGX = """\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0NIC1\tCPU Affinity\tNUMA Affinity\x1b[0m
GPU0\t X \tNV12\tNV12\tNV12\tPXB\tSYS\t0-63\t0
GPU2\tNV12\tNV12\t X \tNV12\tSYS\tPXB\t64-127\t1
GPU1\tNV12 X  NV12 NV12 PXBSYS\t0-63\t0
GPU3\tNV12\tNV12\tNV12\t X \tSYS\tPXB\t64-127\t1
NIC0\tPXB\tPXB\tSYS\tSYS\t X \tSYS
NIC1\tSYS\tSYS\tPXB\tPXB\tSYS\t X

Legend:
  X    = Self
"""
PAIRS = """        GPU0    GPU1    GPU2    GPU3
GPU0     X      NV4     SYS     SYS
GPU1    NV4      X      SYS     SYS
GPU2    SYS     SYS      X      PIX
GPU3    SYS     SYS     PIX      X
"""
ROCM = """
=============================== Hops between two GPUs ===============================
       GPU0         GPU1         GPU2
GPU0   0            1            2
GPU1   1            0            1
GPU2   2            1            0
============================ Link Type between two GPUs =============================
       GPU0         GPU1         GPU2
GPU0   0            XGMI         XGMI
GPU1   XGMI         0            XGMI
GPU2   XGMI         XGMI         0
"""
SLURM = """# two leaves, one of them with more
switchname=s0 Nodes=n[01-03],big
SwitchName=s1 NODES=n04,\\
n05
SwitchName=s2 Switches=s[0-1]
"""
SLURM_YAML = """---
- topology: tree
  tree:
    switches:
      - switch: s0
        children: s1
      - switch: s1
        nodes: n[1-2]
- topology: pod
  cluster_default: true
  torus3d:
    toruses:
      - {name: pod, dims: {x: 4, y: 3, z: 2}, nodes: 'n[01-24]'}
- topology: rack
  block:
    blocks:
      - block: b1
        nodes: n[1-4]
      - block: b2
        nodes: n[5-8]
- topology: round
  ring:
    rings:
      - {ring: r, nodes: 'n[1-5]'}
- topology: none
  flat: true
"""
CHIPS = """arch: {0: wormhole_b0, 1: wormhole_b0, 2: wormhole_b0, 3: wormhole_b0}
chip_unique_ids: {0: 77, 1: 78, 2: 79, 3: 80}
ethernet_connections:
  - [{chip: 0, chan: 8}, {chip: 1, chan: 0}]
  - [{chip: 0, chan: 9}, {chip: 1, chan: 1}, {routing_enabled: true}]
  - [{chip: 1, chan: 1}, {chip: 0, chan: 9}]
  - [{chip: 2, chan: 8}, {chip: 3, chan: 0}]
  - [{chip: 1, chan: 4}, {chip: 2, chan: 4}]
ethernet_connections_to_remote_devices:
  - [{chip: 3, chan: 4}, {remote_chip_id: 99, chan: 4}]
"""
MESHES = """# two rows of four
mesh_descriptors {
  name: "row" arch: BLACKHOLE
  device_topology { dims: [ 1, 4 ] dim_types: [ LINE, RING ] }
  channels { count: 2 policy: RELAXED }
}
graph_descriptors {
  name: "both" type: "FABRIC"
  instances { mesh { mesh_descriptor: "row" mesh_id: 0 } }
  instances { mesh { mesh_descriptor: "row" mesh_id: 1 } }
  connections {
    nodes { mesh { mesh_descriptor: "row" mesh_id: 0 } }
    nodes { mesh { mesh_descriptor: "row" mesh_id: 1 } }
    channels { count: 1 }
  }
}
top_level_instance { graph { graph_descriptor: "both" graph_id: 0 } }
"""
HWLOC = """<?xml version="1.0"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" gp_index="1">
    <object type="Package" gp_index="2">
      <object type="NUMANode" gp_index="3" os_index="0"/>
      <object type="Bridge" gp_index="4" pci_busid="0000:00:01.0" pci_link_speed="15.75">
        <object type="PCIDev" gp_index="5" pci_busid="0000:01:00.0" pci_link_speed="15.75">
          <object type="OSDev" gp_index="6" name="cuda0" osdev_type="5"/>
          <object type="OSDev" gp_index="7" name="nvml0" osdev_type="1"/>
        </object>
      </object>
    </object>
    <object type="Package" gp_index="12">
      <object type="NUMANode" gp_index="13" os_index="1"/>
      <object type="PCIDev" gp_index="15" pci_busid="0000:81:00.0" pci_link_speed="0">
        <object type="OSDev" gp_index="17" name="nvml1" osdev_type="1"/>
      </object>
    </object>
  </object>
</topology>
"""
BANDWIDTHS = HWLOC.replace(
    "</topology>",
    """<distances2hetero nbobjs="2" kind="25" name="NVLinkBandwidth">
    <indexes length="16">OSDev:7 OSDev:17 </indexes><u64values length="9">1000000 50000 </u64values>
    <u64values length="9">50000 1000000 </u64values></distances2hetero></topology>""",
)
MLX = '{"hosts": [{"ssh": "m1", "rdma": [null, "en2", ["en3", "en4"]]}, {"ssh": "m2", "rdma": ["en2", null, "en5"]}, '
MLX += '{"ssh": "m3", "ips": [], "rdma": [["en2"], "en5", null]}]}'
NETQ = """{"nodes": [{"name": "h1", "type": "host"}, {"name": "h2", "type": "host"}], "links": [{"compounded_links": [
{"interfaces": [{"node": "h1", "interface": "e1"}, {"node": "s1", "interface": "p1"}]},
{"interfaces": [{"node": "h1", "interface": "e2"}, {"node": "s1", "interface": "p2"}]},
{"interfaces": [{"node": "h2", "interface": "e1"}, {"node": "s1", "interface": "p3"}]}]}]}
"""
DOT = """// drawn by hand
strict graph "G" {
  rankdir=LR; node [shape=circle];
  a -- b -- c [capacity=2, color=red];
  s [relay=true, label=<<b>big</b> switch>];
  {a b} -- s;
  subgraph cluster0 { c:e -- "the end" }
}
"""
YED = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key for="node" id="d6" yfiles.type="nodegraphics"/><key id="w" for="edge" attr.name="weight" attr.type="int"/>
<key id="s" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/><graph edgedefault="directed">
<node id="n0"><data key="d6"><y:ShapeNode><y:NodeLabel visible="true">New York</y:NodeLabel></y:ShapeNode></data></node>
<node id="n1"><data key="d6"><y:ShapeNode><y:NodeLabel>Bern</y:NodeLabel></y:ShapeNode></data></node>
<node id="n2"><data key="d6"><y:ShapeNode><y:NodeLabel>Bern</y:NodeLabel></y:ShapeNode></data></node>
<edge source="n0" target="n1"><data key="w">3</data></edge><edge source="n1" target="n0"/>
<edge source="n1" target="n2"/><edge source="n1" target="n2"/><edge source="n2" target="n2"/></graph></graphml>
"""
GML = """Creator "by hand"
graph [
  node [ id 3 label "New York" type "city" ]
  node [ id 1 label "Bern" ]
  node [ id 2 label "Bern" ]
  edge [ source 3 target 1 LinkSpeedRaw 2500000000.0 ]
  edge [ source 1 target 2 LinkSpeedRaw 10000000000.0 ]
]
"""
LINKED = """{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": "h1", "type": "host"}, {"id": "h2"},
{"id": "s1", "type": "Switch"}], "links": [{"source": "h1", "target": "s1", "capacity": 2},
{"source": {"id": "h2"}, "target": 2}]}
"""
MATRIX = ",a,b,c d\na,0,2,1\nb,2,0,\nc d,1,0,0\n"
SPARSE = """%%MatrixMarket matrix coordinate integer symmetric
% a ring of four, one link of which is two
4 4 4
2 1 2
3 2 1
4 3 1
4 1 1
"""
AMD = """WEIGHT TABLE:
             0000:0c:00.0 0000:22:00.0 0000:38:00.0
0000:0c:00.0 0            15           30
0000:22:00.0 15           0            15
0000:38:00.0 30           15           0
LINK TYPE TABLE:
             0000:0c:00.0 0000:22:00.0 0000:38:00.0
0000:0c:00.0 SELF         XGMI         XGMI
0000:22:00.0 XGMI         SELF         XGMI
0000:38:00.0 XGMI         XGMI         SELF
"""
XPU = """         GPU 0/0  GPU 0/1  GPU 1/0  CPU Affinity
GPU 0/0  S        MDF      XL4      0-127
GPU 0/1  MDF      S        XL4      0-127
GPU 1/0  XL4      XL4      S        128-255
"""
NPU = """\t   NPU0       NPU1       NPU2       CPU Affinity
NPU0       X          HCCS       HCCS_SW    144-167
NPU1       HCCS       X          SIO        144-167
NPU2       HCCS_SW    SIO        X          96-119
"""
TACOS = "3\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,500,50\n1,2,500,50\n2,0,500,50\n1,0,500,50\n"
SIMAI = "4 2 1 1 3 H100\n3\n0 3 400Gbps 0.0005ms 0\n1 3 400Gbps 0.0005ms 0\n2 3 200Gbps 0.0005ms 0\n"


def nccl(gpus: int = 4, links: str = "ring", kind: str = "nvlink", sm: int = 80, bridged: bool = True) -> str:
    """Return a node as NCCL writes it: GPUs on two NUMA nodes, below bridges, joined in a ring, by a switch, or not."""
    lines = ["<!-- by hand -->", '<system version="1">']
    for side in range(2):
        lines.append(
            f'<cpu numaid="{side}" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1" host_hash="0x1">'
        )
        for gpu in range(side * gpus // 2, (side + 1) * gpus // 2):
            bus = f"0000:{gpu:02x}:00.0"
            near = {(gpu + 1) % gpus: 1, (gpu - 1) % gpus: 1} if links == "ring" else {}
            joined = "".join(
                f'<{kind} target="0000:{other:02x}:00.0" count="{many}" tclass="0x030200"/>'
                for other, many in near.items()
            )
            if links == "switch":
                joined = f'<{kind} target="ffff:ff:ff.0" count="12" tclass="0x068000"/>'
            if bridged:
                lines.append(
                    f'<pci busid="0000:{gpu + 64:02x}:00.0" class="0x060400" link_speed="16.0 GT/s" link_width="16">'
                )
            lines.append(f'<pci busid="{bus}" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">')
            lines.append(f'<gpu dev="{gpu}" sm="{sm}" gcn="gfx90a" rank="{gpu}" gdr="1">{joined}</gpu></pci>')
            nic = f'<net name="mlx5_{gpu}" dev="{gpu}" speed="200000" port="1" guid="0x{0x1000 + gpu:x}"/>'
            lines.append(f'<pci busid="0000:{gpu + 128:02x}:00.0" class="0x020700"><nic>{nic}</nic></pci>')
            lines += ["</pci>"] if bridged else []
        lines.append("</cpu>")
    return "\n".join([*lines, "</system>", ""])


ASTRA = "topology: [ Ring, FullyConnected, Switch ]\nnpus_count: [ 4, 3, 2 ]\nbandwidth: [ 50.0, 25.0, 12.5 ]  # GB/s\n"
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="AS0" routing="Full">
    <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/><router id="r"/>
    <link id="up" bandwidth="125MBps" latency="50us"/><link id="in" bandwidth="1Gbps" latency="0"/>
    <link id="out" bandwidth="1.25e8Bps" latency="0" sharing_policy="SPLITDUPLEX"/>
    <route src="a" dst="b"><link_ctn id="up"/><link_ctn id="in"/></route>
    <route src="b" dst="c"><link_ctn id="in"/><link_ctn id="out"/></route>
    <route src="c" dst="a" symmetrical="NO"><link_ctn id="out"/><link_ctn id="up"/></route>
  </zone>
</platform>
"""
NCCL_LOG = """h:1:2 [0] NCCL INFO === System : maxBw 123.6 totalBw 123.6 ===
h:1:2 [0] NCCL INFO CPU/0-1 (1/1/3)
h:1:3 [1] NCCL INFO === System : maxBw 123.6 totalBw 123.6 ===
h:1:2 [0] NCCL INFO + PCI[48.0] - PCI/0-115000 (104c823200000000)
h:1:2 [0] NCCL INFO               + PCI[48.0] - GPU/0-118000 (0)
h:1:2 [0] NCCL INFO                             + NVL[123.6] - GPU/0-1b3000
h:1:2 [0] NCCL INFO               + PCI[48.0] - NIC/0-119000
h:1:2 [0] NCCL INFO                             + NET[50.0] - NET/0-c (0/d4f9fc0003ae6d94/1/50.000000)
h:1:2 [0] NCCL INFO + PCI[48.0] - PCI/0-1b0000
h:1:2 [0] NCCL INFO               + PCI[48.0] - GPU/0-1b3000 (1)
h:1:2 [0] NCCL INFO                             + NVL[123.6] - GPU/0-118000
h:1:2 [0] NCCL INFO ==========================================
"""


def macs(many: int) -> str:
    """Return what ``system_profiler SPThunderboltDataType -json`` prints on Macs that are all joined, one after the other."""
    ports = [
        [
            {
                "device_name_key": "Mac Studio",
                "domain_uuid_key": f"u{here}-{there}",
                "receptacle_1_tag": {"current_speed_key": "Up to 80 Gb/s", "receptacle_id_key": str(there)},
                "_items": [{"device_name_key": "Mac Studio", "domain_uuid_key": f"U{there}-{here}"}],
            }
            for there in range(many)
            if there != here
        ]
        for here in range(many)
    ]
    return "\n".join(json.dumps({"SPThunderboltDataType": each}, indent=1) for each in ports)


FILES = {
    "dgx.txt": DGX,
    "pairs.txt": PAIRS,
    "rocm.txt": ROCM,
    "topology.conf": SLURM,
    "topology.yaml": SLURM_YAML,
    "chips.yaml": CHIPS,
    "meshes.textproto": MESHES,
    "pcie.xml": HWLOC,
    "nvlink.xml": BANDWIDTHS,
    "mlx.json": MLX,
    "netq.json": NETQ,
    "net.dot": DOT,
    "yed.graphml": YED,
    "nccl.xml": nccl(),
    "switch.xml": nccl(8, "switch"),
    "zoo.gml": GML,
    "links.json": LINKED,
    "matrix.csv": MATRIX,
    "ring.mtx": SPARSE,
    "amd.txt": AMD,
    "xpu.txt": XPU,
    "npu.txt": NPU,
    "tacos.csv": TACOS,
    "simai.txt": SIMAI,
    "astra.yml": ASTRA,
    "platform.xml": PLATFORM,
    "nccl.log": NCCL_LOG,
    "macs.json": macs(3),
    "hosts.txt": f"=== n1 ===\n{NPU}\n=== n2 ===\n{PAIRS}",
    "links.txt": Fabric().by_links(),
    "fabric.topo": Fabric().text(),
    "ports.topo": Fabric().by_ports(),
}
"""A file of each kind, by its name."""
