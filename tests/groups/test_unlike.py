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


def draw(rng, many):
    """Return a size, and so many calls."""
    size = rng.randint(2, 5)
    return size, [(rng.choice(NAMES), rng.randrange(size), rng.choice((1, 9))) for _ in range(many)]


def check_one_error(world, place, told):
    """Run a world: all ranks raise, or owe, one error, and calls at other places are right. Return its texts."""
    world.run()
    assert all(rank.over for rank in world.ranks), told
    errors = [[text for _, text in rank.results if isinstance(text, str)] for rank in world.ranks]
    owed = [rank.group.unlike.owed for rank in world.ranks]
    assert all(len(said) + len(left) == 1 for said, left in zip(errors, owed, strict=True)), (told, errors, owed)
    assert all(number == place for rank in world.ranks for number, *_ in rank.wrong), told
    return {text for said in errors for text in said}


@pytest.mark.parametrize("relays", [False, True])
@pytest.mark.parametrize("seeds", range(0, 240, 40))
def test_one_call_that_differs_is_one_error_at_all_and_no_other_call_is_wrong(seeds, relays):
    for seed in range(seeds, seeds + 40):
        rng = random.Random(seed)
        size, calls = draw(rng, 4)
        calls.append(("barrier", 0, 1))
        place, odd = rng.randrange(4), rng.randrange(size)
        others = alter(rng, calls, place, size)
        said = check_one_error(World.of(calls, size, relays, {odd: others}, seed), place, (seed, calls, others))
        assert len(said) == 1, (seed, said)


@pytest.mark.parametrize("relays", [False, True])
@pytest.mark.parametrize("seeds", range(0, 120, 40))
def test_a_call_that_is_wrong_at_some_ranks_is_one_error_at_all_and_no_other_call_is_wrong(seeds, relays):
    for seed in range(seeds, seeds + 40):
        rng = random.Random(seed)
        size, calls = draw(rng, 4)
        calls.append(("barrier", 0, 1))
        place, odd = rng.randrange(4), sorted(rng.sample(range(size), rng.choice((1, 1, 2))))
        name, root, count = calls[place]
        wrong = [*calls[:place], (name, root, -count), *calls[place + 1 :]]
        world = World.of(calls, size, relays, dict.fromkeys(odd, wrong), seed)
        who = f"rank{'s' * (len(odd) > 1)} {', '.join(map(str, odd))}"
        assert check_one_error(world, place, (seed, calls)) == {f"{name}: the arguments of {who} were refused there"}


def test_calls_that_agree_raise_nothing():
    for seed in range(60):
        size, calls = draw(random.Random(seed), 6)
        world = World.of(calls, size, seed=seed)
        assert world.run() == "fine"
        assert not any(isinstance(text, str) for rank in world.ranks for _, text in rank.results)


def test_who_was_put_out_has_left_out_no_call():
    """All make the same calls, and some are put out on the way: at the end no rank says that another made fewer."""
    for seed in range(150):
        world = World(seed, calls=6, fates=("stop", "suspect", "part"))
        world.run()
        for rank in world.ranks:
            rank.group.say_leaving(rank.group.agreement.others())
        world.run()
        said = [rank.group.unlike.last_word(rank.group.agreement.left_early()) for rank in world.ranks]
        assert not any(said), (seed, said)


def test_who_leaves_out_the_last_calls_is_named_at_the_end():
    calls = [("broadcast", 0, 1)] * 3
    world = World.of(calls, 3, odd={1: calls[:2]})
    world.run()
    for rank in world.ranks:
        rank.group.say_leaving(rank.group.agreement.others())
    world.run()
    said = [rank.group.unlike.last_word(rank.group.agreement.left_early()) for rank in world.ranks]
    assert said[0] == "rank 0 ends after 3 calls, rank 1 after 2: all ranks make the same calls"
