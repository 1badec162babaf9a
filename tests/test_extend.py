"""Parts that others add: files that name them, the laws that hold them, and who is to blame for their errors."""

import subprocess
import sys

import numpy as np
import pytest

import treecast
from treecast import discovery
from treecast.collectives import kinds
from treecast.errors import TreecastError
from treecast.extend import (
    ALL_PORT,
    Built,
    Claims,
    begins_with,
    builder,
    collective,
    exporter,
    family,
    importer,
    machine,
)
from treecast.files.formats import registry as formats
from treecast.models import MODELS
from treecast.networks import family as families
from treecast.plans import registry as builders
from treecast.plans.whole.all_port.broadcast import over_breadth_first_tree
from treecast.testing import check_format, check_machine, check_maker, check_network

PLUGIN = """
import networkx
import treecast
from treecast.extend import begins_with, collective, exporter, family, importer, machine


@family("wheel", "N", example="wheel:6", summary="a ring and its hub", nodes="N", degree="N - 1")
def wheel(nodes):
    return treecast.network(networkx.wheel_graph(nodes))


@family("bowtie", "", example="bowtie", summary="two triangles")
def bowtie():
    return treecast.network([("a", "m"), ("b", "m"), ("a", "b"), ("c", "m"), ("d", "m"), ("c", "d")])


machine("two-engines", ports=2, latency=3, summary="two engines")
collective("publish", "node", "root", "all", "blocks of one node reach all")


@exporter("lines", suffix=".lines", summary="a line for each row")
def lines(schedule):
    return b"LINES" + b"\\n" * len(schedule)


@exporter("wrong", suffix=".wrong", summary="a mistake")
def wrong(schedule):
    yield b"no name"


@importer("lines", recognises=begins_with(b"LINES"))
def read(data):
    return [][3]
"""


@pytest.fixture
def plugin(tmp_path):
    """A file of an extension, and a function that runs the command beside it."""
    (tmp_path / "wheels.py").write_text(PLUGIN)

    def run(command, **more):
        words = [sys.executable, "-m", "treecast", *command.split()]
        return subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300, **more)

    return run


@pytest.mark.slow
def test_a_file_adds_what_a_package_does(plugin, tmp_path):
    done = plugin("plan publish wheel:6 --model two-engines -o wheel.tc --plugin wheels.py")
    assert done.returncode == 0, done.stderr
    assert "network        wheel:6, 6 nodes" in done.stdout
    assert "network wheel:6\n" in (tmp_path / "wheel.tc").read_text()
    assert plugin("verify wheel.tc --plugin=wheels.py").returncode == 0
    assert plugin("export wheel.tc -o wheel.lines --plugin wheels.py").returncode == 0
    assert (tmp_path / "wheel.lines").read_bytes().startswith(b"LINES")
    alone = plugin("verify wheel.tc")
    assert alone.returncode == 2
    assert "'wheel:6' is no network" in alone.stderr
    for command, shown in (
        ("networks", "wheel:N"),
        ("help models", "two-engines"),
        ("help files", ".lines"),
        ("plan publish bowtie", "publish"),
    ):
        done = plugin(f"{command} --plugin wheels.py")
        assert (done.returncode, shown in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("verify mine.lines", "error: the extension fails (wheels.py, line 33): IndexError: list index out of range"),
        (
            "export plan.tc -o plan.wrong",
            "error: the writer of format wrong gives bytes: return bytes, or yield pairs of a name and bytes",
        ),
        (
            "plan broadcast ring:4 --plugin nowhere.py",
            "error: the extension nowhere.py cannot be imported: there is no such file",
        ),
        (
            "plan broadcast ring:4 --plugin broken.py",
            "error: the extension broken.py cannot be imported: broken.py, line 2: division by zero",
        ),
    ],
)
def test_who_is_to_blame_is_told_in_one_line(plugin, tmp_path, command, said):
    (tmp_path / "mine.lines").write_bytes(b"LINES\n")
    (tmp_path / "broken.py").write_text("import treecast\n1 / 0\n")
    treecast.save(treecast.plan("broadcast", "ring:4"), tmp_path / "plan.tc")
    done = plugin(f"{command} --plugin wheels.py")
    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "plan.wrong").exists()
    assert ("Traceback" in plugin(f"{command} --plugin wheels.py --traceback").stderr) == ("fails" in said)


def test_an_error_of_our_own_is_blamed_on_nobody(monkeypatch):
    monkeypatch.setenv(discovery.PLUGINS, "wheels.py")
    with pytest.raises(IndexError) as caught:
        np.zeros(2)[3]
    assert discovery.blame(caught.value) == ""


@pytest.fixture
def registries(monkeypatch):
    """All registries, which are as before when the test is over."""
    treecast.builders("broadcast", "path:3")
    monkeypatch.setattr(families, "_ENTRIES", dict(treecast.families()))
    monkeypatch.setattr(formats, "_EXPORTERS", dict(formats.exporters()))
    monkeypatch.setattr(formats, "_IMPORTERS", dict(formats.importers()))
    for table in (MODELS, kinds._KINDS):
        known = dict(table)
        monkeypatch.setitem(table, "", None)
        monkeypatch.delitem(table, "")
        assert table == known
    known, rows, presets = list(builders._ENTRIES), set(kinds._KINDS), set(MODELS)
    yield
    builders._ENTRIES[:] = known
    builders.forget()
    for table, before in ((kinds._KINDS, rows), (MODELS, presets)):
        for name in set(table) - before:
            del table[name]


def test_a_wrong_formula_of_a_family_is_found(registries):
    family("hoop", "N", example="hoop:6", summary="a ring", nodes="N", diameter="⌊N/3⌋")(
        lambda nodes: treecast.network([(u, (u + 1) % nodes) for u in range(nodes)])
    )
    with pytest.raises(AssertionError, match=r"^hoop:6: diameter, which its family says is ⌊N/3⌋: there is 3, not 2$"):
        check_network("hoop")


class Boastful(treecast.networks.Torus):
    """A ring that says that its diameter is smaller."""

    diameter = 1


def test_a_network_that_says_what_is_not_so_is_found():
    with pytest.raises(AssertionError, match=r"diameter: there is 1, not 3$"):
        check_network(Boastful((6,), "ring"))


def late_tree(late, claimed):
    @builder("late", "broadcast", under=ALL_PORT, summary="one tree, later", baseline=True)
    def build(job):
        built = over_breadth_first_tree(job)
        columns = built.rows.columns() | {"step": built.rows.step + late}
        rows = treecast.Rows.of(built.rows.payloads, **columns)
        return Built(rows, Claims(built.claims.steps + claimed, built.claims.transmissions))


def test_a_maker_is_held_against_all_that_judge(registries):
    late_tree(0, 0)
    check_maker("late", networks=["path:4", "star:3"])
    late_tree(0, 1)
    with pytest.raises(
        AssertionError, match=r"on path:4, late, under all-port: the fast verifier's findings: .*claimed"
    ):
        check_maker("late", networks=["path:4"])
    with pytest.raises(AssertionError, match=r"^dimensions-in-turn makes no plan on path:4: "):
        check_maker("dimensions-in-turn", networks=["path:4"])
    with pytest.raises(TreecastError, match="there is no builder 'nobody'"):
        check_maker("nobody")


def test_machines_and_collectives_are_added(registries):
    own = machine("two-engines", ports=2, latency=3, summary="two engines")
    check_machine("two-engines", ["ring:4"])
    collective("publish", "node", "root", "all", "blocks of one node reach all")
    schedule = treecast.plan("publish", "ring:5", messages=2, model="two-engines,half")
    assert schedule.model.duplex == "half"
    assert own.spelling == "two-engines"
    treecast.testing.check_plan(schedule)


def test_a_format_that_loses_something_is_found(registries):
    exporter("lines", suffix=".lines", summary="a line a row")(lambda schedule: b"LINES" + b"\n" * len(schedule))
    check_format("lines")
    importer("lines", recognises=begins_with(b"LINES"))(lambda data: treecast.plan("broadcast", "ring:4", messages=3))
    with pytest.raises(AssertionError, match=r"the collective that is read: there is 'broadcast', not 'scatter'$"):
        check_format("lines")
    importer("lines", recognises=begins_with(b"LINES"))(lambda data: [][len(data)])
    with pytest.raises(IndexError):
        check_format("lines")
    with pytest.raises(TreecastError, match="nothing is no format that is written"):
        check_format("nothing")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(formats.exporters()))
def test_every_format_keeps_the_laws(name):
    check_format(name)


# Packages of others: what their modules register is found by their entry points.


MODULE = '''
import numpy as np
import networkx
import treecast
from treecast.extend import ALL_PORT, Built, Claims, Payloads, Rows, builder, exporter, family, picture


@family("wheel", "N", example="wheel:6", summary="a ring and its hub")
def wheel(nodes):
    return treecast.network(networkx.wheel_graph(nodes))


@builder("to-each", "broadcast", under=ALL_PORT, summary="each message to each neighbour of the root", baseline=True)
def to_each(job):
    """All-port: the root of a wheel reaches all."""
    network, root = job.network, job.collective.root
    to = np.array(network.neighbors(root))
    messages, ones = job.collective.messages, np.ones_like(to)
    columns = {"step": 0 * ones, "steps": messages * ones, "src": root * ones, "dst": to, "tree": 0 * ones, "payload": 0 * ones}
    columns["port"] = np.array([network.port_between(root, node) for node in to.tolist()])
    return Built(Rows.of(Payloads.of([[(0, messages)]]), **columns), Claims(steps=messages, transmissions=messages * len(to)))


@exporter("count", suffix=".count", summary="the number of rows")
def count(schedule):
    return f"rows {len(schedule)}\\n".encode()


@picture("rows", of=treecast.Schedule, into=("text",), summary="the number of rows")
def rows(schedule, view):
    return f"{len(schedule)} rows"
'''


@pytest.fixture
def treecast_with(tmp_path, monkeypatch):
    """A function that runs the command beside an installed package whose module has some text."""

    def run(text, *commands):
        (tmp_path / "others.py").write_text(text)
        about = tmp_path / "others-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("[treecast]\nothers = others\n")
        program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from treecast.cli import main"
        program += f"; sys.exit(max(map(main, {[command.split() for command in commands]})))"
        return subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300
        )

    return run


@pytest.mark.slow
def test_builders_families_formats_and_pictures_of_a_package_are_found(treecast_with, tmp_path):
    done = treecast_with(
        MODULE,
        "plan broadcast wheel:6 --builder to-each -o wheel.tc",
        "export wheel.tc -o wheel.count",
        "draw wheel.tc --kind rows -o -",
    )
    assert (done.returncode, done.stderr) == (0, "wrote wheel.tc, 5 rows\nwrote wheel.count, count\n")
    assert "verified" in done.stdout
    assert (tmp_path / "wheel.count").read_text() == "rows 5\n"
    assert "5 rows" in done.stdout


@pytest.mark.slow
def test_a_package_that_cannot_be_imported_ends_nothing(treecast_with):
    done = treecast_with("import nowhere_to_be_found\n", "plan broadcast ring:4")
    assert done.returncode == 0
    assert (
        "the extension others of treecast is left out: others.py, line 1: No module named 'nowhere_to_be_found'"
        in done.stderr
    )
