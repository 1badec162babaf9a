"""Schedules as MSCCL XML: a threadblock for each neighbour and direction, and one that copies.

A send waits for the receive that brought its chunks, and an addition for the one before. All such waits lead back in
steps, and both ends of a connection go by steps, so nothing waits in a circle, however short the queues are.
"""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from treecast.errors import FormatError
from treecast.formats.msccl.program import (
    LAST_AWAITED,
    LONGEST_NAME,
    MOST_BLOCKS,
    MOST_CHANNELS,
    MOST_ELEMENTS,
    MOST_PLACES,
    MOST_SHARING,
    MOST_STEPS,
)
from treecast.formats.registry import exporter
from treecast.formats.settings import COPIES
from treecast.programs.buffers import Buffers
from treecast.programs.messages import messages_of
from treecast.programs.past_relays import past_relays
from treecast.programs.transfers import MOST_AT_ONCE, Arc, Transfer, list_transfers
from treecast.schedule import Schedule

_ELEMENTS = "elements that a rank reads"


def _advise(schedule: Schedule, *, copies: str = "strip") -> str:
    if schedule.network.relays is not None:
        return (
            "MSCCL knows no relays: GPUs are the ranks, in their order, and send straight to each other, each chunk once; the "
            "chunks that a relay sends to several, or adds up, go over the links of its ranks"
        )
    if schedule.copies > 1 and copies == "strip":
        return (
            f"MSCCL has no use for {schedule.copies} copies: each node gets each chunk once, as it comes first; "
            "--copies scratch keeps the others"
        )
    return ""


@dataclass(eq=False)
class _Block:
    """A threadblock: its peers, and its steps as (type, transfer, the transfer that it waits for)."""

    send: int = -1
    recv: int = -1
    chan: int = 0
    steps: list[tuple[str, Transfer, Transfer | None]] = field(
        default_factory=list[tuple[str, Transfer, Transfer | None]]
    )

    def add(self, kind: str, transfer: Transfer, waits: list[Transfer]) -> None:
        """Add a step that waits for some transfers; all but the last are waited for by steps before it."""
        self.steps += [("nop", transfer, wait) for wait in waits[:-1]]
        self.steps.append((kind, transfer, waits[-1] if waits else None))


@exporter(
    "msccl",
    suffix=".xml",
    what="MSCCL XML: the steps of each threadblock of each GPU",
    settings=(COPIES,),
    advise=_advise,
)
def encode(schedule: Schedule, *, copies: str = "strip") -> bytes:
    """Return a schedule as MSCCL XML. Raises FormatError when the format cannot hold it: the limit, and a size that fits."""
    if schedule.model.routing:
        raise FormatError("MSCCL sends over links alone, and wormhole messages take routes: plan with --model all-port")
    schedule = past_relays(schedule)
    buffers, messages = Buffers(schedule.collective), messages_of(schedule)
    nodes = schedule.network.nodes
    ends = np.bincount(np.concatenate([messages.src, messages.dst]), minlength=nodes)
    least = int(ends.max(initial=0)) // schedule.copies + nodes
    if least > MOST_ELEMENTS:  # at once, where there may be millions
        raise _too_much(schedule, _ELEMENTS, least, MOST_ELEMENTS)
    arcs = list_transfers(messages, buffers, copies == "scratch")
    blocks = _connect(schedule, arcs)
    for gpu in range(nodes):
        copied = _Block()
        for source, target, count in buffers.copies(gpu):
            for k in range(0, count, MOST_AT_ONCE):
                moved = (source[0], source[1] + k), (target[0], target[1] + k)
                copied.add("cpy", Transfer(*moved, count=min(MOST_AT_ONCE, count - k)), [])
        blocks[gpu].sort(key=lambda block: block.recv < 0)  # low numbers for those that are awaited
        blocks[gpu] += [copied] if copied.steps else []
    _check(schedule, blocks, buffers)
    return _spell(schedule, blocks, buffers)


def _connect(schedule: Schedule, arcs: dict[Arc, list[Transfer]]) -> list[list[_Block]]:
    """Return the threadblocks of each GPU that send or receive: one at each end of a connection, more where steps overflow."""
    blocks = [list[_Block]() for _ in range(schedule.network.nodes)]
    used = defaultdict[tuple[int, int, str], int](int)  # how many threadblocks use a channel of a GPU one way
    taken = set[Arc]()
    for (src, dst, _), transfers in sorted(arcs.items()):
        sender = receiver = None
        for transfer in transfers:
            ways = transfer.sent_after, transfer.got_after
            if sender is None or receiver is None or _overflow(sender, ways[0]) or _overflow(receiver, ways[1]):
                chan = next(
                    c
                    for c in range(len(taken) + 1)
                    if (src, dst, c) not in taken and max(used[src, c, "out"], used[dst, c, "in"]) < MOST_SHARING
                )
                taken.add((src, dst, chan))
                used[src, chan, "out"] += 1
                used[dst, chan, "in"] += 1
                sender, receiver = _Block(send=dst, chan=chan), _Block(recv=src, chan=chan)
                blocks[src].append(sender)
                blocks[dst].append(receiver)
            sender.add("s", transfer, ways[0])
            receiver.add("r" if transfer.reads is None else "rrc", transfer, ways[1])
    return blocks


def _overflow(block: _Block, waits: list[Transfer]) -> bool:
    return len(block.steps) + max(1, len(waits)) > MOST_STEPS


def _check(schedule: Schedule, blocks: list[list[_Block]], buffers: Buffers) -> None:
    """Raise FormatError when a limit of the format is passed."""
    nodes = schedule.network.nodes
    places = max(max(buffers.sizes(gpu)) for gpu in range(nodes))
    channels = 1 + max((block.chan for of_gpu in blocks for block in of_gpu), default=0)
    elements = max(1 + sum(1 + len(block.steps) for block in of_gpu) + nodes for of_gpu in blocks)
    awaited = max(sum(block.recv >= 0 for block in of_gpu) for of_gpu in blocks)
    for counted, found, most in (
        ("places of a buffer", places, MOST_PLACES),
        (_ELEMENTS, elements, MOST_ELEMENTS),
        ("channels", channels, MOST_CHANNELS),
        ("threadblocks of a GPU", max(map(len, blocks)), MOST_BLOCKS),
        ("threadblocks that receive", awaited, LAST_AWAITED + 1),
    ):
        if found > most:
            raise _too_much(schedule, counted, found, most)


def _too_much(schedule: Schedule, counted: str, found: int, most: int) -> FormatError:
    """Return the error that names a limit, and a size that would fit."""
    messages, fixed, nodes = schedule.collective.messages, 0, 0
    if counted == _ELEMENTS:  # one for each GPU, the algorithm, and a threadblock at least for every few steps
        nodes = schedule.network.nodes
        fixed = nodes + 1 + 2 * int(schedule.network.degree) + most // MOST_STEPS
    fit = messages * (most - fixed) // max(found - nodes, 1) if most > fixed else 0
    fits = f"{fit:,} messages would" if 0 < fit < messages else "fewer nodes would"
    return FormatError(f"{found:,} {counted} do not fit into MSCCL XML, which takes {most:,}: {fits}")


def _spell(schedule: Schedule, blocks: list[list[_Block]], buffers: Buffers) -> bytes:
    """Return the file."""
    from xml.sax.saxutils import quoteattr  # it imports an HTTP client

    at = dict[Transfer, tuple[int, int]]()  # the threadblock and step that receive a transfer
    for of_gpu in blocks:
        for number, block in enumerate(of_gpu):
            at.update(
                (transfer, (number, s)) for s, (kind, transfer, _) in enumerate(block.steps) if kind in ("r", "rrc")
            )
    awaited = {wait for of_gpu in blocks for block in of_gpu for _, _, wait in block.steps}
    channels = 1 + max((block.chan for of_gpu in blocks for block in of_gpu), default=0)
    kind, network = schedule.collective.kind, schedule.network.spec
    name = f"{kind} on {network}, {schedule.collective.messages} messages".encode()[:LONGEST_NAME].decode(
        errors="ignore"
    )
    lines = [
        f'<algo name={quoteattr(name)} proto="Simple" nchannels="{channels}" nchunksperloop="{buffers.loop}" '
        f'ngpus="{len(blocks)}" coll="{buffers.named}" inplace="0" outofplace="1" minBytes="0" maxBytes="{2**30}">'
    ]
    for gpu, of_gpu in enumerate(blocks):
        first, last, spare = buffers.sizes(gpu)
        lines.append(f' <gpu id="{gpu}" i_chunks="{first}" o_chunks="{last}" s_chunks="{spare}">')
        for number, block in enumerate(of_gpu):
            lines.append(f'  <tb id="{number}" send="{block.send}" recv="{block.recv}" chan="{block.chan}">')
            for s, (word, transfer, wait) in enumerate(block.steps):
                lines.append(_spell_step(s, word, transfer, at[wait] if wait else (-1, -1), transfer in awaited))
            lines.append("  </tb>")
        lines.append(" </gpu>")
    return "\n".join([*lines, "</algo>", ""]).encode()


def _spell_step(s: int, kind: str, transfer: Transfer, wait: tuple[int, int], awaited: bool) -> str:
    source = transfer.reads if kind == "rrc" and transfer.reads else transfer.source
    target, count = transfer.target, transfer.count
    if kind == "nop":
        source = target = ("i", -1)
        count = 0
    raises = awaited and kind in ("r", "rrc")
    return (
        f'   <step s="{s}" type="{kind}" srcbuf="{source[0]}" srcoff="{source[1]}" dstbuf="{target[0]}" '
        f'dstoff="{target[1]}" cnt="{count}" depid="{wait[0]}" deps="{wait[1]}" hasdep="{int(raises)}"/>'
    )
