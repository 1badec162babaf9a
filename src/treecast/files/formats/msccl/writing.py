"""Schedules as MSCCL XML: a threadblock for each neighbour and direction, and one that copies.

A send waits for the receive that brought its chunks, and an addition for the one before. All such waits lead back in
steps, and both ends of a connection go by steps, so nothing waits in a circle, however short the queues are.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from treecast.errors import FormatError
from treecast.files.formats.msccl.algorithm import (
    BUFFERS,
    LAST_AWAITED,
    LONGEST_NAME,
    MOST_BLOCKS,
    MOST_CHANNELS,
    MOST_ELEMENTS,
    MOST_PLACES,
    MOST_SHARING,
    MOST_STEPS,
)
from treecast.files.formats.registry import COPIES, exporter
from treecast.files.programs.buffers import MOST_AT_ONCE, Buffers, between_ranks, on_buffers
from treecast.files.programs.messages import messages_of
from treecast.files.programs.order import find_pairs
from treecast.files.programs.program import ADD, BUFFER, Program
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


class _Step(NamedTuple):
    """A step: its type, operation, places and chunks, and the operation that it waits for, or -1."""

    kind: str
    one: int
    read: int = -1
    write: int = -1
    units: int = 0
    wait: int = -1


@dataclass(eq=False)
class _Block:
    """A threadblock: its peers and its steps."""

    send: int = -1
    recv: int = -1
    chan: int = 0
    steps: list[_Step] = field(default_factory=list[_Step])

    def add(self, kind: str, program: Program, one: int) -> None:
        """Add an operation; all but the last that it waits for are waited for by steps before it."""
        *others, last = program.awaited(one) or [-1]  # a step can wait for one other: nops wait for the rest
        self.steps += [_Step("nop", one, wait=wait) for wait in others]
        places = (int(column[one]) for column in (program.read, program.write, program.size))
        self.steps.append(_Step(kind, one, *places, wait=last))


@exporter(
    "msccl",
    suffix=".xml",
    summary="MSCCL XML: the steps of each threadblock of each GPU",
    settings=(COPIES,),
    advise=_advise,
)
def encode(schedule: Schedule, *, copies: str = "strip") -> bytes:
    """Return a schedule as MSCCL XML. Raises FormatError when the format cannot hold it: the limit, and a size that fits."""
    messages = messages_of(between_ranks(schedule, "MSCCL sends"))
    schedule, nodes = messages.schedule, messages.schedule.network.nodes
    ends = np.bincount(np.concatenate([messages.src, messages.dst]), minlength=nodes)
    least = int(ends.max(initial=0)) // schedule.copies + nodes  # a lower bound, quickly found
    if least > MOST_ELEMENTS:  # at once, where there may be millions
        raise _too_much(schedule, _ELEMENTS, least, MOST_ELEMENTS)
    program, buffers = on_buffers(messages, copies == "scratch")
    blocks = _connect(program)
    _check(schedule, blocks, buffers)
    return _spell(schedule, blocks, buffers)


def _connect(program: Program) -> list[list[_Block]]:
    """Return the threadblocks of each GPU, low numbers for those that are awaited.

    There is one at each end of a connection, more where steps overflow, and one that copies.
    """
    blocks = [list[_Block]() for _ in range(program.ranks)]
    used = defaultdict[tuple[int, int, str], int](int)  # how many threadblocks use a channel of a GPU one way
    taken, lane = set[tuple[int, int, int]](), -1
    # a step each for what an operation waits for, at least one
    waits = np.bincount(program.waiting, minlength=len(program)).clip(1)
    sender, receiver, pairs = _Block(), _Block(), find_pairs(program)
    for one, other in zip(pairs.send.tolist(), pairs.receive.tolist(), strict=True):
        # no more steps fit: another threadblock at either end
        full = max(len(sender.steps) + waits[one], len(receiver.steps) + waits[other]) > MOST_STEPS
        if program.lane[one] != lane or full:
            src, dst, lane = int(program.rank[one]), int(program.to[one]), int(program.lane[one])
            chan = next(  # the first channel that is free between the two, and not full
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
        sender.add("s", program, one)
        receiver.add("rrc" if program.kind[other] & ADD else "r", program, other)
    for own in blocks:
        own.sort(key=lambda block: block.recv < 0)  # those that receive come first: only low numbers can be awaited
    for one in np.flatnonzero((program.to < 0) & (program.source < 0)).tolist():
        count, read, write = int(program.size[one]), int(program.read[one]), int(program.write[one])
        cuts = range(0, count, MOST_AT_ONCE)  # a step moves so many chunks at most
        steps = [_Step("cpy", one, read + k, write + k, min(MOST_AT_ONCE, count - k)) for k in cuts]
        blocks[int(program.rank[one])].append(_Block(steps=steps))
    return blocks


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

    receives = ("r", "rrc")
    numbered = [(number, *of) for own in blocks for number, block in enumerate(own) for of in enumerate(block.steps)]
    at = {step.one: (number, s) for number, s, step in numbered if step.kind in receives}
    awaited = {step.wait for _, _, step in numbered}
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
            for s, step in enumerate(block.steps):
                places = [(BUFFERS[place // BUFFER], place % BUFFER) for place in (step.read, step.write)]
                (source, srcoff), (target, dstoff) = places if step.units else [("i", -1)] * 2  # a nop names no place
                depid, deps = at.get(step.wait, (-1, -1))
                lines.append(
                    f'   <step s="{s}" type="{step.kind}" srcbuf="{source}" srcoff="{srcoff}" dstbuf="{target}" '
                    f'dstoff="{dstoff}" cnt="{step.units}" depid="{depid}" deps="{deps}" '
                    # told of only where somebody waits for it
                    f'hasdep="{int(step.kind in receives and step.one in awaited)}"/>'
                )
            lines.append("  </tb>")
        lines.append(" </gpu>")
    return "\n".join([*lines, "</algo>", ""]).encode()
