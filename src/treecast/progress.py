"""Progress: how far long work is, in one shape, from whoever does the work to whoever watches it.

Long work calls ``report(done, total, name)``. Whoever wants to see that puts ``with reporting(show):`` around it. So a builder
deep inside a plan can say how far it is, and no function between the two has to pass anything on.

>>> with reporting(lambda done, total, name: print(f"{name}: {done} of {total}")):
...     report(1, 2, "steps")
steps: 1 of 2
>>> report(2, 2, "steps")  # nobody watches any more
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int, str], None]
"""Called with how much is done, of how much (0 where nobody knows), and the name of the work."""


def nobody(done: int, total: int, name: str) -> None:
    """Do nothing: this is who watches as long as nobody else does."""


_watching: ContextVar[Progress] = ContextVar("_watching", default=nobody)


def report(done: int, total: int, name: str = "") -> None:
    """Tell whoever watches how far the work called ``name`` is; ``total`` is 0 where it is not known."""
    _watching.get()(done, total, name)


@contextmanager
def reporting(progress: Progress | None) -> Generator[None]:
    """Let ``progress`` watch the work in this block; with None whoever watches already goes on.

    It is called in the thread that does the work, and should return soon.
    """
    if progress is None:
        yield
        return
    before = _watching.set(progress)
    try:
        yield
    finally:
        _watching.reset(before)


@contextmanager
def part_of(name: str = "", before: int = 0, total: int = 0, each: int = 1) -> Generator[None]:
    """Pass on the reports of this block as those of a part of longer work, of which ``before`` was done before this part.

    ``name``: the name under which they are passed on; their own when it is empty. ``total``: how much there is in all; the
    part's own number when it is 0. No more than that is told. ``each``: how much each count of the part stands for.

    >>> with reporting(lambda *told: print(told)), part_of("Lemma 1", before=10, total=30):
    ...     report(5, 10, "sets")
    (15, 30, 'Lemma 1')
    """
    watcher = _watching.get()

    def pass_on(done: int, of: int, inner: str) -> None:
        most = total or each * of
        watcher(min(before + each * done, most) if most else done, most, name or inner)

    with reporting(pass_on):
        yield
