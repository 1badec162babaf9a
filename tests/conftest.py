"""Settings that all tests share."""

import json
import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings

from treecast.cli import main

# a shell without job control has its background jobs ignore Ctrl-C, and so would the programs that tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# tests start hundreds of processes, each of which would compile all of treecast if nobody kept its bytecode
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# compiled functions compile on their first call, which no deadline should count
settings.register_profile("treecast", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("treecast")


@pytest.fixture
def ask(capsys):
    """Run a command and return its exit status, its standard output and its standard error."""

    def run(*arguments):
        status = main(list(arguments))
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def answer(ask):
    """Run a command with --json and return its findings."""

    def run(*arguments):
        status, out, err = ask(*arguments, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)

    return run
