"""The task of a builder, and its result."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.against import Against
from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.recognition import Likeness
from treecast.plans.amounts import Amount
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.costs import Costs
from treecast.units import spell_bytes

Where = TypeVar("Where", bound=Network, covariant=True)


@dataclass(frozen=True)
class Job(Generic[Where]):
    """The request, as ``treecast.job`` reads it; a builder's task, once it is known who can do it.

    Parameters
    ----------
    network, collective, model
        The place, the collective, and the machine.
    copies
        Over how many disjoint paths each chunk is to reach each node, from 1.
    against
        The parts that the ways must not share: nodes, links or arcs.
    options
        The builder's own options by name; in a builder's task with their values as the builder reads them.
    likeness
        Where a graph was given that is ``network`` under other names: which node is which.
    builder
        The name of the builder that is asked for.
    amount, costs
        How much data there is, and the cost of a send, where a plan is to choose the number of messages.
    said
        Which of ``messages`` and ``model`` are said: a plan may choose the other.

    Examples
    --------
    >>> import treecast
    >>> job = treecast.job("broadcast", "star:5", messages=400, survive=2)
    >>> print(job)
    broadcast over 120 nodes: 400 messages from node 0, on star:5 under all-port, 3 copies
    >>> job.collective.messages, job.copies, job.network.nodes
    (400, 3, 120)
    """

    network: Where
    collective: Collective
    model: Model
    copies: int = 1
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    against: Against = "nodes"
    likeness: Likeness | None = None
    builder: str | None = None
    amount: Amount | None = None
    costs: Costs | None = None
    said: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"<Job {self.collective.kind} {self.network.spec[:60]}: {self.copies} copies under {self.model.name}>"

    def __str__(self) -> str:
        many = "1 copy" if self.copies == 1 else f"{self.copies} copies"
        many += "" if self.amount is None or not self.amount.total else f", {spell_bytes(self.amount.total)}"
        return f"{self.collective}, on {self.network.spec} under {self.model.name}, {many}"

    @cached_property
    def machine(self) -> Model:
        """The machine whose builders serve: where every node keeps all data, it is as good as one with buffers."""
        model = self.model
        return model if model.buffered or not self.collective.all_keep else replace(model, buffered=True)

    def doing(self, kind: str) -> "Job[Where]":
        """Return the same job for another kind of collective of the same root and messages.

        Raises PlanError where the other kind does not go with this job's lengths or targets.
        """
        return replace(self, collective=replace(self.collective, kind=kind))

    def of(self, messages: int) -> "Job[Where]":
        """Return the same job of so many messages."""
        return replace(self, collective=replace(self.collective, messages=messages))


class Built(NamedTuple):
    """The rows of a schedule, and the claims of its builder: computed by other means than from the rows."""

    rows: Rows
    claims: Claims
    collective: Collective | None = None
    """With the chunks numbered as the rows have it, where the builder chooses that."""
    copies: int = 0
    """Over how many disjoint paths each chunk goes, where that is less than was asked for."""
    initiator: int | None = None
    """The node that starts the others, where one does."""
    alone: int = 0
    """How many rows of an orbit, the last ones, stand for themselves: see ``Schedule``."""


def rows_between(
    network: Network, payloads: Payloads, step: ArrayLike, src: ArrayLike, dst: ArrayLike, **columns: ArrayLike
) -> Rows:
    """Return rows over the arc from one node to another; ``columns``: the others of ``Rows.of``."""
    return Rows.of(payloads, step=step, src=src, dst=dst, port=network.port_between(src, dst), **columns)


def rows_of_blocks(
    job: "Job[Any]", step: ArrayLike, src: ArrayLike, dst: ArrayLike, block: Ints, **columns: ArrayLike
) -> Rows:
    """Return rows from one node to another, each of all chunks of a block: in order or, where messages combine, at once.

    ``block``: int64 (rows,), of the job's collective, none of them empty. ``columns``: the others of ``Rows.of``.
    """
    (used, which), collective = np.unique(block, return_inverse=True), job.collective
    first, sizes = used * collective.messages, np.full_like(used, collective.messages)
    if collective.lengths is not None:
        first, sizes = collective.begins()[used], collective.sizes()[used]
    steps, table = 1 if job.model.combining else sizes[which], Payloads.of_ranges(first, first + sizes)
    return rows_between(job.network, table, step, src, dst, steps=steps, payload=which, **columns)


def rows_over(network: Network, payloads: Payloads, step: ArrayLike, arc: Ints, **columns: ArrayLike) -> Rows:
    """Return rows over arcs, by their numbers in ``arcs_of``; ``columns``: the others of ``Rows.of``."""
    arcs = arcs_of(network)
    return Rows.of(payloads, step=step, src=arcs.tail[arc], dst=arcs.head[arc], port=arcs.port[arc], **columns)


def joined(parts: Sequence[Rows], later: Sequence[int] = ()) -> Rows:
    """Return the rows of several schedules as those of one; ``later``: by how many steps each of them."""
    some = [i for i, part in enumerate(parts) if len(part)] or [0]  # empty ones are left out
    parts, later = [parts[i] for i in some], [later[i] for i in some] if later else ()
    if len(parts) == 1 and not any(later):
        return parts[0]
    columns = [part.columns() for part in parts]
    # payloads of each stand behind those before
    for some, by in zip(columns, starts([len(part.payloads) for part in parts]).tolist(), strict=False):
        some["payload"] = some["payload"].astype(np.int64) + by
    for some, by in zip(columns, later, strict=bool(later)):
        some["step"] = some["step"].astype(np.int64) + by
    table = Payloads.concatenated([part.payloads for part in parts])
    return Rows.of(table, **{name: np.concatenate([some[name] for some in columns]) for name in columns[0]})


NO_ROWS = Rows.of(Payloads.of([]), step=(), src=(), dst=(), port=())
"""The rows of a schedule in which nothing is sent."""
NOTHING = Built(NO_ROWS, Claims(0, 0))
"""What a builder makes where nothing is to be sent."""


@cache
def memory() -> int:
    """Return how many bytes of memory this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(size: int, subject: str) -> None:
    """Raise PlanError when ``size`` bytes do not fit in this machine's memory."""
    if size > memory():
        raise PlanError(f"{subject}: about {size / 2**30:,.0f} GiB are too many for this machine's memory")
