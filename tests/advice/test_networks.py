"""Advice: which members of families have so many ranks, what they take, and which options nothing beats."""

import treecast
from treecast.errors import NetworkError
from treecast.networks import families


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
