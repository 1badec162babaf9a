"""Text as people paste it: the frame around it taken off; and what a file looks like that no reader takes."""

import re
from textwrap import dedent

_FENCE = re.compile(r"\s*(```|~~~)[\w-]*\s*$")
_PROMPT = re.compile(r"\s*(\S[^\s@:]*[@:]\S*\s*)?[$%]\s+\S.*$")  # user@host$ command
_RULE = re.compile(r"\s*\|[\s:|-]*\|\s*$")
_MARK = re.compile(r"\s*(>|\w[\w.-]*:)([ \t]|$)")  # of a quotation, or a host before each line
_SHELL = re.compile(r"\s*\[?(?:[\w.-]+@)?([\w.-]+)[:\s][^\]$%#]*\]?[$%#]\s+\S.*$")
_TITLE = re.compile(
    r"(?:={2,}|-{2,}|#{2,})\s*([\w.-]+)\s*:?\s*(?:={2,}|-{2,}|#{2,})?$|([\w.-]+) \| (?:CHANGED|SUCCESS) \|.*>>$"
)
NETWORKX = "let networkx read it, treecast.network(networkx.{}(path))"
_LINKS, _JUDGED = "write a link a line, two names, as in: leaf1 spine1", "it has no links; treecast verify judges it"
_LOOKS = (  # the first that fits is told: the vague ones stand last
    (
        r"(?m)^(?![ \t]*#).{0,80}?\b(the|is|are|of)\b.{0,80}?\b(the|a|and|to|of)\b.{0,80}?\b(the|a|and|to|of|in)\b",
        "prose",
        "give what a tool has printed, GraphML, or two names a line; 'treecast help machines' lists what is read",
    ),
    (r"\A(PK\x03\x04|\x1f.\x08|BZh|\ufffd7z)", "a packed file or a spreadsheet", "unpack it, or save it as CSV"),
    (r"[\0-\x08\x0e-\x1a]", "data that is no text", "give the text that the tool prints"),
    (r"(?m)^#?[ \t]*size\b.*\balgbw\b.*\bbusbw\b|^# OSU \S+ .*Test", "a benchmark's log", "give it to treecast doctor"),
    (r"<algo\b", "a schedule of MSCCL", _JUDGED),
    (r'"threadblocks"\s*:', "a schedule of MSCCL++", _JUDGED),
    (r'"[0-9]-(Flows|Epoch)', "a schedule of TE-CCL", _JUDGED),
    (r"\A\s*num_ranks\b", "a schedule in GOAL", _JUDGED),
    (r"\| NVIDIA-SMI |(?m:^GPU [0-9]+: .*UUID)", "nvidia-smi without topo -m", "give nvidia-smi topo -m"),
    (
        r"(?m)^CA '|^Switch\s*: 0x|^Ca\s*: 0x",
        "ibstat, ibswitches or ibhosts",
        "give ibnetdiscover, which says the links",
    ),
    (
        r"node distances:|(?m:^Machine \()|(?m:^[0-9a-f]{2}:[0-9a-f]{2}\.[0-9] )",
        "parts of one host",
        "give lstopo --of xml",
    ),
    (r"(?m)^router [0-9]+ (node|router) ", "BookSim's anynet", _LINKS),
    (r"\A\?SNDlib|@startuml|(?i:lldp neighbor)", "links in words of another tool", _LINKS),
    (r'"R_lite"\s*:', "Flux's R", "it has hosts and no links: give the file of the fabric"),
    (r"(?i)^\s*\*vertices\b", "Pajek", NETWORKX.format("read_pajek")),
    (r"<gexf\b", "GEXF", NETWORKX.format("read_gexf")),
    (r"\A>>graph6<<|\A>>sparse6<<", "graph6", NETWORKX.format("read_graph6")),
    (r'"adjacency"\s*:', "adjacency data", "give the result of networkx.node_link_data"),
    (r"(?m)^[ \t]*(graph|flowchart)\s+(LR|RL|TB|TD|BT)\b", "Mermaid", "write a link a line, as in: a -- b"),
    (r"(?m)^[ \t]*(-[ \t]*)?endpoints\s*:", "containerlab", _LINKS),
    (r"(?m)^Node Type: |Links in Fabric:", "opareport", "write a link a line, two names, and its capacity"),
    (
        r"(?mi)^[ \t]*(ClusterName|SlurmctldHost|PartitionName)\s*=",
        "slurm.conf",
        "give topology.conf, which says the switches",
    ),
    (
        r"(?m)^\S+\s+(slots|max_slots|cpu)=",
        "a hostfile of MPI",
        "it has hosts and no links: give the file of the fabric",
    ),
    (r"(?m)^switches:\s*$", "a model of topograph", "let topograph write Slurm's topology.conf, and give that"),
    (
        r"NCCL INFO\b",
        "a log of NCCL",
        "set NCCL_DEBUG_SUBSYS=GRAPH, or give the file of NCCL_TOPO_DUMP_FILE; treecast doctor reads the log",
    ),
    (r'"traceEvents"\s*:', "a trace of a profiler", "give the file of the machine; treecast why reads records of jobs"),
    (
        r"\A\s*[{\[]",
        "JSON",
        "nodes and links as networkx.node_link_data writes them are read, NetQ's, and MLX's hostfiles",
    ),
    (r"\A\s*<", "XML", "GraphML is read, and the XML of NCCL, RCCL and hwloc"),
    (r"(?m)\A(---\s*\n)?(#.*\n)*[\w-]+:(\s|$)", "YAML", "Slurm's topology.yaml is read, and Tenstorrent's descriptors"),
)


def unframed(data: bytes) -> bytes:
    r"""Return pasted text without quote marks, names of hosts before each line, fences, prompts, a Markdown table, indents.

    >>> unframed(b"```\n$ cat x\n  a b\n  b c\n```\n"), unframed(b"> a b\n> b c\n"), unframed(b"| a | b |\n|---|---|\n")
    (b'a b\nb c\n', b'a b\nb c\n', b'a\tb\n')
    """
    lines = data.decode("utf-8-sig", "replace").splitlines()
    lines = [line for line in lines if not _FENCE.match(line) and not _PROMPT.match(line)]
    # only a mark that all lines have is a frame
    marks = {found[1] if (found := _MARK.match(line)) else "" for line in lines if line.strip()}
    if len(lines) > 1 and len(marks) == 1 and (mark := marks.pop()):
        lines = [line.lstrip().removeprefix(mark).removeprefix(" ") for line in lines]
    if any(_RULE.match(line) for line in lines):
        rows = [line.strip().strip("|").split("|") for line in lines if not _RULE.match(line)]
        lines = ["\t".join(cell.strip() for cell in cells) for cells in rows]
    return (dedent("\n".join(lines)).strip("\n") + "\n").encode()


def hosts_in(data: bytes) -> dict[str, bytes]:
    r"""Return the texts of several hosts in one paste, by their names; none where one host has printed all.

    A host is told by a mark before each line, as of pdsh and clush, by its prompt, or by a title, as of dshbak and ansible.

    >>> sorted(hosts_in(b"n1: a b\nn2: a b\nn1: b c\nn2: b d\n"))
    ['n1', 'n2']
    """
    # a title of three lines, as of dshbak, becomes one
    said = re.sub(r"(?m)^-{5,}\s*\n(\S+)\s*\n-{5,}\s*$", r"=== \1 ===", data.decode("utf-8-sig", "replace"))
    lines = said.splitlines()
    marks = [found[1] if (found := _MARK.match(line)) else "" for line in lines]
    found, here = dict[str, list[str]](), ""
    if {mark for line, mark in zip(lines, marks, strict=True) if line.strip()}.isdisjoint({"", ">"}):
        for line, mark in zip(lines, marks, strict=True):
            found.setdefault(mark.removesuffix(":"), []).append(line.lstrip().removeprefix(mark).removeprefix(" "))
        found.pop("", None)
    else:
        for line in lines:
            if title := _TITLE.fullmatch(line.rstrip()) or _SHELL.fullmatch(line):
                here = next(filter(None, title.groups()))
            elif here:  # what stands above the first title is nobody's
                found.setdefault(here, []).append(line)
    return {name: ("\n".join(some) + "\n").encode() for name, some in found.items()} if len(found) > 1 else {}


def looks_like(head: bytes) -> str:
    """Return what text looks like that no reader takes, and what would be right; an empty text where nothing tells."""
    said = unframed(head).decode()
    found = next(((name, right) for pattern, name, right in _LOOKS if re.search(pattern, said)), None)
    return f"it looks like {found[0]}, which is not read: {found[1]}" if found else ""
