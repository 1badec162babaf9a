"""What the documentation shows is run."""

import subprocess
import sys

from tests.test_docs import ROOT


def test_every_example_in_the_source_runs():
    """Those of treecast.torch aside, which needs PyTorch and several ranks."""
    source = str(ROOT / "src" / "treecast")
    asked = ["-q", "-n", "0", "-p", "no:cacheprovider", "--doctest-modules", source, "--ignore", f"{source}/torch"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *asked], capture_output=True, text=True, check=False, timeout=3000
    )
    assert done.returncode == 0, done.stdout
