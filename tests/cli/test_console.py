import io
import json
import threading
import time

import pytest

from treecast.cli import console
from treecast.description import Description, Table
from treecast.progress import report


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def test_figures_stand_below_one_another(capsys):
    console.show_lines({"steps": 1234567, "a longer name": ["first", 2, True], "ratio": 1.04761, "time": 12345.6})
    assert capsys.readouterr().out.split("\n") == [
        "steps          1,234,567",
        "a longer name  first",
        "               2",
        "               yes",
        "ratio          1.05",
        "time           12,346",
        "",
    ]


def test_no_figures_are_no_lines(capsys):
    console.show_lines({})
    assert capsys.readouterr().out == ""


def test_a_table_is_as_wide_as_it_needs_and_ends_in_no_spaces(capsys):
    cells = [("[bold]", ":smile:", 1000), ("\\[x]", "y" * 90, None)]
    console.show_table(Table(("one", "two", ""), cells, marks={":smile:": "good"}))
    lines = capsys.readouterr().out.split("\n")
    assert lines == [
        "one     two",
        f"[bold]  {':smile:':<90}  1,000",
        f"\\[x]    {'y' * 90}  None",
        "",
    ]


def test_json_is_json(capsys):
    data = {"network": "star:4", "lost": [], "é": None, "ratio": 0.5}
    console.show(Description(data), as_json=True)
    assert json.loads(capsys.readouterr().out) == data


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_chatter_and_progress_are_for_terminals_only(monkeypatch, capsys, stream):
    errors = stream()
    monkeypatch.setattr("sys.stderr", errors)
    console.say("written: [red]plan[/red].tc :smile:")
    with console.progress("sets"):
        report(1, 2)
        report(2, 2, "other sets")
    assert capsys.readouterr().out == ""
    if stream is Terminal:
        assert errors.getvalue().startswith("written: [red]plan[/red].tc :smile:\n")
        assert "other sets" in errors.getvalue()
    else:
        assert errors.getvalue() == ""


def test_closed_streams_are_no_terminals(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    console.say("nobody hears this")
    with console.progress("sets"):
        report(1, 2)


def test_progress_ends_with_what_it_surrounds(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(KeyboardInterrupt), console.progress("sets"):
        raise KeyboardInterrupt


def test_a_bar_can_wait_until_the_work_takes_long(monkeypatch):
    errors = Terminal()
    monkeypatch.setattr("sys.stderr", errors)
    with console.progress("plan", after=0.3):
        report(32, 0, "sets")
        assert errors.getvalue() == ""
        until = time.monotonic() + 20
        while "sets" not in errors.getvalue() and time.monotonic() < until:  # nothing more is reported
            time.sleep(0.02)
    assert "sets" in errors.getvalue()
    with console.progress("plan", after=60):
        pass  # and it does not wait for the bar


@pytest.mark.parametrize("value", ["1", ""])
def test_no_color_takes_escape_codes_away(value, monkeypatch, capsys):
    """Ranks of MPI have a terminal even where their output goes into a file: the lab says so by NO_COLOR."""
    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("rich.console.Console.is_terminal", property(lambda self: self._force_terminal is not False))
    console.show_table(Table(("node",), [("dead",)], marks={"dead": "bad"}))
    assert ("\x1b[" in capsys.readouterr().out) == (not value)


def test_a_line_says_that_work_goes_on_where_no_bar_is_shown(monkeypatch, capsys):
    monkeypatch.setattr(console, "_PATIENCE", 0.01)
    with console.progress("plan"):
        report(3, 10, "trees")
        wait = threading.Event()
        while not (err := capsys.readouterr().err):
            wait.wait(0.01)
    assert err.startswith("treecast: still at work after 0.01 s")


def test_the_greatest_bound_stands_alone_and_all_are_had(files, ask):
    few = ask("plan", "allreduce", "fat-tree:4", "--messages", "2")[1]
    every = ask("plan", "allreduce", "fat-tree:4", "--messages", "2", "--bounds")[1]
    assert few.count("at least") < every.count("at least")
    assert set(few.splitlines()[:8]) <= set(every.splitlines())
    assert ask("verify", "plan.tc", "--bounds")[1].count("at least") > ask("verify", "plan.tc")[1].count("at least")


@pytest.mark.slow
def test_builders_say_milliseconds(ask, answer):
    found = answer("builders", "allreduce", "torus:3x3", "--bytes", "1MiB", "--latency", "1us", "--rate", "5GB/s")
    times = [each["seconds"] for each in found["times"]]
    assert times == sorted(times)
    plan = answer("plan", "allreduce", "torus:3x3", "--bytes", "1MiB", "--latency", "1us", "--rate", "5GB/s")
    assert times[0] <= plan["time"]


def test_papers_are_listed_and_verbs_stand_in_groups(ask):
    assert {"star", "hypercube", "mesh", "trees"} <= set(ask("theorems")[1].split())
    assert "name the paper, too" in ask("theorems", "--up-to", "3")[2]
    out = ask("--help")[1]
    assert [name for name in ("Plan and judge", "Run", "Papers", "Help") if f"─ {name} ─" in out] == [
        "Plan and judge",
        "Run",
        "Papers",
        "Help",
    ]


def test_a_table_of_gpus_without_rates_asks_for_the_gpu(tmp_path, ask):
    (tmp_path / "topo.txt").write_text("\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX\n")
    assert (
        "name the gpu of a matrix, as in --gpu H100"
        in ask("plan", "allreduce", str(tmp_path / "topo.txt"), "--bytes", "1GB")[2]
    )
