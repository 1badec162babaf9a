"""The lines and the status of a cast."""

from time import monotonic, sleep

from treecast.running.cast import report
from treecast.running.cast.rank import Result
from treecast.running.cast.report import CastOutcome, Far

NAMES = {1: "n1", 2: "n2", 3: "dead"}
LOST = "not reached (ssh: No route to host)"


def outcome(*ends, seconds=(10.0, 0.0, 8.0), rate=None, **more):
    return CastOutcome({**dict(enumerate(ends, 1)), **more.pop("also", {})}, NAMES, 1_000_000_000, seconds, rate)


def whole(number, came):
    return Result(number, NAMES[number], came, "")


def test_each_host_has_a_line_with_its_name_in_the_list():
    found = outcome(whole(1, 1_000_000_000), whole(2, 300_000_000), LOST, rate=250e6)
    assert list(found.lines()) == [
        "rank 1 on n1: whole, 1,000,000,000 bytes came",
        "rank 2 on n2: whole, 300,000,000 bytes came, 700,000,000 were there",
        "rank 3 on dead: not reached (ssh: No route to host)",
        "1,000,000,000 bytes to 2 of 3 hosts in 10.00 s (2.00 to start, 8.00 to send), 125.0 MB/s, 50% of the rate of a link",
    ]


def test_no_rate_of_what_was_not_sent():
    *_, last = outcome(whole(1, 0), whole(2, 0), seconds=(2.0, 0.5, 0.0)).lines()
    assert last == "nothing was sent: 2 of 2 hosts have all of 1,000,000,000 bytes, as was found in 2.00 s"


def test_no_size_of_what_nobody_took():
    *_, last = outcome(LOST, LOST, LOST, seconds=(2.0, 0.0, 0.0)).lines()
    assert last == "nothing was sent: none of 3 hosts took part, as was found in 2.00 s"


def test_the_status_says_whether_all_have_it():
    some = whole(1, 5)
    assert outcome(some).status() == 0
    assert [outcome(some, LOST).status(allowed) for allowed in (False, True)] == [1, 0]
    assert [outcome(some, "died").status(allowed) for allowed in (False, True)] == [1, 0]
    assert [outcome(some, Result(2, "n2", 0, "full")).status(allowed) for allowed in (False, True)] == [1, 1]
    assert outcome(LOST).status(allow_missing=True) == 1
    assert outcome(some, also={0: "died"}).status() == 0  # the source: all have it


def test_figures_name_the_hosts():
    first, last = outcome(whole(1, 5), LOST).figures()["hosts"]
    assert first == {"rank": 1, "host": "n1", "whole": True, "came": 5, "error": ""}
    assert last == {"rank": 2, "host": "n2", "whole": False, "came": None, "error": LOST}


def test_how_far_it_is():
    far = Far()
    far.say(0, 1000)
    assert far.text == "0% of 1,000 bytes at all hosts together"
    far.say(250, 1000)
    assert far.text.startswith("25% of 1,000 bytes at all hosts together, ")


def test_how_far_it_is_is_shown_though_nobody_is_at_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(report, "_EVERY", 0.01)
    far, shown = Far(), ""
    far.say(250, 1000)
    with far.shown():
        until = monotonic() + 100
        while ", the same for 0 s" not in shown:
            assert monotonic() < until, shown
            sleep(0.01)
            shown += capsys.readouterr().err
    assert shown.startswith("treecast: 25% of 1,000 bytes at all hosts together\n")
