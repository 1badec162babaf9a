"""Packages of others: what their modules register is found by their entry points."""

import subprocess
import sys

import pytest

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


def test_a_package_that_cannot_be_imported_ends_nothing(treecast_with):
    done = treecast_with("import nowhere_to_be_found\n", "plan broadcast ring:4")
    assert done.returncode == 0
    assert (
        "the extension others of treecast is left out: others.py, line 1: No module named 'nowhere_to_be_found'"
        in done.stderr
    )
