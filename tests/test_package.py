import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import treecast
from treecast import errors
from treecast.errors import NetworkError, PlanError
from treecast.models import MODELS, model
from treecast.networks import Network, families, network


def test_every_public_name_is_there():
    for name in treecast.__all__:
        assert getattr(treecast, name) is not None
    assert set(treecast.__all__) <= set(dir(treecast))
    with pytest.raises(AttributeError, match="has no attribute 'broadcast'"):
        treecast.broadcast  # noqa: B018


def test_type_checkers_see_the_public_names():
    stub = ast.parse(Path(treecast.__file__).with_suffix(".pyi").read_text())
    seen = {
        (node.module, name.name, name.asname)
        for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names
    }  # fmt: skip
    public = {(module, name, name) for name, module in treecast._HOME.items()}
    assert seen == public | {(None, name, name) for name in treecast._PACKAGES}
    assert len(seen) == len(treecast._HOME) + len(treecast._PACKAGES) > 50  # each stands once


def test_every_error_is_public():
    found = {name: thing for name, thing in vars(errors).items() if hasattr(thing, "__cause__")}
    assert len(found) == 11
    assert all(getattr(treecast, name) is thing for name, thing in found.items())
    assert found.keys() <= set(treecast.__all__)
    for name in ("DeliveryError", "Evicted"):
        assert getattr(treecast.mpi, name) is getattr(treecast.tcp, name) is found[name]


def test_there_is_one_version():
    """The package says it, the project reads it there, and the first section of the changelog is about it."""
    root = Path(__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert "version" not in project["project"]
    home = root / project["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{treecast.__version__}"' in home.read_text().splitlines()
    number, released = re.search(r"^## (\S+)(.*)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE).groups()
    assert treecast.__version__ == (f"{number}.dev0" if released == " (unreleased)" else number)
    assert f"\nversion: {treecast.__version__}\n" in (root / "CITATION.cff").read_text()


def test_importing_is_light_and_raises_no_warning():
    code = "import sys, treecast; print([m for m in ('numpy', 'numba', 'networkx', 'matplotlib', 'rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


@pytest.mark.parametrize("family", families().values(), ids=lambda family: family.spelling)
def test_every_family_behind_one_interface(family, tmp_path):
    spec = family.example
    if spec.startswith("file:"):
        nx.write_graphml(nx.petersen_graph(), tmp_path / "net.graphml")
        spec = f"file:{tmp_path / 'net.graphml'}"
    where = network(spec)
    assert isinstance(where, Network)
    assert network(where) is where
    assert network(where.spec) == where
    assert hash(network(where.spec)) == hash(where)
    assert repr(where) == f"network({where.spec!r})"
    every = np.arange(min(where.nodes, 100))
    assert where.labels(every) == [where.label(int(u)) for u in every]
    assert [where.node(label) for label in where.labels(every)] == every.tolist()
    table = where.neighbor_table(0, len(every))
    assert where.degree <= where.ports
    for u in every[:20].tolist():
        assert where.degree_at(u) == len(where.neighbors(u))
        assert where.neighbors(u) == [v for v in table[u].tolist() if v >= 0]
        assert (where.distance(u, where.neighbors(u)) == 1).all()
        ports = np.where(table[u] >= 0, np.arange(where.ports), -1)
        assert where.parallel_arcs or (where.port_between(u, table[u]) == ports).all()
    assert (where.neighbor(0, [-1, where.ports]) == -1).all()
    assert (where.neighbor([-1, where.nodes], 0) == -1).all()
    assert where.eccentricity(0) <= where.diameter
    for text in ("-1", "nobody", str(where.nodes), ""):
        with pytest.raises(NetworkError, match=r"^[^\n]+$"):
            where.node(text)


@pytest.mark.parametrize("spec", ["star:3", "mesh:2x3", "tree:2,2", "torus:3x3", "hypercube:3"])
def test_networkx_and_back(spec):
    where = network(spec)
    graph = where.to_networkx()
    assert (len(graph), graph.number_of_edges()) == (where.nodes, where.arcs)
    for u, v, port in graph.edges(data="port"):
        assert int(where.neighbor(u, port)) == v
    again = network(graph)
    assert again.nodes == where.nodes
    assert nx.is_isomorphic(again.to_networkx(), graph)


@pytest.mark.parametrize(
    "spec", ["", "star", "5", "nowhere:3", "file:/does/not/exist.graphml", "net.edges", "mesh:0x3", "tree:2"]
)
def test_what_is_no_network_is_refused_in_one_line(spec):
    with pytest.raises(NetworkError) as error:
        network(spec)
    assert "\n" not in str(error.value)


def test_models_by_name():
    assert all(model(name).name == name for name in MODELS)
    assert model("one-port,half").duplex == "half"
    assert model("one-port,full") == model("one-port")
    assert model(model("whispering")) is model("whispering")
    assert model("one-port,combining").combining
    assert model("one-port,half,combining").name == model("one-port,combining,half").name == "one-port,combining,half"
    assert model("whispering,combining") == model("whispering")
    assert model("all-port,combining") == model("shouting")
    for name in ("", "two-port", "one-port,quarter", ",half", "one-port,half,full", "bufferless,combining"):
        with pytest.raises(PlanError, match="no model"):
            model(name)
