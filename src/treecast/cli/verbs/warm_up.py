"""``treecast warm-up``."""

import io
import os
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout

from treecast.cli import console


def warm_up() -> int:
    """Compile everything that large work needs, once: for containers and batch jobs, whose first run should not wait.

    Example: treecast warm-up

    Compiled code goes where numba keeps it: NUMBA_CACHE_DIR, or beside treecast, or the user's cache folder. Nothing needs this:
    small work runs without compiled code, and large work compiles its kernels when it needs them.
    """
    from treecast.cli import main
    from treecast.cli.jobs import COMMANDS
    from treecast.kernels.compiled import policy
    from treecast.progress import report

    with tempfile.TemporaryDirectory() as folder, chdir(folder), console.progress("compiling"), policy("compile"):
        for place, words in enumerate(COMMANDS):
            report(place, len(COMMANDS), f"compiling: {' '.join(words)[:60]}")
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                status = main([*words])
            if status == 130:
                return status
    kept = os.environ.get("NUMBA_CACHE_DIR")
    console.show_text("compiled" + (f" into {kept}" if kept else ""))
    return 0
