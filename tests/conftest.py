"""Settings that all tests share."""

import gc
import json
import os
import re
import signal
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

from treecast import compiled
from treecast.cli import console, main

# a shell without job control has its background jobs ignore Ctrl-C, and so would the programs that tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# tests start hundreds of processes, each of which would compile all of treecast if nobody kept its bytecode
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# compiled functions compile on their first call, which no deadline should count
settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100)
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=15)
settings.load_profile("quick")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of k parameters in a row that are not long, leave all but one to long runs where ``each(k)`` says so.

    It is the first of the first k, the second of the next, and so on: a stride would pass over some values of a list whose
    length has a factor with k.
    """
    seen = Counter()
    for item in items:
        if (each := item.get_closest_marker("each")) and not item.get_closest_marker("long"):
            (k,), test = each.args, (item.parent, item.originalname)
            if seen[test] % k != seen[test] // k % k:
                item.add_marker(pytest.mark.long)
            seen[test] += 1


def pytest_collection_finish(session):
    """Look for garbage rarely, and not among the modules and tests: compiling kernels takes a tenth longer otherwise."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


@pytest.fixture(autouse=True, scope="module")
def see_what_others_compiled():
    """Let kernels that another worker has compiled meanwhile be loaded, not run interpreted until compiling pays."""
    compiled._stored.cache_clear()


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Let nobody say that work takes long: a busy machine would."""
    monkeypatch.setattr(console, "_PATIENCE", 3600.0)


@pytest.fixture
def ask(capsys):
    """Run a command and return its exit status, its standard output and its standard error, but for the files that it wrote."""

    def run(*arguments):
        status = main(list(arguments))
        out, err = capsys.readouterr()
        return status, out, re.sub(r"(?m)^wrote .*\n", "", err)

    return run


@pytest.fixture
def answer(ask):
    """Run a command with --json and return its findings."""

    def run(*arguments):
        status, out, err = ask(*arguments, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)

    return run
