"""What networks say of themselves is what their arcs say."""

import doctest
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import networkx as nx
import numpy as np
import pytest

from treecast import networks
from treecast.discovery import import_all
from treecast.errors import NetworkError
from treecast.networks import families, family, network
from treecast.networks.core import Network
from treecast.testing import check_network

DIRECTED = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")])
SPECS = [
    "star:2", "star:3", "star:4", "star:5", "hypercube:0", "hypercube:1", "hypercube:4", "complete:1", "complete:6",
    "mesh:3x4", "mesh:1x5", "mesh:2x2x3", "torus:3x4", "torus:2x5", "path:1", "path:6", "ring:2", "ring:7", "tree:3,2",
    "tree:1,4", "debruijn:2,3", "kautz:2,2", "circulant:2,1", "circulant:10,2,5", "circulant:13,1,5", "hyperx:3", "hyperx:2x1x4",
    "hyperx:3x3x2", "petersen", "slim-fly:4", "dragonfly:3,2", "random-regular:9,4,2",
]  # fmt: skip
CASES = [*map(network, SPECS), network(nx.petersen_graph()), network(DIRECTED)]


@pytest.mark.parametrize("where", CASES, ids=repr)
def test_what_they_say_is_what_their_arcs_say(where):
    check_network(where)


@pytest.mark.parametrize("name", sorted(set(families()) - {"file"}))
def test_every_family_is_what_its_formulas_say(name):
    check_network(name)


@pytest.mark.parametrize("where", CASES, ids=repr)
def test_what_a_network_is_not_is_refused(where):
    nodes = np.arange(where.nodes)
    if not where.seen_alike:
        assert list(where.views) == (nodes if where.symmetry is None else where.symmetry.representatives).tolist()
        for lacking in (where.translate, where.untranslate):
            with pytest.raises(NetworkError, match="does not look the same from every node"):
                lacking(0, 0)
    if not where.ports_alike:
        for lacking in (lambda: where.rotate(0), where.necklaces):
            with pytest.raises(NetworkError, match="does not look the same over every port"):
                lacking()
    if where.shortest_starts() is not None:
        assert where.seen_alike
        assert nx.is_bipartite(nx.Graph(where.to_networkx()))
    assert where.grid is (where if where.routed else None)
    if not where.routed:
        with pytest.raises(NetworkError, match="no wormhole routes"):
            where.channels(nodes, nodes)


def test_a_flag_is_set_by_somebody():
    for flag in ("seen_alike", "ports_alike", "flips_bits", "every_pair_joined", "routed", "named_nodes", "both_ways"):
        assert {bool(getattr(where, flag)) for where in CASES} == {True, False}
    assert sum(where.shortest_starts() is not None for where in CASES) >= 5


@pytest.mark.parametrize("where", CASES, ids=repr)
def test_python_protocols(where):
    assert len(where) == where.nodes
    assert list(where) == list(range(where.nodes))
    assert 0 in where
    assert np.int64(where.nodes - 1) in where
    assert where.nodes not in where
    assert -1 not in where
    assert where.label(0) in where
    assert "nobody" not in where
    assert None not in where
    assert repr(where) == f"network({where.spec!r})"
    lines = str(where).splitlines()
    assert [line.split()[0] for line in lines] == ["network", "nodes", "arcs", "degree", "diameter", "ports"]
    assert all(len(line) < 100 for line in lines)
    assert where.label(where.nodes - 1) in lines[1]
    assert ("not all with an arc back" in lines[2]) == (not where.both_ways)
    assert lines[4].split()[1] == str(where.diameter)
    page = where._repr_html_()
    assert page.startswith("<table>")
    assert page.count("<tr>") == 6


def test_a_picture_of_a_notebook_holds_no_foreign_tags():
    page = network(nx.Graph([("<script>", "b")]))._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_diameter_of_a_large_graph_is_not_searched_for_to_print_it():
    ring = network(nx.cycle_graph(5000))
    assert "not searched for" in str(ring)
    assert not ring.diameter_is_cheap
    assert network("ring:5000").diameter_is_cheap


def test_every_family_is_spelled_as_it_says():
    for entry in families().values():
        assert entry.spelling == entry.name + (":" if entry.arguments else "") + entry.arguments
        assert not entry.nodes or network(entry.example).family == entry.name


@pytest.mark.parametrize(
    ("text", "right"),
    [("sar:5", "star:N, as in star:5"), ("hypercub:3", "hypercube:D"), ("Torus:3x3", "torus:AxBx…"),
     ("de-bruijn:2,3", "debruijn:D,K"), ("star", "star:N"),
     ("nowhere:7", "one of circulant:16,1,5, complete:24, "), ("", "one of circulant:16,1,5")],
)  # fmt: skip
def test_what_is_misspelt_is_told_what_would_be_right(text, right):
    with pytest.raises(NetworkError, match=r"^[^\n]+$") as caught:
        network(text)
    assert str(caught.value).startswith(f"{text!r} is no network: write {right}")
    family, _, numbers = right.partition(":")[0], *text.partition(":")[1:]
    meant = f"{family}:{numbers}" if numbers else family
    assert str(caught.value).endswith(f"; did you mean {meant!r}?") == (family in families() and text != family)


def test_a_new_family_is_a_new_file(tmp_path, monkeypatch):
    (tmp_path / "loop.py").write_text(
        "from treecast.networks.family import family\n"
        "from treecast.networks.grid import Torus\n"
        "@family('loop', 'N', example='loop:4', summary='a ring', nodes='N')\n"
        "def loop(n):\n"
        "    return Torus((n,), 'ring')\n"
    )
    monkeypatch.setattr(networks, "__path__", [*networks.__path__, str(tmp_path)])
    monkeypatch.setattr(family, "_ENTRIES", dict(family._ENTRIES))
    import_all.cache_clear()
    try:
        assert network("loop:6") == network("ring:6")
        with pytest.raises(NetworkError, match="write loop:N, as in loop:4"):
            network("loop:x")
        assert list(families())[9] == "loop"
    finally:
        monkeypatch.undo()
        import_all.cache_clear()
        sys.modules.pop("treecast.networks.loop", None)
    assert "loop" not in families()


def test_families_are_listed_without_numpy():
    code = (
        "import sys; from treecast.discovery import decorators\n"
        "found = sorted(entry['0'] for entry in decorators('treecast.networks', 'family'))\n"
        "assert 'numpy' not in sys.modules; print(' '.join(found))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.split() == sorted(families())


MODULES = [f"treecast.networks.{module.name}" for module in iter_modules(networks.__path__)]


@pytest.mark.parametrize("name", ["treecast.networks", *MODULES])
def test_examples(name):
    module = import_module(name)
    tested = doctest.testmod(module)
    assert tested.failed == 0


def test_every_class_of_networks_has_an_example():
    for name in MODULES:
        for value in vars(import_module(name)).values():
            if isinstance(value, type) and issubclass(value, Network) and value.__name__ != "Grid":
                assert ">>> " in (value.__doc__ or ""), value
