"""Graphs in DOT, where the language says more than nodes and links: strict ones."""

import pytest

from treecast.files.reading.dot import parts_of_dot


def arcs_of(text):
    parts = parts_of_dot(text.encode())
    return sorted((parts.names[u], parts.names[v]) for u, v in parts.arcs.tolist())


@pytest.mark.parametrize(
    ("text", "arcs"),
    [
        ("graph { a -- b; a -- b }", "ab ab ba ba"),
        ("strict graph { a -- b; a -- b }", "ab ba"),
        ("strict graph { a -- b; b -- a; {a b} -- {a c} }", "aa aa ab ac ba bc ca cb"),
        ("strict digraph { a -> b; b -> a; a -> b -> a }", "ab ba"),
        ("STRICT graph { edge [capacity=2]; a -- b; edge [capacity=5]; a -- b }", "ab ab ba ba"),
        ("strict graph { a -- b; b -- a [capacity=3] }", "ab ab ab ba ba ba"),
    ],
)
def test_a_strict_graph_has_no_parallel_links(text, arcs):
    assert arcs_of(text) == [tuple(arc) for arc in arcs.split()]
