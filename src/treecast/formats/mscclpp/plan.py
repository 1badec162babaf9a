"""A plan of MSCCL++ as it was read: every number that names a channel, a buffer or a GPU is replaced by the thing itself."""

from dataclasses import dataclass
from typing import NamedTuple

from treecast.programs.verdict import Findings

BUFFERS = "ios"
End = tuple[int, str, int]
"""A channel as one of its GPUs sees it: GPU, type, and its number there."""
Where = tuple[int, ...]
"""GPU, threadblock and operation; within a pipeline the operation in it as well."""

WAITS = ("wait", "rlxwait")
SIGNALS = ("signal", "rlxsignal")
PORT_SIGNALS = ("pws", "pwsf")
PUTS = ("put", *PORT_SIGNALS, "ppkt", "rppkt")


class Form(NamedTuple):
    """The places that an operation takes: l on this GPU, r on another, s on all of a group; a capital has packets.

    ``sources`` and ``targets`` have a letter for the first place, the second, …; the last stands for all further ones if
    ``more``. ``sums`` says that all sources are added up, and ``each`` that the k-th source goes to the k-th target.
    """

    sources: str
    targets: str
    sums: bool = False
    each: bool = False
    more: tuple[bool, bool] = (False, False)


_PAIRS = (True, True)
FORMS = {
    "copy": Form("l", "l"),
    "put": Form("l", "r", each=True, more=_PAIRS),
    "pws": Form("l", "r", each=True, more=_PAIRS),
    "pwsf": Form("l", "r", each=True, more=_PAIRS),
    "get": Form("r", "l", each=True, more=_PAIRS),
    "re": Form("ll", "l", sums=True, more=(True, False)),
    "res": Form("ll", "lr", sums=True, more=_PAIRS),
    "rre": Form("lr", "l", sums=True, more=(True, False)),
    "rres": Form("lr", "lr", sums=True, more=_PAIRS),
    "ppkt": Form("l", "R", each=True, more=_PAIRS),
    "cpkt": Form("l", "L"),
    "upkt": Form("L", "l"),
    "rppkt": Form("L", "R", more=(False, True)),
    "repkt": Form("lL", "l", sums=True, more=(True, False)),
    "respkt": Form("lL", "lR", sums=True, more=_PAIRS),
    "recpkt": Form("lL", "lL", sums=True, more=(True, False)),
    "recspkt": Form("lL", "lLR", sums=True, more=_PAIRS),
    "gstore": Form("l", "s"),
    "glres": Form("s", "s", sums=True),
    "gstorepkt": Form("L", "S"),
}
PORT_PACKETS = Form("L", "R", each=True, more=_PAIRS)
"""``ppkt`` on a port: its sources are packets already."""


class Piece(NamedTuple):
    """A place that an operation uses. ``owners``: whose buffers, several where a switch joins them."""

    owners: tuple[tuple[int, str], ...]
    first: int
    size: int
    packed: bool


@dataclass(frozen=True)
class Op:
    """An operation: its name, where it stands, and the type of its channels, or nothing.

    ``ends`` are its channels, ``semaphores`` pairs of GPU and number, ``barrier`` and ``blocks`` the barrier and how many
    threadblocks it is for. It works on a ``part``, (which, of how many), of each of its places, ``sources`` and ``targets``, and
    ``adds`` by sum, max or min. A pipeline goes over ``chunks`` in pieces of ``unit`` bytes, by ``inner`` operations.
    """

    name: str
    where: Where
    by: str = ""
    ends: tuple[End, ...] = ()
    semaphores: tuple[tuple[int, int], ...] = ()
    barrier: int = -1
    blocks: int = 0
    sources: tuple[Piece, ...] = ()
    targets: tuple[Piece, ...] = ()
    part: tuple[int, int] = (0, 1)
    adds: str = "sum"
    chunks: int = 0
    unit: int = 0
    inner: tuple["Op", ...] = ()

    @property
    def form(self) -> Form | None:
        """Which places it takes; None where it moves nothing."""
        return PORT_PACKETS if self.name == "ppkt" and self.by == "port" else FORMS.get(self.name)

    @property
    def by_proxy(self) -> bool:
        """Whether single threads hand it to a proxy, which moves it later."""
        return self.name in PUTS and self.by == "port"

    @property
    def signals(self) -> bool:
        """Whether it signals on its channels."""
        return self.name in (*SIGNALS, *PORT_SIGNALS)

    @property
    def flagged(self) -> bool:
        """Whether all threads move packets, each of which is awaited by its flag."""
        form = self.form
        return form is not None and not self.by_proxy and not (form.sources + form.targets).islower()


@dataclass(frozen=True)
class Gpu:
    """A GPU: chunks of its three buffers, the other end of each of its channels, semaphores as they begin, threadblocks."""

    chunks: tuple[int, int, int]
    semaphores: tuple[int, ...]
    blocks: tuple[tuple[Op, ...], ...]


@dataclass(frozen=True)
class Plan:
    """A plan: ``other`` has the other end of each channel that has one."""

    name: str
    collective: str
    inplace: bool
    reuses: bool
    long: bool
    gpus: tuple[Gpu, ...]
    other: dict[End, End]

    @property
    def ops(self) -> tuple[Op, ...]:
        """All operations, without those within pipelines."""
        return tuple(op for gpu in self.gpus for block in gpu.blocks for op in block)


def spell(where: Where) -> str:
    """Return where something is as the file's keys lead to it."""
    keys = ("gpus", "threadblocks", "ops", "ops")
    return ".".join(f"{key}[{number}]" for key, number in zip(keys, where, strict=False))


def note(found: Findings, rule: str, where: Where, text: str) -> None:
    """Note a breach of a rule; one that is noted already, as in an earlier turn of a pipeline, counts once."""
    found.note(rule, text, spell(where), where)
