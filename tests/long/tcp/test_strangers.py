"""A running job among strangers: half frames, wrong proofs, huge lengths and slow readers neither stop nor change it."""

from tests.tcp.test_strangers import job_among_strangers


def test_ten_thousand_strangers_change_nothing():
    found, came = job_among_strangers(10_000, 30_000)
    assert found == [True] * 3
    assert came == 10_000
