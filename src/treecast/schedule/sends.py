"""Single sends, one by one or all of a step, and a builder's claims on all of them."""

from dataclasses import dataclass
from typing import NamedTuple

from treecast.description import count_of
from treecast.ragged import Ints


@dataclass(frozen=True)
class Claims:
    """The claims of a schedule's builder. The verifier measures, and compares.

    Parameters
    ----------
    steps : int
        The number of steps.
    transmissions : int
        The number of (chunk, arc) sends when nothing fails.

    Examples
    --------
    >>> import treecast
    >>> treecast.plan("broadcast", "star:4").claims
    Claims(steps=4, transmissions=23)
    """

    steps: int
    transmissions: int

    def __str__(self) -> str:
        return f"{count_of(self.steps, 'step')}, {count_of(self.transmissions, 'transmission')}"


class Send(NamedTuple):
    """One send of one chunk over one arc in one step; ``port`` is -1 where the model chooses the route."""

    step: int
    src: int
    dst: int
    port: int
    tree: int
    chunk: int


@dataclass(frozen=True)
class Sends:
    """All sends of one step, one entry per chunk and arc: int64 arrays of one length; ``row`` is the row they come from."""

    step: int
    src: Ints
    dst: Ints
    port: Ints
    tree: Ints
    chunk: Ints
    row: Ints
