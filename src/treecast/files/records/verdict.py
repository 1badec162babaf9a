"""A verdict on a job: which ranks are the cause, what they did, and who waits for them."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Verdict:
    """A finding. ``kind``: its rule. ``ranks``: the cause, as far as recorded. ``text``: a sentence with both sides of it.

    ``sure``: whether the records leave no other reading. ``waiting``: how many other ranks wait for these, ``chain``: one
    way in which they do, the cause last. ``lines``: a sentence on each of the ranks. ``awaited``: others, awaited later.

    >>> from treecast.files.records.verdict import Verdict
    >>> Verdict("absent", (2,), "2 stands outside all calls").ranks
    (2,)
    """

    kind: str
    ranks: tuple[int, ...] = ()
    text: str = ""
    sure: bool = True
    waiting: int = 0
    chain: tuple[int, ...] = ()
    lines: tuple[str, ...] = ()
    awaited: tuple[int, ...] = ()
    places: tuple[str, ...] = ()
    since: int = field(default=0, repr=False)


KINDS = {
    "unlike": "the two lines named: look for a condition there that depends on the rank or on its data",
    "skipped": "a rank without data for this step: join the others with nothing, or pad",
    "extra": "a call that only this rank makes: a condition that depends on the rank, or one step more than the others",
    "splits": "what each rank sends must be what the others receive: print the splits of both sides before this call",
    "crossed": "give both groups, or sends and receives, one order at all ranks",
    "absent": "see what its process does: py-spy dump, data loader, checkpoint, host",
    "stuck": "look at its GPU and its process first: dmesg (Xid), nvidia-smi, py-spy dump",
    "ended": "look at the end of its log, dmesg (out of memory), and its machine; or give its record, too",
    "stalled": "look at the network between them; what is not recorded may differ",
    "cannot": "give the records of the other ranks, or longer ones",
    "behind": "see what this rank does before the call that others do not: data, logging, a slower machine",
    "alright": "",
}
"""What to do, of each kind."""
