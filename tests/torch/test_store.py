"""The store of a launcher is one of torch's: what HashStore answers, it answers."""

import random
from datetime import timedelta

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.distributed as dist  # noqa: E402

from treecast.tcp.meeting import MeetingPlace  # noqa: E402
from treecast.tcp.proof import Trust, Who  # noqa: E402
from treecast.torch.store import PlaceStore, SharedStore  # noqa: E402

VALUES = ["", "1", "2", "some words"]


@pytest.mark.parametrize("seed", range(5))
def test_the_store_answers_as_torchs_own(seed):
    deal, trust = random.Random(seed), Trust(b"secret")
    place, theirs = MeetingPlace(1, trust, ("127.0.0.1", 0)), dist.HashStore()
    inner = PlaceStore([("127.0.0.1", place.port)], Who(0, bytes(16)), trust)
    try:
        own = SharedStore(inner, "1")
        ours = dist.PrefixStore("of rpc", own)  # from C++, as torch asks
        for store in (ours, theirs):
            store.set_timeout(timedelta(seconds=0.2))
        for _ in range(200):
            key, number = deal.choice("ab"), f"n{deal.randrange(2)}"
            asked = deal.choice(
                [
                    ("set", key, deal.choice(VALUES)),
                    ("add", number, deal.randrange(-2, 3)),
                    ("check", [key, number]),
                    ("delete_key", deal.choice([key, number])),
                    ("compare_set", key, deal.choice(VALUES), deal.choice(VALUES)),
                    *([("get", key)] if theirs.check([key]) else []),
                ]
            )
            answers = [getattr(store, asked[0])(*asked[1:]) for store in (ours, theirs)]
            assert answers[0] == answers[1], asked
        with pytest.raises(dist.DistStoreError, match="never"):
            ours.get("never")
    finally:
        inner._sock and inner._sock.close()
        place.close()
