"""Ranks that die, stop, or are cut off: the others say the same, with the right data, and go on."""

import subprocess
import sys

LITTLE, MUCH = 8, 40_000  # numbers of eight bytes: a message without, and with, a grant
PROGRAM = "import sys; from tests.tcp import trials; {}; print('wrong:', *wrong, sep='\\n'); sys.exit(bool(wrong))"


def held(body, seconds=280):
    """Run trials in a process that has no threads, and return what was wrong."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body)], capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
