"""``treecast times``."""

import pytest

from treecast.models import Cost
from treecast.papers.hypercube.times import MODELS, CubeProblem, timings


def test_times_are_those_of_the_schemes(answer):
    found = answer("times", "hypercube:4")
    assert [one["model"] for one in found] == list(MODELS)
    for one in found:
        job = CubeProblem("allgather", one["model"], 4, 3)
        assert (one["collective"], one["d"], one["k"], one["fault_free"]) == ("allgather", 4, 3, False)
        for shown, t in zip(one["schemes"], timings(job), strict=True):
            assert (shown["scheme"], shown["why"]) == (t.scheme, t.why)
            for key, time in (("claimed", t.claimed), ("closed_form", t.closed), ("measured", t.measured)):
                assert shown[key] == (None if time is None else time._asdict())
        assert one["fastest"] == [{"from": "0", "schemes": ["dimension-order"]}]
    crossing = found[0]["crossovers"][2]
    assert crossing == {"first": "fraigniaud", "second": "four-phases", "r": "2", "equal": False}


def test_times_in_seconds(answer, ask):
    costs = ("--bytes", "4KiB", "--latency", "10us", "--rate", "1GB/s")
    for one in answer("times", "hypercube:3", "--survive", "1", "--collective", "broadcast", "--fault-free", *costs):
        assert (one["k"], one["fault_free"]) == (1, True)
        for shown, t in zip(one["schemes"], timings(CubeProblem("broadcast", one["model"], 3, 1, True)), strict=True):
            assert shown["measured"]["seconds"] == t.closed.seconds(Cost(1e-5, 1e-9), 4096)
    status, out, _ = ask("times", "hypercube:3", *costs)
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["scheme", "x", "β", "x", "Fτ", "takes", "formula"] in lines
    assert any({"µs", "measured"} <= set(line) for line in lines)


def test_times_that_people_read(ask):
    status, out, err = ask("times", "hypercube:6")
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["dimension-order", "claimed", "12", "315", "2d", "β", "+", "(n-1)(d-1)", "Fτ"] in lines
    assert ["dimension-order", "measured", "12", "321"] in lines
    assert "fraigniaud is faster than four-phases up to Fτ/β = 6/23 = 0.261, slower from there on" in out
    assert "dimension-order is never slower than fraigniaud" in out
    assert out.count("fastest whatever Fτ/β: dimension-order") == 2
    _, out, _ = ask("times", "hypercube:6", "--survive", "2", "--collective", "broadcast")
    assert "dimension-order and fraigniaud take the same time" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("times", "hypercube:0"), "1 node has nothing to send"),
        (("times", "hypercube:4", "--survive", "4"), "from 0 to 3 faults"),
        (("times", "hypercube:4", "--survive", "-1"), "from 0 to 3 faults"),
        (("times", "hypercube:-3"), "hypercube:-3"),
        (("times", "star:4"), "not on star:4"),
        (("times", "nowhere:4"), "is no network"),
        (("times", "hypercube:4", "--collective", "scatter"), "scatter"),
        (("times", "hypercube:4", "--latency", "-1us", "--rate", "1GB/s"), "'-1us' is no time"),
        (("times", "hypercube:4", "--latency", "1us", "--rate", "nan"), "'nan' is no rate"),
        (("times", "hypercube:4", "--bytes", "-5"), "'-5' is no number of bytes"),
        (("times", "hypercube:4", "-o", "times.txt"), "times cannot be drawn as text: write to a file that ends in .svg"),
        (("times", "hypercube:4", "-o", "nowhere/times.svg"), "No such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_had(ask, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    status, out, err = ask(*arguments)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_pictures(ask, tmp_path, suffix):
    for command in (("times", "hypercube:4"),):
        picture = tmp_path / f"{command[0]}.{suffix}"
        status, out, _ = ask(*command, "-o", str(picture))
        assert status == 0
        assert out
        assert picture.stat().st_size > 1000
