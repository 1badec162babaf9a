"""A plugin of pytest that says how many seconds of CPU time the tests took: ``pytest -p tests.cpu``.

Unlike ``--durations`` it counts no waiting, and it counts the processes that tests start. It prints the sums of the folders
and the dearest files and tests. ``--cpu-file`` keeps all of them as lines of a name, a phase and seconds.
"""

import resource
from collections import Counter
from pathlib import Path

import pytest

SHOWN = 40
_spent: Counter[tuple[str, str]] = Counter()  # by test and phase
_last = 0.0


def cpu_seconds():
    """Return the CPU time of this process, and of the processes that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def since_last():
    """Return the CPU time since this was asked last."""
    global _last
    before, _last = _last, cpu_seconds()
    return _last - before


def pytest_addoption(parser):
    parser.addoption("--cpu-file", help="keep the CPU time of each test in this file")


def pytest_collection_finish(session):
    _spent["collection", "all"] += since_last()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.cpu = since_last()  # pytest-xdist sends all attributes
    return report


def pytest_runtest_logreport(report):
    _spent[report.nodeid, report.when] += report.cpu


def pytest_terminal_summary(terminalreporter, config):
    if config.option.cpu_file:
        lines = (f"{seconds:.3f}\t{phase}\t{name}\n" for (name, phase), seconds in _spent.most_common())
        Path(config.option.cpu_file).write_text("".join(lines))
    folders, files, tests = Counter(), Counter(), Counter()
    for (name, phase), seconds in _spent.items():
        file = name.split("::")[0].removeprefix("tests/")
        files[file] += seconds
        folders[file.partition("/")[0] if "/" in file else file.partition("_")[0]] += seconds
        tests[f"{name} ({phase})"] += seconds
    for title, found in (("folders", folders), ("files", files), ("tests", tests)):
        terminalreporter.section(f"CPU time of {title}: {found.total():.1f} s in all")
        for name, seconds in found.most_common(SHOWN):
            terminalreporter.write_line(f"{seconds:8.2f}  {name}")
