"""The words that our page of names rules out stand nowhere: not in the code, its comments and messages, nor on the pages."""

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_site import PAGES

ROOT = Path(__file__).parent.parent
NAMES = ROOT / "docs/reference/names.md"


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
    Allowed("edge", "*", r"(?:add|remove)_(?:weighted_)?edges?(?:_from)?|in_edges|\.edges\(", "networkx's names"),
    Allowed("edge", "src/treecast/files/reading/graphml.py", "", "GraphML's word"),
    Allowed("edge", "src/treecast/files/reading/dot.py", r'"edge"', "DOT's word"),
    Allowed("edge", "src/treecast/files/reading/graph_files.py", "", "the word of GML and of JSON"),
    Allowed("edge", "src/treecast/networks/reading/drawn.py", r'"edges"', "the word of graphs in files"),
    Allowed(
        "edge", "src/treecast/files/formats/graphs.py", r"<edge |</edge>|edgedefault|for=\"edge\"", "GraphML's word"
    ),
    Allowed("edge", "*", r"edgecolors?|pad_edge", "options of matplotlib and rich"),
    Allowed("edge", "src/treecast/drawing/*", "", "the edge of a picture or of a cell"),
    Allowed("edge", "src/treecast/plans/kernels/spanning.py", "", "the edge of what a search has reached"),
    Allowed("edge", "src/treecast/networks/clos.py", r"\bedge switch|\bedge-", "what the lowest switches are called"),
    Allowed("edge", "docs/explanation/large.md", r"\bedge-\d", "the name of one of them"),
    Allowed("edge", "docs/howto/halo.md", "edge of a grid", "the edge of a mesh of cells"),
    Allowed("packet", "src/treecast/files/formats/mscclpp/*", "", "MSCCL++'s word: data with a flag"),
    Allowed("packet", "docs/reference/formats/mscclpp.md", r"packets?", "MSCCL++'s word: data with a flag"),
)


def ruled_out(page):
    """Return the words of the third column, without their explanations in brackets."""
    rows = [line.strip("| ").split("|") for line in page.splitlines() if re.match(r"\| (?!word|---)", line)]
    words = [word.strip() for row in rows if len(row) == 3 for word in re.sub(r"\(.*?\)", "", row[2]).split(",")]
    return list(dict.fromkeys(word for word in words if word))


RULED_OUT = ruled_out(NAMES.read_text())


def pattern(word):
    """Match a word and its plural, also inside of names."""
    return rf"\b{word}s?\b"


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
    assert {"edge", "packet", "originator", "partial result"} == set(RULED_OUT)


@pytest.mark.parametrize(
    "text",
    [
        "a packet goes", "def send_packet(): ...", "class PacketQueue: ...", "it has two packets", "over an edge",
        "not an edge-disjoint edge", "PARTIAL_RESULT", "the originators of",
    ],
)  # fmt: skip
def test_words_that_are_ruled_out_are_found(text):
    assert len(violations(text)) == 1


@pytest.mark.parametrize("text", ["edge-disjoint", "pad_edge", "knowledge", "packeted"])
def test_other_uses_are_not(text):
    assert violations(text) == []


FILES = sorted(
    [
        *(ROOT / "src").rglob("*.py"),
        *PAGES,
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
    ]
)


@pytest.mark.slow
def test_words_that_are_ruled_out_stand_nowhere():
    paths = {str(file.relative_to(ROOT)): file for file in FILES if file != NAMES}
    assert not [(path, found) for path, file in paths.items() for found in violations(file.read_text(), path)]


@pytest.mark.slow
@pytest.mark.parametrize("allowed", ALLOWED, ids=lambda allowed: f"{allowed.word}: {allowed.reason}")
def test_every_exception_is_needed(allowed):
    words = RULED_OUT if allowed.word == "*" else [allowed.word]
    texts = [file.read_text() for file in FILES if file != NAMES and fnmatch(str(file.relative_to(ROOT)), allowed.path)]
    parts = [part for text in texts for part in (re.findall(f"(?:{allowed.text})", text) if allowed.text else [text])]
    assert any(re.search(pattern(word), words_of(part)) for word in words for part in parts)
