"""When kernels are compiled, where compiled code is kept, and what happens where it cannot be."""

import os
import pty
import resource
import shutil
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from treecast import compiled
from treecast.compiled import Kernel, in_parallel, lowest_bit, njit, policy
from treecast.progress import reporting
from treecast.schedule.kernels.trees import depths

SUM = """
import os, sys, numpy as np
from treecast.compiled import policy
from treecast.schedule.kernels.trees import depths
with policy("compile"):
    depth = np.zeros(4, np.int32)
    assert depths(np.array([-1, 0, 1, 2], np.int32), 0, depth) == -1
print(depth.tolist(), file=sys.stdout)
"""


def python(code, *, before=None, cwd=None, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
        preexec_fn=before,
        cwd=cwd,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@njit(work=lambda most: most)
def counted(most):
    """Add up numbers, one at a time."""
    total = 0
    for i in range(most):
        total += i
    return total


@pytest.fixture
def fresh():
    return Kernel(counted.function, counted.work)


def test_large_work_is_compiled_at_once(fresh):
    assert fresh(10**9) == 10**9 * (10**9 - 1) // 2  # interpreted a minute
    assert fresh.spent == 0


def test_much_small_work_is_compiled_in_time(fresh, monkeypatch):
    monkeypatch.setattr(compiled, "_COMPILE", 0.02)
    monkeypatch.setattr(compiled, "_PER_BYTE", 0)
    monkeypatch.setattr(compiled, "_IMPORT", 0)
    monkeypatch.setattr(compiled, "_stored", set)
    calls = 0
    while fresh._run is None:
        assert fresh(2000) == 1999000
        calls += 1
        assert calls < 10_000
    assert calls > 10
    assert fresh.spent < 0.1


def test_without_compiling():
    code = SUM.replace('with policy("compile"):', "if True:") + "print('numba' in sys.modules)"
    assert python(code, NUMBA_DISABLE_JIT="1") == "[0, 1, 2, 3]\nFalse\n"
    with policy("interpret"):
        assert Kernel(counted.function, lambda most: 1e12)(10) == 45


# --- blocks ---


def test_interpreted_blocks_run_in_one_thread():
    threads, kernel = set(), Kernel(counted.function)

    def work(start, stop):
        threads.add(threading.get_ident())
        return kernel(stop - start)

    with policy("interpret"), pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "numba", raising=False)
        assert in_parallel(work, 100, 9) == [36] * 11 + [0]
    assert threads == {threading.get_ident()}


def test_compiled_blocks_run_in_several():
    threads = set()
    barrier = threading.Barrier(2, timeout=200)

    def work(start, stop):
        threads.add(threading.get_ident())
        if start in (9, 18):
            barrier.wait()
        return counted(stop - start)

    with policy("compile"), pytest.MonkeyPatch.context() as patch:
        counted(3)
        patch.setattr(os, "cpu_count", lambda: 2)
        assert in_parallel(work, 100, 9) == [36] * 11 + [0]
    assert len(threads) >= 2


def test_blocks_count_together(monkeypatch):
    """What is small in one block is not in a million of them."""
    kernel = Kernel(counted.function, counted.work)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    with policy("pay"):
        in_parallel(lambda start, stop: kernel(stop - start), 10**8, 10**5)
    assert kernel._run is not None
    assert kernel.spent == 0


def test_progress_is_told_to_the_end():
    told = []
    with reporting(lambda done, total, what: told.append((done, total, what))):
        assert in_parallel(lambda start, stop: stop, 10, 4, "blocks") == [4, 8, 10]
        assert told[-1] == (10, 10, "blocks")
        assert in_parallel(lambda start, stop: stop, 0, 4, "none") == []
        assert told[-1] == (0, 0, "none")


def test_arrays_come_back_as_arrays():
    depth = np.zeros(3, np.int32)
    assert depths.interpret(np.array([-1, 0, 0], np.int32), np.int64(0), depth) == -1
    assert depth.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("papers.kernels.annealing.anneal", [(np.zeros(10**7, np.int64),)]),
        ("lower_bounds.kernels.broadcasts.cheapest", [np.zeros((16, 16), np.int16), 4]),
        ("networks.kernels.star.walk_trees", [0, 40320, np.zeros(8, np.int64), 30, False]),
        (
            "plans.kernels.rarest_first.spread",
            [(None, None, np.zeros(30240, np.int32)), None, np.zeros((5040, 6), np.bool_)],
        ),
    ],
)
def test_large_work_is_known_before_it_begins(name, arguments, monkeypatch):
    module, _, function = name.rpartition(".")
    kernel = getattr(import_module(f"treecast.{module}"), function)
    monkeypatch.setattr(compiled, "_stored", set)
    with policy("pay"):
        assert kernel._pays(arguments)


@njit
def lowest_of(words):
    return [lowest_bit(word) for word in words]


@pytest.mark.parametrize("way", ["interpret", "compile"])
def test_the_lowest_bit_of_any_word(way):
    places = np.arange(64)
    bits = np.left_shift(np.ones(64, np.int64), places)
    with policy(way):
        assert lowest_of(bits) == lowest_of(-bits) == lowest_of(bits | bits << 3) == places.tolist()


@pytest.mark.slow
def test_small_work_imports_no_compiler(tmp_path):
    out = python(
        """
import io, sys
from treecast.cli import main
sys.stderr = io.StringIO()  # "wrote plan.tc"
assert main(["plan", "broadcast", "star:4", "--messages", "60", "--copies", "3"]) == 0
assert main(["plan", "scatterv", "torus:6x6", "--lengths", "random:9", "--builder", "cover", "-o", "plan.tc"]) == 0
assert main(["verify", "plan.tc"]) == 0
print([name for name in ("numba", "networkx", "urllib.request") if name in sys.modules])
""",
        cwd=tmp_path,
    )
    assert out.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_a_cache_that_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    assert python(SUM, NUMBA_CACHE_DIR=str(tmp_path / "file")) == "[0, 1, 2, 3]\n"


@pytest.mark.slow
def test_a_cache_that_must_not_be_written(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o500)
    folder = tmp_path / "cache" if os.geteuid() else "/proc/cache"  # root may write into any other
    assert python(SUM, NUMBA_CACHE_DIR=str(folder)) == "[0, 1, 2, 3]\n"


@pytest.mark.slow
def test_nowhere_to_keep_compiled_code(tmp_path):
    code = SUM.replace(
        "with policy",
        """
import numba.core.caching as caching
def nowhere(cls, function, file): return None
for locator in caching.FunctionCache._impl_class._locator_classes: locator.from_function = classmethod(nowhere)
with policy""",
    )
    assert python(code) == "[0, 1, 2, 3]\n"


@pytest.mark.slow
def test_a_full_disk(tmp_path):
    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

    assert python(SUM, before=no_room, NUMBA_CACHE_DIR=str(tmp_path)) == "[0, 1, 2, 3]\n"


@pytest.mark.slow
def test_what_has_been_compiled_is_known_without_the_compiler(tmp_path):
    asked = "from treecast import compiled\nfrom treecast.schedule.kernels import trees\n"
    asked += "print(trees.depths.stored_name in compiled._stored())"
    assert python(asked, NUMBA_CACHE_DIR=str(tmp_path)) == "False\n"
    python(SUM, NUMBA_CACHE_DIR=str(tmp_path))
    assert python(asked, NUMBA_CACHE_DIR=str(tmp_path)) == "True\n"


@pytest.mark.slow
def test_a_change_of_a_file_concerns_the_kernels_of_those_that_import_it(tmp_path, monkeypatch):
    shutil.copytree(Path(compiled.__file__).parent, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(compiled, "_FOLDER", tmp_path)

    def stamps():
        compiled._stamp.cache_clear()
        return {file.relative_to(tmp_path): compiled._stamp(file) for file in tmp_path.rglob("kernels/*.py")}

    before, dice = stamps(), Path("networks/kernels/dice.py")
    with open(tmp_path / dice, "a") as file:
        file.write("# changed\n")
    after = stamps()
    every = {file.relative_to(tmp_path): file.read_text() for file in tmp_path.rglob("kernels/*.py")}
    users = {name for name, text in every.items() if "treecast.networks.kernels.dice import" in text}
    assert len(users) > 3
    assert {name for name in before if before[name] != after[name]} == users | {dice}
    with open(tmp_path / "compiled.py", "a") as file:
        file.write("# changed\n")
    assert {name.stem for name, stamp in stamps().items() if stamp == after[name]} == {"__init__"}
    compiled._stamp.cache_clear()


@pytest.mark.long
def test_a_cache_cut_short(tmp_path):
    assert python(SUM, NUMBA_CACHE_DIR=str(tmp_path)) == "[0, 1, 2, 3]\n"
    kept = [file for file in tmp_path.rglob("*.nb?") if file.name.startswith("trees.depths")]
    assert {file.suffix for file in kept} == {".nbi", ".nbc"}
    for file in kept:
        file.write_bytes(file.read_bytes()[:40])
        assert python(SUM, NUMBA_CACHE_DIR=str(tmp_path)) == "[0, 1, 2, 3]\n"


@pytest.mark.long
def test_a_terminal_is_told_once_what_takes_so_long(tmp_path):
    leader, follower = pty.openpty()
    code = SUM + "from treecast.schedule.kernels import streams\nwith policy('compile'): streams.depths(depth, depth)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=follower,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        timeout=3000,
    )
    os.close(follower)
    assert done.stdout == b"[0, 1, 2, 3]\n"
    assert os.read(leader, 1000).decode().splitlines() == ["compiling kernels for large work (once per machine) …"]
    os.close(leader)
