"""When kernels are compiled, where compiled code is kept, and what happens where it cannot be."""

import os
import resource
import shutil
from pathlib import Path

from tests.kernels.test_compiled import SUM, python
from treecast import compiled


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


def test_a_cache_that_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    assert python(SUM, NUMBA_CACHE_DIR=str(tmp_path / "file")) == "[0, 1, 2, 3]\n"


def test_a_cache_that_must_not_be_written(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o500)
    folder = tmp_path / "cache" if os.geteuid() else "/proc/cache"  # root may write into any other
    assert python(SUM, NUMBA_CACHE_DIR=str(folder)) == "[0, 1, 2, 3]\n"


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


def test_a_full_disk(tmp_path):
    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

    assert python(SUM, before=no_room, NUMBA_CACHE_DIR=str(tmp_path)) == "[0, 1, 2, 3]\n"


def test_what_has_been_compiled_is_known_without_the_compiler(tmp_path):
    asked = "from treecast import compiled\nfrom treecast.schedule.kernels import trees\n"
    asked += "print(trees.depths.stored_name in compiled._stored())"
    assert python(asked, NUMBA_CACHE_DIR=str(tmp_path)) == "False\n"
    python(SUM, NUMBA_CACHE_DIR=str(tmp_path))
    assert python(asked, NUMBA_CACHE_DIR=str(tmp_path)) == "True\n"


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
