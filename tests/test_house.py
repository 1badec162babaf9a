"""The house rules that a program can check: who may know what, how long things are, and that lists are generated."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
import textwrap
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import networkx as nx
import pytest

import treecast
from treecast import networks
from treecast.cli.app import find_verbs

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "treecast"
MODULES = sorted(SOURCE.rglob("*.py"))


def name_of(module):
    return str(module.relative_to(SOURCE))


@cache
def parsed(module):
    return ast.parse(module.read_text())


@cache
def nodes_of(module):
    """Return all nodes of a module's syntax: walking it takes as long as parsing it."""
    return list(ast.walk(parsed(module)))


def of_kernels(module):
    return "kernels/" in name_of(module) or name_of(module) == "compiled.py"


# --- who may know what ---


def kernels_that_come_back():
    """Return the functions of kernels/ that call themselves, or one that does so in the end. Names are taken for one anywhere."""
    calls = dict[str, set[str]]()
    for module in MODULES:
        for node in nodes_of(module) if of_kernels(module) else ():
            if isinstance(node, ast.FunctionDef):
                calls.setdefault(node.name, set()).update(
                    each.func.id
                    for each in ast.walk(node)
                    if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
                )
    graph = nx.DiGraph((name, called) for name, others in calls.items() for called in others if called in calls)
    assert graph.number_of_edges() > 50
    return [name for part in nx.strongly_connected_components(graph) for name in part if len(part) > 1] + [
        name for name in graph if graph.has_edge(name, name)
    ]


def test_no_kernel_calls_itself():
    """Compiled code that does, and that was kept and read again, has ended in a segmentation fault."""
    assert kernels_that_come_back() == []


# --- one name, one thing ---


SHARED = {
    "Comm": "over sockets and over MPI, as mpi4py names it",
    "Reader": "reads the arguments of calls: of any, over sockets, over MPI, and tensors",
    "Tree": "a tree in a network, and the family of networks that people call so",
}
"""The names that classes of several modules have, and what they stand for there."""


def test_classes_of_several_modules_have_names_of_their_own():
    """Who reads a name, or looks for it, finds one meaning."""
    homes = dict[str, list[str]]()
    for module in MODULES:
        for node in parsed(module).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(name_of(module))
    assert {name: places for name, places in homes.items() if len(places) > 1 and name not in SHARED} == {}
    assert not [name for name in SHARED if len(homes.get(name, ())) < 2]


# --- how long things are ---


def too_long(module):
    """Return what is longer in a module than a reader likes: the module, functions, lists of arguments."""
    if len(module.read_text().splitlines()) > 400:
        yield "the module"
    for node in nodes_of(module):
        if isinstance(node, ast.FunctionDef):
            first = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            taken = [a for a in [*node.args.posonlyargs, *node.args.args] if a.arg not in ("self", "cls")]
            if (node.end_lineno or 0) - first[0].lineno + 1 > (120 if of_kernels(module) else 60):
                yield node.name
            if len(taken) > 5 and not of_kernels(module):
                yield f"the arguments of {node.name}"


def test_modules_and_functions_are_short():
    assert not [(name_of(module), found) for module in MODULES for found in too_long(module)]


def test_no_statement_hides_a_check():
    for module in MODULES:
        assert not [n for n in nodes_of(module) if isinstance(n, ast.Assert)], name_of(module)


def test_the_formatter_is_obeyed():
    """Code is written such that it reads well as the formatter leaves it."""
    marks = sum(line.count("# fmt: skip") for module in MODULES for line in module.read_text().splitlines())
    assert marks == 0


# --- what people see ---


PUBLIC = [name for name in treecast.__all__ if not name.startswith("__")]


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isfunction(getattr(treecast, name))])
def test_every_public_function_says_what_it_takes_and_returns(name):
    thing = getattr(treecast, name)
    text = inspect.getdoc(thing) or ""
    taken = [p for p in inspect.signature(thing).parameters.values() if p.kind is not p.VAR_KEYWORD]
    if taken:
        assert "Parameters\n---" in text, name
    for parameter in taken:
        assert re.search(rf"^\s*(?:[\w, ]*\b)?{parameter.name}\b", text, re.MULTILINE), (name, parameter.name)


def printed():
    schedule = treecast.plan("broadcast", "star:5", messages=400, survive=2)
    report = treecast.verify(schedule)
    yield schedule
    yield report
    yield schedule.rows
    yield schedule.rows.payloads
    yield schedule.collective
    yield schedule.model
    yield schedule.network
    yield treecast.simulate(schedule)
    yield treecast.sweep(schedule, 1)
    yield treecast.reliability(schedule, 0.01, sets=5000)
    yield treecast.run(schedule, bytes(1000))
    yield treecast.disjoint_trees("star:5")
    yield from treecast.bounds("broadcast", "star:5", messages=400, copies=3)
    yield from treecast.builders("broadcast", "star:5")


def test_whatever_is_printed_fits_on_a_screen():
    for thing in printed():
        assert len(str(thing)) < 80 * 24, type(thing)
        assert len(repr(thing)) < 300, (type(thing), repr(thing))


def test_a_file_says_all_that_is_needed_to_plan_it_again(tmp_path):
    schedule = treecast.plan("gatherv", "tree:2,2", lengths=3, tree="balanced", collect="walk")
    treecast.save(schedule, tmp_path / "plan.tc")
    from treecast.plans import plan_again

    assert plan_again(treecast.load(tmp_path / "plan.tc")) == schedule


# --- one new file each ---


def test_tests_of_a_module_stand_in_one_file():
    """Marks say which of them are slow or long."""
    assert not [path for lane in ("slow", "long") for path in (ROOT / "tests").rglob(f"{lane}/*.py")]


def test_no_test_waits_for_a_program_without_a_limit():
    """A program that hangs then fails its test, with what it has printed."""
    unbound = []
    for file in (ROOT / "tests").rglob("*.py"):
        if "subprocess" not in (text := file.read_text()):
            continue
        for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            waits = name in ("subprocess.run", "subprocess.check_output") or name.endswith(".communicate")
            if waits and not any(word.arg in ("timeout", None) for word in call.keywords):
                unbound.append(f"{file.relative_to(ROOT)}:{call.lineno}: {name} has no timeout=")
    assert not unbound


def test_every_verb_has_a_file_of_tests():
    """A newcomer finds the tests of a verb by its name: in tests/cli, or where the verb starts programs."""
    named = {file.stem.removeprefix("test_") for file in (ROOT / "tests").rglob("test_*.py")}
    assert {verb.replace("-", "_") for verb in find_verbs()} <= named


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_kernels_run_where_they_are_imported_late():
    for module in MODULES:
        if of_kernels(module):
            continue
        for node in parsed(module).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not any(".kernels." in name or name.startswith("numba") for name in names), name_of(module)
