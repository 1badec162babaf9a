"""The words that docs/names.md rules out stand nowhere: not in the code, its comments and messages, nor on the pages."""

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
NAMES = ROOT / "docs/names.md"


class Allowed(NamedTuple):
    """Where a word may stand all the same: in files whose path matches, within text that matches, for a reason."""

    word: str
    path: str
    text: str
    reason: str


ALLOWED = (
    Allowed("*", "src/treecast/papers/*", "", "the papers' words, when their statements are quoted"),
    Allowed("edge", "*", r"[Ee]dge-[Dd]isjoint", "the papers' name of their trees"),
    Allowed("edge", "*", r"edge list|\.edges\b|\.edgelist\b", "a kind of file"),
    Allowed("edge", "*", r"add_edges?(?:_from)?|in_edges|\.edges\(", "networkx's names"),
    Allowed("edge", "src/treecast/networks/reading/graphml.py", "", "GraphML's word"),
    Allowed("edge", "src/treecast/networks/reading/dot.py", r'"edge"', "DOT's word"),
    Allowed("channel", "src/treecast/networks/reading/tenstorrent.py", "", "the word of such files"),
    Allowed(
        "topology",
        "src/treecast/networks/reading/*",
        r"topology\.(?:conf|yaml)|\"topology\"|topology\\s|topology: name|device_topology|TopologyParams",
        "what other programs call their files, and what stands in them",
    ),
    Allowed(
        "topology",
        "docs/machines.md",
        r"`topology\.(?:conf|yaml)`|Slurm's topology files|Topology Zoo",
        "names of files",
    ),
    Allowed("topology", "*", r"Topology Zoo|Twisted torus topologies", "the names of a collection and of a paper"),
    Allowed("edge", "src/treecast/formats/graphs.py", r"<edge |</edge>|edgedefault|for=\"edge\"", "GraphML's word"),
    Allowed("edge", "*", r"edgecolors?|pad_edge", "options of matplotlib and rich"),
    Allowed("edge", "src/treecast/drawing/*", "", "the edge of a picture or of a cell"),
    Allowed("edge", "src/treecast/kernels/plans/spanning.py", "", "the edge of what a search has reached"),
    Allowed(
        "edge", "src/treecast/networks/fattree.py", r"\bedge switch|\bedge-", "what the lowest switches are called"
    ),
    Allowed(
        "round", "src/treecast/kernels/plans/spanning.py", "", "the literature's name for steps of a one-port broadcast"
    ),
    Allowed("round", "src/treecast/plans/ways/trees/spanning.py", r"\brounds\b", "a kernel's name"),
    Allowed("phase", "*", r"four[- _]phases?", "the hypercube paper's name of a scheme"),
    Allowed(
        "phase", "*", r"(?:first|second)[ _]phase|paths\.phase", "the hypercube paper's word for parts of its schemes"
    ),
    Allowed(
        "phase", "src/treecast/papers/mesh/builders/eyes.py", "", "the mesh paper's word for d steps of its algorithm"
    ),
    *(
        Allowed("channel", path, "", "under wormhole switching it is the word for an arc that a message holds")
        for path in (
            "src/treecast/plans/whole/wormhole/*",
            "src/treecast/verification/*",
            "src/treecast/networks/core.py",
            "src/treecast/networks/grid.py",
            "src/treecast/drawing/explorer/data.py",
            "src/treecast/kernels/verification/contention.py",
            "src/treecast/models.py",
            "docs/mesh.md",
            "docs/papers/mesh.md",
            "docs/new.md",
            "docs/commands.md",
        )
    ),
    Allowed("channel", "src/treecast/formats/*", r"\.channels\(", "it asks the network for wormhole routes"),
    Allowed(
        "channel", "src/treecast/drawing/figures/network.py", r"\.channels\(", "it asks the network for wormhole routes"
    ),
    Allowed("channel", "src/treecast/formats/msccl/*", "", "MSCCL's word"),
    Allowed("channel", "src/treecast/formats/mscclpp/*", "", "MSCCL++'s word"),
    Allowed("packet", "src/treecast/formats/mscclpp/*", "", "MSCCL++'s word: data with a flag"),
    Allowed("packet", "docs/formats.md", r"packets?", "MSCCL++'s word: data with a flag"),
    Allowed("channel", "docs/formats.md", "", "MSCCL's word"),
    Allowed("failure", "src/treecast/mpi/*", "", "MPI's word: the failure of a process"),
    Allowed("failure", "src/treecast/engine/*", "", "MPI's word: the failure of a process"),
    Allowed("failure", "src/treecast/calls/*", "", "MPI's word: the failure of a process"),
    Allowed("failure", "docs/mpi.md", "", "MPI's word: the failure of a process"),
    Allowed("failure", "*", r"(?:node|link|arc)[-_]failure", "what people call the probability that one fails"),
    Allowed(
        "platform", "src/treecast/formats/simgrid/*", r"platform\.xml|</?platform|DOCTYPE platform", "SimGrid's word"
    ),
    Allowed("platform", "docs/formats.md", r"-platform platform\.xml|`platform\.xml`", "SimGrid's word"),
    Allowed("platform", "*", r"sys\.platform", "Python's name"),
    Allowed("processor", "docs/*trees.md", r"networks of processors", "the title of a paper"),
    Allowed("source", "*", "", "also the sender of a row, and the paper that something is taken from"),
)


def ruled_out(page):
    """Return the words of the third column, without their explanations in brackets."""
    rows = [line.strip("| ").split("|") for line in page.splitlines() if re.match(r"\| (?!word|---)", line)]
    words = [word.strip() for row in rows if len(row) == 3 for word in re.sub(r"\(.*?\)", "", row[2]).split(",")]
    return list(dict.fromkeys(word for word in words if word))


RULED_OUT = ruled_out(NAMES.read_text())


def pattern(word):
    """Match a word and its plural, also inside of names; of "round" only the noun: it is a preposition and a verb, too."""
    if word == "round":
        return r"\b(?:rounds|(?:a|an|each|every|one|per|this|that|next|last|first|second) round)\b"
    plural = {"vertex": "vertices", "topology": "topologies"}.get(word, f"{word}s")
    return rf"\b(?:{word}|{plural})\b"


def words_of(text):
    """Return a text in lower case whose names are divided into words: send_packet and sendPacket into two."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).replace("_", " ").lower()


def allow(text, path, word):
    """Return a text without the parts in which a word may stand."""
    for allowed in ALLOWED:
        if allowed.word in (word, "*") and fnmatch(path, allowed.path):
            text = re.sub(allowed.text, " ", text) if allowed.text else ""
    return text


def violations(text, path="src/treecast/new.py"):
    """Return (word, line) wherever a word that is ruled out stands in a text."""
    words = words_of(text)
    return [
        (word, text[: place.start()].count("\n") + 1)
        for word in RULED_OUT
        if re.search(pattern(word), words) and (place := re.search(pattern(word), words_of(allow(text, path, word))))
    ]


def test_the_table_is_read():
    assert {"topology", "edge", "round", "packet", "partial result", "Byzantine", "source"} <= set(RULED_OUT)
    assert len(RULED_OUT) >= 15


@pytest.mark.parametrize(
    "text",
    [
        "a packet goes", "def send_packet(): ...", "class PacketQueue: ...", "it has two packets", "the topologies of",
        "in each round", "over an edge", "not an edge-disjoint edge", "vertices", "PARTIAL_RESULT", "channel",
    ],
)  # fmt: skip
def test_words_that_are_ruled_out_are_found(text):
    assert len(violations(text)) == 1


@pytest.mark.parametrize(
    "text", ["edge-disjoint", "sys.platform", "round(x)", "all the way round", "knowledge", "four_phases"]
)
def test_other_uses_are_not(text):
    assert violations(text) == []
