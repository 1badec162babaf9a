"""The schedule of a collective on a network: rows, and claims on them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from treecast.against import AGAINST, Against
from treecast.collectives import Collective
from treecast.description import Described, count_of
from treecast.errors import ScheduleError
from treecast.models import Model
from treecast.networks import Network, NodeName
from treecast.networks.symmetry import Symmetry
from treecast.ragged import Ints, places
from treecast.schedule import conversions
from treecast.schedule.carrying import carry_chunks, written_out
from treecast.schedule.checks import check_alone, check_initiator, check_sparing
from treecast.schedule.costs import Costs
from treecast.schedule.recipe import NO_RECIPE, Recipe, command_of
from treecast.schedule.rows import Claims, Rows, Send, Sends
from treecast.schedule.sizes import Sizes, longest_messages
from treecast.schedule.torn import Torn
from treecast.steps import NEVER

_FUNCTIONS = ("verify", "simulate", "sweep", "run", "elect", "repair", "reliability", "save", "draw")
_MOST_COPIES = np.iinfo(np.int16).max  # as many as there are trees


@dataclass(frozen=True)
class Schedule(Described):
    """A schedule of a collective on a network: who sends which chunks to whom at which step. It is immutable.

    Functions judge it: ``verify``, ``simulate``, ``sweep``, ``run``. ``len`` is the number of rows, iteration yields every
    single send, and ``schedule[first:stop]`` has the rows under way in those steps.

    Parameters
    ----------
    network : Network
        Where it takes place.
    collective : Collective
        The collective.
    model : Model
        The machine that it is for; ``verify`` can judge it under another.
    rows : Rows
        The sends, as columns.
    copies : int
        By how many disjoint paths each chunk is claimed to reach each node.
    orbit : bool
        The rows are the schedule of node 0's data alone, and the data of every node h takes the translates by h.
    claims : Claims, optional
        The claims of its builder.
    recipe : Recipe
        The recipe from which it can be planned again.
    sparing : bool
        A node leaves out payloads that have gone over a link before, either way: a row is silent when its source sent it over
        that link, or received it, at an earlier step. Then payloads share no chunks. Where rows of a payload over an arc name a
        tree, they answer: each is silent only when its source sent that payload over that arc before.
    initiator : int, optional
        Of a sparing allgather, the node that starts the others: a node sends data of other nodes, and its own, from when it
        holds the initiator's first message. None: all nodes begin by themselves.
    against : {"nodes", "links", "arcs"}
        The parts that no two ways share, by claim: the faults that copies are against. Nodes cover links, and links arcs.
    alone : int
        Of an orbit on a network that lacks arcs (see ``Network.mended``): how many rows, the last ones, stand for themselves.
    sizes, costs : Sizes, Costs, optional
        How many bytes the chunks have, and the costs of sends, where the schedule was planned for that.

    Raises
    ------
    ScheduleError
        When the rows do not fit the network or the collective.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
    >>> schedule
    <Schedule broadcast star:4: 11 steps, 69 rows>
    >>> print(schedule)
    collective     broadcast of 6 messages from 1234
    network        star:4, 24 nodes
    copies         3, to survive any 2 faults
    model          all-port
    builder        disjoint-trees
    trees          3
    steps          11
    transmissions  414
    rows           69
    >>> next(iter(schedule))
    Send(step=0, src=0, dst=6, port=0, tree=0, chunk=0)
    >>> len(schedule[:3]), len(schedule.tree(0)), len(schedule.at("4321"))
    (21, 23, 6)
    """

    network: Network
    collective: Collective
    model: Model
    rows: Rows
    copies: int = 1
    orbit: bool = False
    claims: Claims | None = None
    recipe: Recipe = NO_RECIPE
    sparing: bool = False
    initiator: int | None = None
    against: Against = "nodes"
    alone: int = 0
    sizes: Sizes | None = None
    costs: Costs | None = None

    def __post_init__(self) -> None:
        rows, chunks = self.rows, self.collective.chunks if self.alone else self.part.chunks * len(self.roots)
        if self.collective.nodes != self.network.nodes:
            raise ScheduleError("the collective and the network differ in their number of nodes")
        relays = () if self.network.relays is None else np.flatnonzero(self.network.relays)
        if not np.array_equal(self.collective.relays, relays):
            raise ScheduleError(
                "the collective and the network differ in their relays: write Collective.over(network, …)"
            )
        if self.orbit and (self.symmetry is None or not self.collective.alike or self.model.arcs):
            needs = "a network with a symmetry and a collective in which every node has the same part, and arcs that take alike"
            raise ScheduleError(f"an orbit schedule needs {needs}")
        if self.torn is not None or self.alone:
            check_alone(self)
        if self.sparing:
            check_sparing(self)
        if self.initiator is not None:
            check_initiator(self, self.initiator)
        if not 1 <= self.copies <= _MOST_COPIES:
            raise ScheduleError(f"copies must be from 1 to {_MOST_COPIES}, not {self.copies}")
        if self.sizes is not None:
            self.sizes.check(self.collective)
        if self.against not in AGAINST:
            raise ScheduleError(f"copies are against {', '.join(AGAINST)}, not {self.against!r}")
        if len(rows) and max(int(rows.src.max()), int(rows.dst.max())) >= self.network.nodes:
            raise ScheduleError(f"a row names a node that {self.network.spec} does not have")
        if len(rows.payloads.stop) and int(rows.payloads.stop.max()) > chunks:
            last = int(rows.payloads.stop.max()) - 1
            raise ScheduleError(f"{rows.highest}a payload names chunk {last}; chunks go from 0 to {chunks - 1}")

    def __hash__(self) -> int:
        # not of the copies and the like: equal schedules have equal rows
        return hash((self.network, self.collective.kind, self.collective.messages, self.collective.root, self.rows))

    def __repr__(self) -> str:
        where, size = self.network.spec, f"{count_of(self.steps, 'step')}, {count_of(len(self), 'row')}"
        return f"<Schedule {self.collective.kind} {where if len(where) < 60 else where[:59] + '…'}: {size}>"

    @property
    def symmetry(self) -> Symmetry | None:
        """The symmetry that carries the rows of an orbit to all others; None of other schedules."""
        return self.whole.symmetry if self.orbit else None

    @property
    def whole(self) -> Network:
        """The network that rows are written for: of an orbit where there is no symmetry, the one that it lacks arcs of."""
        return (self.orbit and self.network.symmetric) or self.network

    @cached_property
    def torn(self) -> Torn | None:
        """What an orbit becomes on a network that lacks arcs of the one with its symmetry; None where it lacks none."""
        return None if self.whole is self.network else Torn(self)

    @cached_property
    def base(self) -> "Schedule":
        """The orbit by itself, on the network that it is for."""
        if self.whole is self.network:
            return self
        rows = self.rows.take(slice(0, len(self.rows) - self.alone)) if self.alone else self.rows
        return replace(self, network=self.whole, rows=rows, alone=0, claims=None)

    @property
    def part(self) -> Collective:
        """The collective of the rows: the whole one, or of an orbit the part of its first root."""
        return self.collective.from_node_zero() if self.orbit else self.collective

    @property
    def roots(self) -> list[int]:
        """Of an orbit, the ranks of whose data its rows are; chunk i · C + c is chunk c of the C of the i-th one's part.

        Of other schedules the root of the collective, as one part.
        """
        return [self.collective.root] if self.symmetry is None else self.symmetry.representatives.tolist()

    @property
    def builder(self) -> str:
        """The name of its builder; empty when unknown."""
        return self.recipe.builder

    @property
    def command(self) -> str:
        """The command that plans it again; empty where no command can."""
        return command_of(self)

    @property
    def steps(self) -> int:
        """The number of steps until the last send has arrived, counted from step 0."""
        return self.rows.until(self.late(self.model))

    def late(self, model: Model) -> Ints:
        """Return how many steps after it began each send of each row has arrived under a model: int64 (rows,)."""
        return model.ticks(self.rows.src, self.rows.dst)[1]

    @property
    def transmissions(self) -> int:
        """The number of (chunk, arc) sends in all when nothing fails; a control flit is one."""
        if self.torn is not None:
            return self.torn.transmissions
        sent = np.maximum(self.rows.chunks_sent[self.speaking], 1)
        return int(sent.sum()) * (1 if self.symmetry is None else self.symmetry.order)

    @cached_property
    def speaking(self) -> NDArray[np.bool_]:
        """Which rows are not silent when nothing fails: bool (rows,); all, unless the schedule is sparing."""
        rows = self.rows
        if not self.sparing or not len(rows):
            return np.ones(len(rows), bool)
        there, back = self._there_and_back
        first = np.full(int(max(there.max(), back.max())) + 1, NEVER)
        np.minimum.at(first, there, rows.step)
        return (rows.step == first[there]) & (self.answers | (rows.step <= first[back]))  # not again, nor back

    @cached_property
    def answers(self) -> NDArray[np.bool_]:
        """Which rows of a sparing schedule are sent even if their payload came over their link before: bool (rows,).

        All rows of a payload over an arc answer, or none: those answer of which some name a tree.
        """
        tree = self.rows.tree >= 0
        if not self.sparing or not bool(tree.any()):
            return np.zeros(len(tree), bool)
        there = self._there_and_back[0]
        return np.bincount(there, tree)[there] > 0

    @cached_property
    def _there_and_back(self) -> tuple[Ints, Ints]:
        """A number for the arc and the payload of each row, and that of the arc back: int64 (rows,) each."""
        rows, nodes = self.rows, self.network.nodes
        src, dst, payloads = rows.src.astype(np.int64), rows.dst.astype(np.int64), len(rows.payloads)
        arc = np.unique(np.concatenate([src * nodes + dst, dst * nodes + src]), return_inverse=True)[1].reshape(2, -1)
        key = np.unique(arc * payloads + rows.payload, return_inverse=True)[1].reshape(2, -1)
        return key[0], key[1]

    @cached_property
    def message_sizes(self) -> Ints:
        """The most chunks that one message has in each step when nothing fails: int64 (steps,). Rows that share an arc and
        a step are one message; the message that an orbit sends by a port has the chunks of all sources.
        """
        rows, speaking = self.rows, self.speaking
        step, pace = rows.step[speaking].astype(np.int64), rows.pace[speaking].astype(np.int64)
        src, port = rows.src[speaking].astype(np.int64), rows.port[speaking].astype(np.int64)
        carrier = self.network.arc(src, port) if self.symmetry is None else self.symmetry.orbit_of(src, port)
        if self.alone:  # these begin when no others are under way
            carrier[-self.alone :] = self.whole.arc(src, port)[-self.alone :]
        chunks = rows.chunks_sent[speaking]
        return longest_messages(self.model, step, pace, chunks=chunks, carrier=carrier, total=self.steps)

    @cached_property
    def arcs_back(self) -> Ints:
        """Of a sparing schedule the number of the arc back of each row, as Network.arc numbers them, and that of no arc where the
        row answers; else an empty array.
        """
        rows, network = self.rows, self.network
        if not self.sparing:
            return np.empty(0, np.int64)
        back = network.arc(rows.dst, network.back(rows.src, rows.port))
        return np.where(self.answers, network.nodes * network.ports, back)

    @property
    def trees(self) -> int:
        """The number of different trees that the rows name."""
        return int(np.count_nonzero(np.bincount(self.rows.tree[self.rows.tree >= 0])))

    def select(self, where: Any) -> "Schedule":
        """Return the schedule of the rows that a mask, slice or index array picks; it claims nothing."""
        if self.torn is not None:
            raise ScheduleError("rows of an orbit where arcs are gone hang together: write them out by plain()")
        return replace(self, rows=self.rows.take(where), claims=None)

    def __getitem__(self, steps: slice) -> "Schedule":
        """Return the rows that are under way in some of the steps ``first … stop-1``, as ``schedule[first:stop]``.

        Parameters
        ----------
        steps : slice
            Steps, without a stride. Left out, they are the first and the last; negative ones count from the end.

        Raises
        ------
        ScheduleError
            For anything else: a single step is ``schedule[3:4]``.
        """
        # the value that people give, whatever the annotation says
        if not isinstance(steps, slice) or steps.step is not None:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ScheduleError("a schedule is sliced by steps: write schedule[3:8], or schedule[3:4] for one step")
        first, stop, _ = steps.indices(self.steps)
        # under way in some of these steps
        return self.select((self.rows.step < stop) & (self.rows.step + self.rows.steps > first) & (first < stop))

    def tree(self, tree: int) -> "Schedule":
        """Return the rows of one tree.

        Parameters
        ----------
        tree : int
            The number of the tree; -1 for rows of no tree.
        """
        return self.select(self.rows.tree == tree)

    def at(self, node: NodeName) -> "Schedule":
        """Return the program of one node: the rows that it sends or receives. Of an orbit, those of all sources.

        ``treecast.program`` derives them from the node's label alone, without the schedule.

        Parameters
        ----------
        node : int or str
            A node or its label.

        Raises
        ------
        NetworkError
            When the network has no such node.
        """
        node = self.network.node(node)
        if self.symmetry is not None:
            rows = written_out(self, node)
            return replace(self, rows=rows, orbit=False, alone=0, claims=None)
        return self.select((self.rows.src == node) | (self.rows.dst == node))

    def of_node_zero(self) -> "Schedule":
        """Return the rows of an orbit by themselves: the schedule of node 0's part. Any other schedule as it is."""
        if not self.orbit:
            return self
        if len(self.roots) > 1 or self.torn is not None:
            raise ScheduleError("the rows are not those of one node alone: write them out by plain()")
        sizes = self.sizes and self.sizes.over(self.part)
        return replace(self, collective=self.part, orbit=False, claims=None, sizes=sizes)

    def plain(self) -> "Schedule":
        """Return the same schedule without orbit: the rows as all elements of its symmetry carry them."""
        if self.symmetry is None:
            return self
        return replace(self, rows=written_out(self), orbit=False, alone=0)

    def expand(self, start: int = 0, stop: int | None = None) -> Iterator[Sends]:
        """Yield the sends of each step ``start … stop-1``: one entry for each chunk of each source; of steps of gaps not all."""
        if self.torn is not None:
            yield from self.plain().expand(start, stop)
            return
        rows, every = self.rows, range(start, self.steps if stop is None else min(stop, self.steps))
        begins: Iterable[int] = [step for step in rows.begins.tolist() if step in every] if self.model.arcs else every
        for step in begins:
            begun = int(np.searchsorted(rows.step, step, side="right"))
            active = np.flatnonzero(rows.step[:begun] + rows.steps[:begun] > step)
            length = rows.chunks_sent[active]
            pace, gone = np.maximum(rows.pace[active], 1), step - rows.step[active]  # no division by 0
            count = np.where(rows.pace[active] > 0, (gone % pace == 0) & (length > 0), length)
            row = np.repeat(active, count)
            place = places(count) + np.repeat(gone // pace, count)
            chunk = rows.payloads.chunk(rows.payload[row], place)
            src, dst = rows.src[row].astype(np.int64), rows.dst[row].astype(np.int64)
            port, tree = rows.port[row].astype(np.int64), rows.tree[row].astype(np.int64)
            if self.symmetry is None:
                yield Sends(step, src, dst, port, tree, chunk, row)
                continue
            order, carry = self.symmetry.order, self.symmetry.carry
            element = np.repeat(np.arange(order), len(row))
            src, dst, port, tree, chunk, row = (np.tile(each, order) for each in (src, dst, port, tree, chunk, row))
            chunk, port = carry_chunks(self, element, chunk), self.symmetry.carry_port(element, src, port)
            yield Sends(step, carry(element, src), carry(element, dst), port, tree, chunk, row)

    def __len__(self) -> int:
        """Return the number of rows. A row may be many sends: ``transmissions`` counts those."""
        return len(self.rows)

    def __iter__(self) -> Iterator[Send]:
        """Yield every send, one by one, in the order of steps, as ``for send in schedule``. Of an orbit: those of all sources.

        Sends are made when they are asked for, a step at a time. Each costs a Python object, about a microsecond:
        ``expand()`` gives the same as arrays, and ``rows`` are fewer still.
        """
        for sends in self.expand():
            columns = (sends.src, sends.dst, sends.port, sends.tree, sends.chunk)
            for send in zip(*(column.tolist() for column in columns), strict=True):
                yield Send(sends.step, *send)

    to_networkx = conversions.to_networkx
    to_pandas = cast("Any", conversions.to_pandas)

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> Any:
            """Say how a function is called that people look for as a method."""
            hint = f": write treecast.{name}(schedule)" if name in _FUNCTIONS else ""
            raise AttributeError(f"a schedule has no {name!r}{hint}", name=name, obj=self)
