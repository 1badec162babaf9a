"""``treecast bounds``."""

from tests.cli.test_cli import JOB


def test_bounds(answer):
    found = answer("bounds", "broadcast", "star:5", "--messages", "400", "--survive", "2")
    assert set(found) >= JOB | {"steps_lower_bound", "transmissions_lower_bound", "bounds"}
    assert (found["steps_lower_bound"], found["transmissions_lower_bound"]) == (305, 142_800)
    assert set(found["bounds"][0]) == {"of", "value", "formula", "source", "given", "certificate"}
    assert answer("bounds", "broadcast", "star:5", "--model", "one-port")["steps_lower_bound"] == 8


def test_a_file_says_the_rate_and_the_latency_is_the_usual_one(ask):
    given = ("bounds", "allreduce", "examples/fabric.ibnetdiscover", "--bytes", "1GiB", "--json")
    status, out, err = ask(*given)
    assert (status, err) == (0, "nobody says how long a send takes to start: 2us is taken (--latency)\n")
    assert out == ask(*given, "--latency", "2us")[1]
    assert "time_lower_bound" in out
