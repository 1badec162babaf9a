"""The house rules that a program can check: who may know what, how long things are, and that lists are generated."""

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

import treecast
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


def test_long_tests_stand_in_their_folder():
    """There quick runs do not read them; marks are for parameters."""
    tests = [file for file in (ROOT / "tests").rglob("test_*.py") if not file.is_relative_to(ROOT / "tests/long")]
    assert not [
        file.name for file in tests if re.search(r"^(?:@|pytestmark = )pytest\.mark\.long", file.read_text(), re.M)
    ]


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
