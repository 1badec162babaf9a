"""Times on the hypercube: closed forms against planned schedules, claims against their formulas, crossovers exactly."""

import re
from fractions import Fraction
from itertools import combinations, product
from math import comb

import pytest

from treecast.errors import TreecastError
from treecast.models import Cost
from treecast.papers.hypercube import times as times
from treecast.papers.hypercube.times import (
    ASKED,
    COLLECTIVES,
    MODELS,
    SCHEMES,
    CubeProblem,
    Time,
    crossings,
    crossover,
    fastest,
    measured,
    timings,
)
from treecast.plans import plan
from treecast.simulation.replay import simulate


def jobs(most):
    for d in range(1, most + 1):
        for collective, model, k, free in product(COLLECTIVES, MODELS, range(d), (False, True)):
            yield CubeProblem(collective, model, d, k, free)


def value(formula, job, beta, chunk):
    """Return the value of a formula as people write it: 2d β + (k+1)(n-1) Fτ."""
    tokens = re.findall(r"\d+|Fτ|[ndkβ]|[-+/^()]", formula.replace(", then", " +"))
    assert "".join(tokens) == formula.replace(", then", " +").replace(" ", "")
    written = []
    for token in tokens:
        if written and (token == "(" or token[-1].isalnum()) and (written[-1] == ")" or written[-1][-1].isalnum()):
            written.append("*")
        written.append({"^": "**", "β": "beta", "Fτ": "chunk"}.get(token, token))
    names = {"n": Fraction(2**job.d), "d": Fraction(job.d), "k": Fraction(job.k), "beta": beta, "chunk": chunk}
    return eval(" ".join(written), {}, names)


def test_formulas_say_what_the_figures_are():
    for job in jobs(7):
        for t in timings(job, measure=False):
            for time in (t.closed, t.claimed):
                if time is not None:
                    got = value(time.formula, job, 1, 0), value(time.formula, job, 0, 1)
                    assert got == time[:2], (t, got)


def test_where_claim_and_schedule_differ_there_is_a_reason():
    for job in jobs(7):
        for t in timings(job, measure=False):
            differ = t.claimed is not None and t.claimed[:2] != t.closed[:2]
            assert bool(t.why) == differ, t


def test_the_erratum():
    """The text says (n-1)(d-1), its own row sums to nd - n + 1, and that is what is sent."""
    for d in range(1, 9):
        ours, theirs, started = timings(CubeProblem("allgather", "whispering", d, d - 1), measure=False)
        n = 2**d
        row = [2**i for i in range(d)] + [n - 2 ** (i + 1) for i in range(d)]
        assert ours.claimed.chunks == (n - 1) * (d - 1) == sum(row) - d
        assert ours.closed.chunks == sum(row)
        assert "nd-n+1" in ours.why
        assert theirs.closed.chunks - ours.closed.chunks == n - 1 - d
        assert "nd-n+1" in started.why


def test_seconds_are_those_of_the_simulator():
    cost = Cost(1e-5, 2e-9)
    for scheme, model in product(SCHEMES, MODELS):
        if (scheme.startswith("answering"), model) == (True, "whispering"):
            continue
        schedule = plan("allgather", "hypercube:4", survive=2, model=model, **ASKED[scheme])
        time = measured(scheme, CubeProblem("allgather", model, 4, 2))
        trace = simulate(schedule)
        silent = schedule.steps - trace.steps  # the simulator ends with the last send that takes place
        assert time.seconds(cost, 1000) == pytest.approx(trace.seconds(cost, 1000) + silent * 1e-5)


def test_large_cubes_are_not_planned():
    assert [t.measured for t in timings(CubeProblem("allgather", "whispering", 17, 3))] == [None] * 3
    assert measured("four-phases", CubeProblem("allgather", "shouting", 9, 8)) is None
    assert timings(CubeProblem("broadcast", "whispering", 40, 39))[0].closed[:2] == (80, 79)


def test_crossovers_are_where_times_are_equal():
    some = [Time(a, b, "", "") for a, b in product((1, 2, 3, 7), (1, 4, 9))]
    for one, other in combinations(some, 2):
        r = crossover(one, other)
        assert r == crossover(other, one)
        if r is None:
            signs = {one.units(x) < other.units(x) for x in (Fraction(1, 10**6), Fraction(1), Fraction(10**6))}
            assert len(signs) == 1
        else:
            assert one.units(r) == other.units(r)
            before, behind = (one.units(x) < other.units(x) for x in (r / 2, r * 2))
            assert before != behind
        (crossing,) = crossings([("one", one), ("other", other)])
        by_name = {"one": one, "other": other}
        first, second = by_name[crossing.first], by_name[crossing.second]
        for x in (Fraction(1, 10**6), *([r, r / 2] if r else [Fraction(10**6)])):
            assert first.units(x) <= second.units(x)
        assert crossing.equal == (one[:2] == other[:2])


def test_the_fastest_are_fastest_where_they_are_said_to_be():
    some = [("a", Time(1, 9, "", "")), ("b", Time(2, 4, "", "")), ("c", Time(7, 1, "", "")), ("d", Time(9, 9, "", ""))]
    found = fastest(some)
    assert found == [(0, ("a",)), (Fraction(1, 5), ("b",)), (Fraction(5, 3), ("c",))]
    for place, (start, names) in enumerate(found):
        stop = found[place + 1][0] if place + 1 < len(found) else start + 10
        for x in (start + (stop - start) * Fraction(i, 7) for i in range(1, 7)):
            least = min(time.units(x) for _, time in some)
            assert names == tuple(name for name, time in some if time.units(x) == least)
    assert fastest([("a", Time(1, 2, "", "")), ("b", Time(1, 2, "", ""))]) == [(0, ("a", "b"))]


def test_who_wins_does_not_depend_on_the_length_of_messages():
    for job in jobs(9):
        found = timings(job, measure=False)
        ((_, names),) = fastest([(t.scheme, t.closed) for t in found])
        for r in (Fraction(1, 10**9), Fraction(1), Fraction(10**9)):
            units = {t.scheme: t.closed.units(r) for t in found}
            assert names == tuple(scheme for scheme, time in units.items() if time == min(units.values()))
        if job.d > 1 and job.collective == "allgather":
            ours = job.model == "shouting" or job.k in (0, job.d - 1)
            tie = (job.model, job.d, job.fault_free) == ("shouting", 2, True)
            expected = ("dimension-order",) if ours else ("fraigniaud",)
            assert names == (*expected, *(["answering"] if tie else [])), job


def test_fraigniaud_and_the_four_phases_cross():
    for d in range(4, 12):
        for model, r in (
            ("whispering", Fraction(2 * d, 2**d - 3 * d)),
            ("shouting", Fraction(d + 1, 2 ** (d - 1) - d - 1)),
        ):
            job = CubeProblem("allgather", model, d, d - 1)
            assert crossover(times.closed_form("fraigniaud", job), times.closed_form("four-phases", job)) == r


@pytest.mark.parametrize(
    "job",
    [
        CubeProblem("scatter", "whispering", 3, 1), CubeProblem("broadcast", "all-port", 3, 1),
        CubeProblem("broadcast", "shouting", 0, 0), CubeProblem("broadcast", "shouting", 3, 3),
        CubeProblem("broadcast", "shouting", 3, -1), CubeProblem("allgather", "shouting", 41, 0),
    ],
)  # fmt: skip
def test_jobs_that_are_not_there(job):
    with pytest.raises(TreecastError, match=r"^[^\n]+$"):
        timings(job)


@pytest.mark.slow
def test_closed_forms_are_those_of_planned_schedules():
    for job in jobs(6):
        for t in timings(job):
            assert t.measured is not None
            assert t.closed[:2] == t.measured[:2], t


@pytest.mark.slow
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
