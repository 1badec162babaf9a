"""treecast.torch where torch is not, or is broken: importing costs nothing and fails for nobody."""

import subprocess
import sys


def test_what_needs_torch_says_so_in_one_line():
    program = (
        "import sys; sys.modules['torch'] = None; import treecast.torch\n"
        "try: treecast.torch.failed()\nexcept ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "treecast.torch.failed needs PyTorch: pip install torch\n"


def test_treecast_imports_nothing_of_torch():
    program = (
        "import sys, treecast, treecast.tcp.comm; assert not {name for name in sys.modules if name[:5] == 'torch'}"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
