"""The events of a job at one rank: a stream of them, made where they are known; sinks do with them what they like."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

NAMES = {
    "joined": "this rank, or a newcomer, is in the job",
    "lost": "a rank has ended, or is silent, by which proof",
    "decided": "a call had an outcome that took more than one look: ranks are out, or data is missing",
    "fetched": "this rank lacked data, and got it from another that has it",
    "redone": "a call begins anew, without the dead",
    "replanned": "a call goes down another plan, without the dead and the links that were lost",
    "slow": "this rank waits long for others, and where they are",
    "refused": "ranks make unlike calls, one is wrong at a rank, or a frame makes no sense",
    "failed": "a call has raised an error",
    "evicted": "the others have gone on without this rank",
    "wrong": "an error of treecast's own, which a helper thread has outlived",
    "ended": "this rank has ended its part",
}
"""The names of events, and their meaning."""


class Event(NamedTuple):
    """An event: its name, in which group and call, which ranks it is about, and a sentence."""

    name: str
    text: str = ""
    group: int = 0
    call: int = 0
    ranks: tuple[int, ...] = ()


class Events:
    """The stream. ``counts``: how many there were of each name. ``sinks``: each is called with every event."""

    def __init__(self) -> None:
        self.counts, self.sinks = Counter[str](), list[Callable[[Event], None]]()

    def tell(self, name: str, text: str = "", group: int = 0, call: int = 0, ranks: tuple[int, ...] = ()) -> None:
        """Tell of an event."""
        self.counts[name] += 1  # counted even where nobody listens
        for sink in self.sinks:
            sink(Event(name, text, group, call, ranks))
