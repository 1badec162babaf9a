"""Settings that all tests share."""

import gc
import json
import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings

from treecast.cli import main
from treecast.kernels import compiled

# a shell without job control has its background jobs ignore Ctrl-C, and so would the programs that tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# tests start hundreds of processes, each of which would compile all of treecast if nobody kept its bytecode
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# compiled functions compile on their first call, which no deadline should count
settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100)
settings.register_profile(
    "quick", settings.get_profile("thorough"), max_examples=15
)  # of 100; tests.strategies.examples
settings.load_profile("quick")


SLOW, LONG = "tests/slow", "tests/long"  # tests of seconds, and of minutes; all others are quick
QUICK = "not long"  # what pytest is told to run, unless it is told otherwise

FIRST = (
    "kernels/test_interpreted",
    "plans/whole/bufferless/test_cover",
    "plans/whole/wormhole",
    "verification",
    "simulation",
    "drawing",
)
BESIDE = ("mpi", "lab", "test_scale", "formats/test_too_large")  # their work is done by other processes


WORKERS = (os.cpu_count() or 1) + 1
"""One more than there are cores: tests of MPI and of the lab wait more than they work."""


def pytest_xdist_auto_num_workers(config):
    return WORKERS


def pytest_configure(config):
    """Run long tests that are asked for by their folder."""
    if config.option.markexpr == QUICK and asked_for(LONG, config):
        config.option.markexpr = ""


def asked_for(lane, config):
    return any(lane in argument for argument in config.args)


def pytest_ignore_collect(collection_path, config):
    """Let quick runs read neither slow nor long tests that nobody asks for."""
    lane = next((lane for lane in (SLOW, LONG) if collection_path == config.rootpath / lane), None)
    return True if lane and config.option.markexpr == QUICK and not asked_for(lane, config) else None


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc):
    """Leave to long runs what ``each`` says: all parameters but the first and each k-th after it."""
    each = metafunc.definition.get_closest_marker("each")
    every = each.args[0] if each else 1
    calls = [call for call in metafunc._calls if all(mark.name != "long" for mark in call.marks)]
    for i, call in enumerate(calls):
        if i % every:
            call.marks.append(pytest.mark.long.mark)
    if calls and metafunc.config.option.markexpr == QUICK:
        metafunc._calls[:] = calls[::every]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Put long tests first, so that all workers end together; the first of all compiles what all others then load.

    Each worker gets an equal share of the tests to begin with. The second, which would compile the same at the same time as the
    first, begins with tests that wait for other processes.
    """
    for item in items:
        if item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.long)

    def place(item, folders):
        name = item.nodeid.removeprefix("tests/").removeprefix("slow/")
        return next((i for i, folder in enumerate(folders) if name.startswith(folder)), len(folders))

    beside = sorted((item for item in items if place(item, BESIDE) < len(BESIDE)), key=lambda item: place(item, BESIDE))
    others = sorted((item for item in items if place(item, BESIDE) == len(BESIDE)), key=lambda item: place(item, FIRST))
    share = len(items) // WORKERS
    items[:] = others[:share] + beside + others[share:]


def pytest_collection_finish(session):
    """Look for garbage rarely, and not among the modules and tests: compiling kernels takes a tenth longer otherwise."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


@pytest.fixture(autouse=True, scope="module")
def see_what_others_compiled():
    """Let kernels that another worker has compiled meanwhile be loaded, not run interpreted until compiling pays."""
    compiled._stored.cache_clear()


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
