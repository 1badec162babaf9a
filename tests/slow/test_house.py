"""The house rules that a program can check: who may know what, how long things are, and that lists are generated."""

import ast
import doctest
import inspect
import subprocess
import sys
import textwrap
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import pytest

import treecast
from tests.test_house import MODULES, PUBLIC, SOURCE, name_of, nodes_of, of_kernels, parsed
from treecast import networks

CLASSES = {
    name
    for module in iter_modules(networks.__path__)
    for name, value in vars(import_module(f"treecast.networks.{module.name}")).items()
    if isinstance(value, type) and issubclass(value, networks.Network) and value is not networks.Network
}


def questions_of_class(nodes):
    """Return the calls in a module that ask whether something is of a class of networks which the module imports."""
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and "networks" in (node.module or "")]
    imported = {name.asname or name.name for node in imports for name in node.names}
    asking = list[str]()
    for call in nodes:
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in ("isinstance", "issubclass")
        ):
            names = {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)} & imported
            names |= {node.attr for node in ast.walk(call.args[1]) if isinstance(node, ast.Attribute)}
            if names & CLASSES:
                asking.append(ast.unparse(call))
    return asking


def questions_of_family(nodes):
    """Return the comparisons in a module that have the family of something on a side."""
    return [
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.Compare)
        and any(isinstance(side, ast.Attribute) and side.attr == "family" for side in [node.left, *node.comparators])
    ]


@cache
def asked_anywhere(questions):
    found = {name_of(module): questions(nodes_of(module)) for module in MODULES}
    return {name: asked for name, asked in found.items() if asked}


@pytest.mark.parametrize(
    ("questions", "asking", "harmless"),
    [
        (questions_of_class, "isinstance(where, Mesh | Torus)", "isinstance(where, Network)"),
        (questions_of_class, "issubclass(kind, networks.Star)", "isinstance(text, str)"),
        (questions_of_family, "where.family != 'complete'", "trees.get(where.family)"),
        (questions_of_family, "where.family in known_trees()", "f'{mesh.family}:8'"),
    ],
)
def test_nobody_asks_a_network_for_its_class_or_family(questions, asking, harmless):
    imports = "from treecast.networks import Mesh, Network, Torus\n"
    assert questions([*ast.walk(ast.parse(imports + asking))]) == [asking]
    assert not questions([*ast.walk(ast.parse(imports + harmless))])
    assert len(CLASSES) > 9
    assert not {name: asked for name, asked in asked_anywhere(questions).items() if not name.startswith("networks/")}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example_that_runs(name):
    thing = getattr(treecast, name)
    if not callable(thing):
        return
    text = inspect.getdoc(thing) or ""
    assert ">>> " in text, f"{name} has no example"
    run_example(doctest.DocTestParser().get_doctest(text, {"treecast": treecast}, name, None, 0))


def run_example(example):
    said, runner = [], doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(example, out=said.append)
    assert not runner.failures, "".join(said)


WITH_EXAMPLES = [name_of(module) for module in MODULES if ">>> " in module.read_text()]


@pytest.mark.parametrize(
    "name", [name for name in WITH_EXAMPLES if not name.startswith("torch/")]
)  # those need PyTorch
def test_examples_of_every_module_run(name, monkeypatch):
    families = import_module("treecast.networks.family")
    monkeypatch.setattr(families, "_ENTRIES", dict(families._ENTRIES))  # one example adds a family
    module = import_module(".".join(["treecast", *name.removesuffix(".py").removesuffix("/__init__").split("/")]))
    examples = [each for each in doctest.DocTestFinder().find(module) if each.examples]
    for example in examples:
        run_example(example)
    assert examples


FAMILY_FILE = '''
"""The windmill: triangles that share node 0."""

import networkx as nx

from treecast.networks.family import family
from treecast.networks.wired import graph_from


@family("windmill", "N", example="windmill:4", summary="N triangles that share a node")
def windmill(triangles):
    """Return the windmill of so many triangles."""
    return graph_from(nx.windmill_graph(triangles, 3), f"windmill:{triangles}")
'''


BUILDER_FILE = '''
"""Broadcast down one tree, but later, as one that waits."""

from treecast.plans.whole.all_port.broadcast import over_breadth_first_tree
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, Option, builder
from treecast.schedule import Claims, Rows

WAIT = Option(name="wait", summary="How many steps the root waits.", read=lambda text, network: int(text))


@builder("patient", "broadcast", under=ALL_PORT, summary="one tree, later", options=(WAIT,), baseline=True)
def patient(job):
    """All-port: the breadth-first tree, after a wait."""
    built, wait = over_breadth_first_tree(job), job.options.get("wait", 1)
    columns = built.rows.columns() | {"step": built.rows.step + wait}
    return Built(Rows.of(built.rows.payloads, **columns), Claims(built.claims.steps + wait, built.claims.transmissions))
'''


FORMAT_FILE = '''
"""A list of sends, a line each."""

from treecast.files.formats.registry import exporter


@exporter("sends", suffix=".sends", summary="a line for each row: step, source, destination")
def encode(schedule):
    rows = schedule.rows
    return "".join(f"{t} {u} {v}\\n" for t, u, v in zip(rows.step, rows.src, rows.dst, strict=True)).encode()
'''


PICTURE_FILE = '''
"""A picture in one line: how many rows there are."""

from treecast.drawing.registry import TEXT, picture
from treecast.schedule import Schedule


@picture("census", of=Schedule, into=TEXT, summary="the number of rows", rank=99)
def census(schedule, view):
    """Draw the number of rows."""
    return f"{len(schedule)} rows"
'''


READER_FILE = '''
"""What the machine "wheel" prints: how many spokes it has."""

from treecast.networks.reading.machine import Link, Machine, Node
from treecast.networks.reading.registry import matches, reader


@reader("wheel", summary="a wheel", recognises=matches(rb"^spokes="))
def machine_of(data):
    """Return a wheel."""
    rim = [f"r{i}" for i in range(int(data.partition(b"=")[2]))]
    return Machine("a wheel", {"hub": Node("switch")} | dict.fromkeys(rim, Node("host")), [Link("hub", u, 10.0) for u in rim])
'''


VERB_FILE = '''
"""``treecast count``."""

from treecast.cli import console
from treecast.cli.arguments import File
from treecast.cli.files import load


def count(file: File, /) -> int:
    """Count the rows of a schedule.

    Example: treecast count plan.tc
    """
    console.show_text(str(len(load(file)[0])))
    return 0
'''


NEW = {
    "networks/windmill.py": FAMILY_FILE, "plans/whole/all_port/patient.py": BUILDER_FILE, "files/formats/sends.py": FORMAT_FILE,
    "drawing/census.py": PICTURE_FILE, "cli/verbs/count.py": VERB_FILE, "files/reading/wheel.py": READER_FILE,
}  # fmt: skip


SCRIPT = """
import sys, treecast, treecast.plans
from treecast.cli import main

assert main(["networks"]) == 0
assert main(["plan", "broadcast", "windmill:4", "--builder", "patient", "--wait", "3", "-o", "plan.tc"]) == 0
schedule = treecast.load("plan.tc")
assert schedule.recipe.options == {"wait": "3"} and schedule.steps == 4, schedule.recipe
assert treecast.plans.plan_again(schedule) == schedule
assert main(["count", "plan.tc"]) == 0
assert main(["draw", "plan.tc", "--kind", "census"]) == 0
treecast.save(schedule, "plan.sends")
assert len(open("plan.sends").readlines()) == len(schedule)
open("net.txt", "w").write("spokes=5")
assert treecast.network("net.txt").rank_count == 5
for words in (["--help"], ["plan", "--help"], ["draw", "--help"]):
    main(words)
"""


def test_a_new_idea_is_one_new_file_and_no_edit_elsewhere(tmp_path):
    """A family, a builder with an option, formats, a picture and a verb: a file each, help and lists included."""
    package = tmp_path / "treecast"
    subprocess.run(["cp", "-r", str(SOURCE), str(package)], check=True, timeout=300)
    for where, text in NEW.items():
        (package / where).write_text(textwrap.dedent(text).lstrip())
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin", "NO_COLOR": "1", "HOME": str(tmp_path), "COLUMNS": "120"},
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    for word in ("windmill:N", "count", "Count the rows", "census", "How many steps the root waits"):
        assert word in done.stdout, (word, done.stdout[-3000:])


def test_kernels_run_where_they_are_imported_late():
    for module in MODULES:
        if of_kernels(module):
            continue
        for node in parsed(module).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not any(".kernels." in name or name.startswith("numba") for name in names), name_of(module)
