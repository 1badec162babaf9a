"""A running job among strangers: half frames, wrong proofs, huge lengths and slow readers neither stop nor change it."""

from tests.tcp.test_strangers import job_among_strangers


def test_strangers_change_nothing():
    found, came = job_among_strangers(300, 300)
    assert found == [True] * 3
    assert came > 30
