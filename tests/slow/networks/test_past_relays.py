"""Few chunks over routes past relays: as few steps as were found by hand."""

import treecast


def test_few_chunks_past_relays() -> None:
    for kind, steps in (("reduce", (4, 8)), ("alltoall", (20, 70))):
        for messages, most in zip((1, 4), steps, strict=True):
            found = treecast.plan(kind, "fat-tree:4 past relays", messages=messages)
            assert found.steps <= most
            assert treecast.verify(found).holds
