"""Times on the hypercube: closed forms against planned schedules, claims against their formulas, crossovers exactly."""

from math import comb

from tests.papers.test_hypercube_times import jobs
from treecast.papers.hypercube.times import CubeProblem, timings
from treecast.plans import plan


def test_closed_forms_are_those_of_planned_schedules():
    for job in jobs(6):
        for t in timings(job):
            assert t.measured is not None
            assert t.closed[:2] == t.measured[:2], t


def test_the_paper_counts_twice_as_much_shouting_as_there_is():
    """Section 3 says 2(n-1) Fτ; the longest messages are C(d, s), and d-1 in step 1: n-1."""
    for d in range(2, 9):
        job, n = CubeProblem("allgather", "shouting", d, d - 1), 2**d
        by_name = {t.scheme: t for t in timings(job, measure=d < 8)}
        answers = by_name["answering"]
        assert (answers.claimed.chunks, answers.closed[:2]) == (2 * (n - 1), (d + 1, n - 1))
        assert "n-1" in answers.why
        if d < 8:
            assert answers.measured[:2] == answers.closed[:2]
            schedule = plan("allgather", f"hypercube:{d}", model="shouting", survive=d - 1, builder="answering")
            sizes = [1, d - 1, *(comb(d, s) for s in range(2, d + 1))]
            assert schedule.message_sizes.tolist() == sizes
            assert schedule.transmissions == n * (n * d - n + 1)
        assert by_name["dimension-order"].closed.chunks == n // 2
