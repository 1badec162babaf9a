"""Progress: whoever watches hears what is reported inside, and nobody else does."""

import threading

import pytest

from treecast import plan
from treecast.progress import nobody, part_of, report, reporting
from treecast.running.execution.local import run


def test_only_who_watches_is_told_and_only_meanwhile():
    outer, inner = [], []
    report(0, 1, "before")
    with reporting(lambda *told: outer.append(told)):
        report(1, 3, "a")
        with reporting(lambda *told: inner.append(told)):
            report(2, 3, "b")
        with reporting(None):  # who watched goes on watching
            report(3, 3, "c")
        with reporting(nobody):
            report(4, 3, "d")
    report(5, 3, "after")
    assert (outer, inner) == ([(1, 3, "a"), (3, 3, "c")], [(2, 3, "b")])


def test_an_error_ends_the_watching():
    told = []
    with pytest.raises(KeyError), reporting(lambda *report: told.append(report)), part_of("x"):
        raise KeyError
    report(1, 1, "after")
    assert told == []


def test_parts_add_up():
    told = []
    with reporting(lambda *report: told.append(report)):
        for before in (0, 10):
            with part_of("all", before, 20):
                report(5, 10, "half")
                with part_of(before=2):
                    report(5, 10, "half")
        with part_of("unknown"):
            report(7, 0, "sets")
    assert told == [(5, 20, "all"), (7, 20, "all"), (15, 20, "all"), (17, 20, "all"), (7, 0, "unknown")]


def test_a_run_reports_every_step_to_its_caller_alone():
    """Two threads run at once: neither hears of the other's steps."""
    schedules, told = [plan("broadcast", "star:3", messages=m) for m in (1, 40)], [[], []]
    threads = [
        threading.Thread(
            target=run, args=(s, b"data"), kwargs={"progress": lambda *heard, into=into: into.append(heard)}
        )
        for s, into in zip(schedules, told, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for schedule, heard in zip(schedules, told, strict=True):
        assert heard == [(step + 1, schedule.steps, "steps") for step in range(schedule.steps)]
