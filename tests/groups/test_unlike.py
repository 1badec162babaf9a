"""Ranks that make unlike calls: in any order of messages all of them raise one error, once, and the other calls are right."""

import random

import pytest

from tests.groups.scheduler import NAMES, World


def alter(rng, calls, place, size):
    """Return calls of which one differs: in its name, its root, or its length."""
    name, root, count = calls[place]
    other = rng.choice(
        [
            (rng.choice([each for each in NAMES if each != name]), root, count),
            (name, root, count + 1),
            ("broadcast", (root + 1) % size, count) if name == "broadcast" else ("barrier", root, count),
        ]
    )
    return [*calls[:place], other, *calls[place + 1 :]]


@pytest.mark.parametrize("relays", [False, True])
@pytest.mark.parametrize("seeds", range(0, 240, 40))
def test_one_call_that_differs_is_one_error_at_all_and_no_other_call_is_wrong(seeds, relays):
    for seed in range(seeds, seeds + 40):
        rng = random.Random(seed)
        size = rng.randint(2, 5)
        calls = [(rng.choice(NAMES), rng.randrange(size), rng.choice((1, 9))) for _ in range(4)] + [("barrier", 0, 1)]
        place, odd = rng.randrange(4), rng.randrange(size)
        others = alter(rng, calls, place, size)
        world = World.of(calls, size, relays, {odd: others}, seed)
        world.run()
        assert all(rank.over for rank in world.ranks), (seed, calls, others)
        errors = [[text for _, text in rank.results if isinstance(text, str)] for rank in world.ranks]
        owed = [rank.group.unlike.owed for rank in world.ranks]
        assert all(len(said) + len(left) == 1 for said, left in zip(errors, owed, strict=True)), (seed, errors, owed)
        assert len({text for said in errors for text in said}) == 1, (seed, errors)
        assert all(number == place for rank in world.ranks for number, *_ in rank.wrong), seed


@pytest.mark.parametrize("relays", [False, True])
@pytest.mark.parametrize("seeds", range(0, 120, 40))
def test_a_call_that_is_wrong_at_some_ranks_is_one_error_at_all_and_no_other_call_is_wrong(seeds, relays):
    for seed in range(seeds, seeds + 40):
        rng = random.Random(seed)
        size = rng.randint(2, 5)
        calls = [(rng.choice(NAMES), rng.randrange(size), rng.choice((1, 9))) for _ in range(4)] + [("barrier", 0, 1)]
        place, odd = rng.randrange(4), sorted(rng.sample(range(size), rng.choice((1, 1, 2))))
        name, root, count = calls[place]
        world = World.of(
            calls,
            size,
            relays,
            {rank: [*calls[:place], (name, root, -count), *calls[place + 1 :]] for rank in odd},
            seed,
        )
        world.run()
        assert all(rank.over for rank in world.ranks), (seed, calls)
        errors = [[text for _, text in rank.results if isinstance(text, str)] for rank in world.ranks]
        owed = [rank.group.unlike.owed for rank in world.ranks]
        assert all(len(said) + len(left) == 1 for said, left in zip(errors, owed, strict=True)), (seed, errors, owed)
        who = f"rank{'s' * (len(odd) > 1)} {', '.join(map(str, odd))}"
        said = {text for texts in errors for text in texts}
        assert said == {f"{name}: the arguments of {who} were refused there"}, (seed, errors)
        assert all(number == place for rank in world.ranks for number, *_ in rank.wrong), seed


def test_calls_that_agree_raise_nothing():
    for seed in range(60):
        rng = random.Random(seed)
        size = rng.randint(2, 5)
        calls = [(rng.choice(NAMES), rng.randrange(size), rng.choice((1, 9))) for _ in range(6)]
        world = World.of(calls, size, seed=seed)
        assert world.run() == "fine"
        assert not any(isinstance(text, str) for rank in world.ranks for _, text in rank.results)
