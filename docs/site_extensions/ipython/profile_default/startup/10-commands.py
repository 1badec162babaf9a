"""Run while a page is built: ``!command`` prints what the command prints, and fails the cell if the command fails."""

import subprocess

import IPython


def _run(command):
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(f"{command} ended with exit status {done.returncode}")


IPython.get_ipython().system = _run
