"""What became of a cast: at each host, and of all; and how far it is, every few seconds."""

import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Any, NamedTuple

from treecast.running.cast.rank import Result

_EVERY = 5.0  # seconds between two lines on how far it is
_SHORT = 0.1  # seconds that nobody needs to be told of


class CastOutcome(NamedTuple):
    """The outcome of a cast. ``ends``: of each host, by its number, what came; or in words why it is not known, as ``died``; of
    the source, 0, only in words.

    ``names``: of the hosts. ``size``: bytes of all files. ``seconds``: of all, of looking what is there, of sending. ``rate``:
    bytes per second of a link, where that is known.
    """

    ends: Mapping[int, Result | str]
    names: Mapping[int, str]
    size: int
    seconds: tuple[float, float, float]
    rate: float | None = None

    @property
    def whole(self) -> int:
        """How many hosts have all of it."""
        return sum(isinstance(end, Result) and not end.error for end in self.ends.values())

    @property
    def hosts(self) -> int:
        """How many hosts there are beside the source."""
        return len(self.ends.keys() - {0})

    def status(self, allow_missing: bool = False) -> int:
        """Return the exit status: 0 when all hosts have all, or where some may be missing those that live, and at least one."""
        lack = [end for end in self.ends.values() if isinstance(end, Result) and end.error]
        return int(not self.whole or bool(lack)) if allow_missing else int(self.whole < self.hosts)

    def lines(self) -> Iterator[str]:
        """Yield a line for each host, and one of all."""
        for number, end in sorted(self.ends.items()):
            where = f"rank {number} on {self.names[number]}" if self.names.get(number) else f"rank {number}"
            yield f"{where}: {end if isinstance(end, str) else _words(end, self.size)}"
        total, looked, sent = self.seconds
        most, count = self._most(), f"{self.whole} of {self.hosts} hosts"
        if not any(isinstance(end, Result) for end in self.ends.values()):
            yield f"nothing was sent: none of {self.hosts} hosts took part, as was found in {total:.2f} s"
            return
        if not most:
            yield f"nothing was sent: {count} have all of {self.size:,} bytes, as was found in {total:.2f} s"
            return
        parts = {"to start": total - looked - sent, "to look what is there": looked, "to send": sent}
        told = ", ".join(f"{seconds:.2f} {what}" for what, seconds in parts.items() if seconds > _SHORT)
        least = f", {most / self.rate / sent:.0%} of the rate of a link" if self.rate else ""
        yield f"{self.size:,} bytes to {count} in {total:.2f} s ({told}), {most / sent / 1e6:,.1f} MB/s{least}"

    def _most(self) -> int:
        # What came at the host that lacked most: so many bytes each link had to carry.
        return max((end.came for end in self.ends.values() if isinstance(end, Result)), default=0)

    def figures(self) -> dict[str, Any]:
        """Return it as figures."""
        hosts = [
            {
                "rank": number,
                "host": self.names.get(number),
                "whole": isinstance(end, Result) and not end.error,
                "came": end.came if isinstance(end, Result) else None,
                "error": end if isinstance(end, str) else end.error,
            }
            for number, end in sorted(self.ends.items())
        ]
        named = dict(zip(("seconds", "seconds_to_look", "seconds_to_send"), self.seconds, strict=True))
        return {"bytes": self.size, "sent": self._most(), "whole": self.whole, **named, "hosts": hosts}


def _words(end: Result, size: int) -> str:
    had = f", {size - end.came:,} were there" if end.came < size else ""
    return end.error or f"whole, {end.came:,} bytes came{had}"


class Far:
    """How far a cast is: ``say`` keeps it, and a thread writes a line of it to standard error every few seconds."""

    def __init__(self) -> None:
        self.text, self._done, self._since = "", 0, 0.0

    def say(self, done: int, total: int) -> None:
        """Keep that so many bytes are in their places, of so many."""
        if not self._since:
            self._done, self._since = done, monotonic()
        rate = (done - self._done) / max(monotonic() - self._since, 1e-3)
        left = f", {(total - done) / rate:.0f} s left" if rate else ""
        self.text = f"{done / max(total, 1):.0%} of {total:,} bytes at all hosts together{left}"

    @contextmanager
    def shown(self) -> Generator[None]:
        """Show it as long as the work inside takes."""
        over = Event()

        def show() -> None:
            before, since = "", monotonic()
            while not over.wait(_EVERY):
                same = f", the same for {monotonic() - since:.0f} s"
                if self.text != before:
                    before, since, same = self.text, monotonic(), ""
                if before:
                    sys.stderr.write(f"treecast: {before}{same}\n")
                    sys.stderr.flush()

        Thread(target=show, daemon=True).start()
        try:
            yield
        finally:
            over.set()
