"""Advice: which members of families have so many ranks, what they take, and which options nothing beats."""

import pytest

import treecast
from treecast.advice.networks import advise
from treecast.errors import NetworkError
from treecast.networks import families
from treecast.plans.fastest import Amount
from treecast.schedule.costs import Costs, seconds_by_steps


def test_members_have_the_ranks_that_are_asked_for() -> None:
    found = dict[str, int]()
    for ranks in range(1, 40):
        for name, family in families().items():
            for spelling in family.with_ranks(ranks):
                try:
                    where = treecast.network(spelling)
                except NetworkError:
                    assert name == "random-regular"  # there is none of some degrees
                    continue
                assert where.rank_count == ranks
                found[name] = found.get(name, 0) + 1
    assert set(families()) - set(found) == {"file", "machine", "rails", "tree"}  # a broadcast on a tree has one tree
    assert (found["ring"], found["hypercube"], found["star"], found["petersen"]) == (37, 5, 3, 1)
    assert families()["torus"].with_ranks(64) == ["torus:8x8", "torus:4x4x4"]
    assert families()["torus"].with_ranks(61) == []


COSTS = Costs.of("1us", "12.5GB/s")


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize(("kind", "survive"), [("broadcast", 1), ("allgather", 0)])
def test_every_option_takes_what_it_says(kind: str, survive: int) -> None:
    found = advise(kind, [8, 9], Amount(72 * 1000), COSTS, survive=survive, most_degree=4)
    assert {each.ranks for each in found.options} == {8, 9}
    assert list(found.options) == sorted(found.options, key=lambda each: (each.seconds, each.links))
    for each in found.options:
        schedule = treecast.plan(
            kind,
            each.network,
            survive=each.survives,
            model=each.model,
            builder=each.builder,
            bytes=each.sizes.block * each.ranks if kind == "allgather" else each.sizes.block,
            chunk=each.sizes.chunk,
        )
        assert treecast.verify(schedule)
        assert each.survives >= survive
        assert each.degree <= 4
        assert schedule.steps == each.steps
        assert seconds_by_steps(schedule, COSTS) == pytest.approx(each.seconds)
        assert each.bound is None or each.bound.seconds <= each.seconds * (1 + 1e-9)
        worse = [
            other
            for other in found.options
            if (other.degree, other.seconds, -other.survives) != (each.degree, each.seconds, -each.survives)
            and other.degree <= each.degree
            and other.seconds <= each.seconds
            and other.survives >= each.survives
        ]
        assert each.front == (not worse)


@pytest.mark.slow
def test_links_that_share_a_rate_take_longer() -> None:
    whole, shared = (
        advise("broadcast", [8], Amount(1 << 20), COSTS, most_degree=3, rate_per=per) for per in ("link", "node")
    )
    times = [{each.network: each.seconds for each in found.options if not each.survives} for found in (whole, shared)]
    assert times[0]["hypercube:3"] < times[1]["hypercube:3"]
    by_links = advise("broadcast", [8], Amount(1 << 20), COSTS, most_degree=3, sort="links").options
    assert [each.links for each in by_links] == sorted(each.links for each in by_links)


@pytest.mark.slow
def test_degrees_are_those_of_the_networks() -> None:
    found = treecast.advise("broadcast", 8, size="1MiB", latency="1us", rate="1GB/s")
    options = [each for each in found.options if each.model == "all-port"]
    assert "mesh:2x2x2" in {each.network for each in options}
    for each in options:
        where = treecast.network(each.network)
        assert each.degree == max(len(where.neighbors(u)) for u in range(where.nodes)), each.network
