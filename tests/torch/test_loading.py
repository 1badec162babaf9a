"""treecast.torch where torch is not, or is broken: importing costs nothing and fails for nobody."""

import os
import subprocess
import sys

import pytest

BROKEN = {
    "missing": "sys.modules['torch'] = None",
    "broken": "import types; torch = sys.modules['torch'] = types.ModuleType('torch')",
    "without distributed": "import types; torch = sys.modules['torch'] = types.ModuleType('torch');"
    "torch.distributed = types.ModuleType('d'); torch.distributed.is_available = lambda: False",
}


@pytest.mark.parametrize("how", BROKEN)
def test_registering_is_silent_where_torch_cannot_be_had(how):
    program = f"import sys; {BROKEN[how]}; from treecast.torch.loading import register; register()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_registering_imports_little():
    program = (
        "import sys; sys.modules['torch'] = None; from treecast.torch.loading import register; register();"
        "assert sys.modules.keys().isdisjoint({'html', 'numpy', 'socket', 'treecast.networks', 'treecast.tcp'})"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=100)


SAYS = """
import sys, torch, torch.distributed as dist
dist.init_process_group('treecast')
x = torch.ones(2, dtype=torch.bfloat16)
dist.all_reduce(x)
sys.stdout.write(f"{dist.get_rank()} {dist.Backend.default_device_backend_map['cpu']} {x[0].item()}\\n")
dist.destroy_process_group()
"""


def test_torch_finds_the_backend_by_itself(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    told = tmp_path / "told-1.0.dist-info"  # what an installed package says of itself
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: told\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[torch.backends]\ntreecast = treecast.torch.loading:register\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", "2", "--", sys.executable, "-c", SAYS]
    done = subprocess.run(line, capture_output=True, text=True, env=environment, check=True, timeout=100)
    assert sorted(done.stdout.split("\n")) == ["", "0 gloo 2.0", "1 gloo 2.0"]


@pytest.mark.slow
def test_what_needs_torch_says_so_in_one_line():
    program = (
        "import sys; sys.modules['torch'] = None; import treecast.torch\n"
        "try: treecast.torch.failed()\nexcept ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "treecast.torch.failed needs PyTorch: pip install torch\n"


@pytest.mark.slow
def test_treecast_imports_nothing_of_torch():
    program = (
        "import sys, treecast, treecast.tcp.comm; assert not {name for name in sys.modules if name[:5] == 'torch'}"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
