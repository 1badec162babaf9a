"""An execution plan of MSCCL++ in JSON: the puts, signals, waits and additions of each threadblock of each GPU.

A threadblock for each arc and end, and a channel for each arc. One puts chunks straight to where they belong and signals;
the other awaits the signal. Before, that one tells that its GPU has begun: nothing may be put into its buffers earlier.
Parts of sums are put into scratch, and added there. Where a threadblock needs data that another has received, a semaphore of
the two counts it. All waits follow the order of messages, so nothing waits in a circle. Experimental: no program of theirs has
read it yet.
"""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treecast.description import count_of
from treecast.errors import FormatError
from treecast.formats.registry import exporter
from treecast.formats.settings import COPIES
from treecast.programs.buffers import Buffers, Place
from treecast.programs.messages import messages_of
from treecast.programs.past_relays import past_relays
from treecast.programs.transfers import Arc, Transfer, list_transfers
from treecast.schedule import Schedule

_MOST_OPS = 64
_BEGINNING = 2  # operations of a threadblock before its messages, at most
_MOST_SEMAPHORES = 16
_OPS = "operations of a threadblock"
_KEYS = -(2**40)  # of places in scratch where parts of sums arrive: below all others
_NOP: dict[str, Any] = {"name": "nop"}
_JOINED: dict[str, Any] = {"channel_type": "memory", "channel_ids": [0]}

_Op = dict[str, Any]


@dataclass(eq=False)
class _Block:
    """A threadblock. ``peer`` and ``cable`` say whom it is joined with; of one that only copies, the peer is -1."""

    peer: int
    cable: int
    ops: list[_Op] = field(default_factory=list[_Op])
    remote: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    acquired: "dict[_Block, int]" = field(default_factory=dict["_Block", int])


@exporter(
    "mscclpp",
    suffix=".mscclpp.json",
    what="experimental: a plan of MSCCL++, the puts, signals and waits of each threadblock",
    settings=(COPIES,),
)
def encode(schedule: Schedule, *, copies: str = "strip") -> bytes:
    """Return a schedule as a plan of MSCCL++. Raises FormatError when it does not fit: the limit, and a size that fits."""
    if schedule.model.routing:
        raise FormatError(
            "MSCCL++ puts over links alone, and wormhole messages take routes: plan with --model all-port"
        )
    schedule = past_relays(schedule)
    buffers, messages = Buffers(schedule.collective), messages_of(schedule)
    load = np.bincount(schedule.network.arc(messages.src, messages.port)).max(initial=0)
    if 2 * int(load) // schedule.copies > _MOST_OPS:  # at once, where there may be millions
        raise _too_much(schedule, _OPS, (7 if buffers.sums else 5) * int(load), _MOST_OPS)
    arcs = list_transfers(messages, buffers, copies == "scratch")
    plan = _Plan(schedule, buffers, arcs)
    gpus = [plan.gpu(node) for node in range(schedule.network.nodes)]
    network, collective = schedule.network.spec, schedule.collective
    found = {
        "name": f"{collective.kind} on {network}, {collective.messages} messages",
        "collective": buffers.named.replace("_", ""),
        "protocol": "Simple",
        "inplace": False,
        "reuse_resources": False,
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": 16,
        "min_message_size": 0,
        "max_message_size": 2**64 - 1,
        "gpus": gpus,
    }
    return (json.dumps(found, ensure_ascii=False, indent=1) + "\n").encode()


class _Plan:
    """The threadblocks of all GPUs."""

    def __init__(self, schedule: Schedule, buffers: Buffers, arcs: dict[Arc, list[Transfer]]) -> None:
        self.schedule, self.buffers = schedule, buffers
        nodes = schedule.network.nodes
        self.blocks: list[list[_Block]] = [[] for _ in range(nodes)]
        self.semaphores: list[dict[tuple[_Block, _Block], int]] = [{} for _ in range(nodes)]
        self.cables = [dict[int, int]() for _ in range(nodes)]  # how often a GPU is joined with each other
        self.arriving: dict[Transfer, Place] = {}
        self._parts = 0
        ends = self._connect(arcs)
        every = [(arc, transfer) for arc in sorted(arcs) for transfer in arcs[arc]]
        needed = self._needed(every, ends)
        for arc, transfer in every:
            self._send(arc[0], arc[1], ends[arc][0], transfer)
            self._receive(arc[1], ends[arc][1], transfer, needed)
        for node in range(nodes):
            self._copy(node)
        self._check()

    def _connect(self, arcs: dict[Arc, list[Transfer]]) -> dict[Arc, tuple[_Block, _Block]]:
        """Return the threadblocks at both ends of each arc; parallel arcs are told apart."""
        ends, used = dict[Arc, tuple[_Block, _Block]](), defaultdict[tuple[int, int], int](int)
        for src, dst, port in sorted(arcs):
            cable = 2 * used[src, dst] + (src > dst)
            used[src, dst] += 1
            begun = [{"name": "rlxwait", **_JOINED}, _NOP], [{"name": "rlxsignal", **_JOINED}]
            ends[src, dst, port] = _Block(dst, cable, begun[0]), _Block(src, cable, begun[1])
            self.blocks[src].append(ends[src, dst, port][0])
            self.blocks[dst].append(ends[src, dst, port][1])
            for one, other in ((src, dst), (dst, src)):
                self.cables[one][other] = max(self.cables[one].get(other, 0), cable + 1)
        return ends

    def _needed(
        self, every: list[tuple[Arc, Transfer]], ends: dict[Arc, tuple[_Block, _Block]]
    ) -> dict[Transfer, list[_Block]]:
        """Note who receives each transfer, and return which other threadblocks of that GPU need it, in their order."""
        self.receiver = {transfer: ends[arc][1] for arc, transfer in every}
        needed = defaultdict[Transfer, list[_Block]](list)
        for arc, transfer in every:
            for block, before in zip(ends[arc], (transfer.sent_after, transfer.got_after), strict=True):
                for other in before:
                    if self.receiver[other] is not block and block not in needed[other]:
                        needed[other].append(block)
        self.place = defaultdict[tuple[_Block, _Block], dict[Transfer, int]](dict)
        for arc, transfer in every:
            for block in needed.get(transfer, ()):
                turns = self.place[ends[arc][1], block]
                turns[transfer] = len(turns) + 1
        return needed

    def _await(self, node: int, block: _Block, before: list[Transfer]) -> None:
        """Let a threadblock go on only when others of its GPU have received some transfers, which semaphores count in order."""
        ids = list[int]()
        for other in before:
            source = self.receiver[other]
            if source is not block:
                turn, done = self.place[source, block][other], block.acquired.get(source, 0)
                ids += [self._semaphore(node, source, block)] * (turn - done)
                block.acquired[source] = max(turn, done)
        if ids:
            block.ops += [{"name": "sem_acquire", "semaphore_ids": ids}, _NOP]

    def _semaphore(self, node: int, source: _Block, target: _Block) -> int:
        return self.semaphores[node].setdefault((source, target), len(self.semaphores[node]))

    def _send(self, src: int, dst: int, block: _Block, transfer: Transfer) -> None:
        """Put a transfer where it belongs, or where it waits to be added, and signal."""
        self._await(src, block, transfer.sent_after)
        target = transfer.target
        if transfer.reads is not None:
            self._parts += transfer.count
            places = [self.buffers.spare(dst, _KEYS - self._parts + k) for k in range(transfer.count)]
            target = self.arriving[transfer] = ("s", places[0])
        if (dst, target[0]) not in block.remote:
            block.remote.append((dst, target[0]))
        block.ops += [
            {
                "name": "put",
                **_JOINED,
                "src_buff": [_local(transfer.source, transfer.count)],
                "dst_buff": [
                    {"buffer_id": block.remote.index((dst, target[0])), "index": target[1], "size": transfer.count}
                ],
            },
            _NOP,
            {"name": "signal", **_JOINED},
        ]

    def _receive(self, node: int, block: _Block, transfer: Transfer, needed: dict[Transfer, list[_Block]]) -> None:
        """Await a transfer, add it where it is part of a sum, and tell the threadblocks that need it."""
        self._await(node, block, transfer.got_after)
        block.ops += [{"name": "wait", **_JOINED}, _NOP]
        if transfer.reads is not None:
            parts = [_local(place, transfer.count) for place in (transfer.reads, self.arriving[transfer])]
            block.ops += [
                {
                    "name": "re",
                    "reduce_op": "sum",
                    "src_buff": parts,
                    "dst_buff": [_local(transfer.target, transfer.count)],
                },
                _NOP,
            ]
        ids = [self._semaphore(node, block, other) for other in needed.get(transfer, ())]
        if ids:
            block.ops.append({"name": "sem_release", "semaphore_ids": ids})

    def _copy(self, node: int) -> None:
        """Copy the own chunks of a GPU from its input to its output."""
        moves = self.buffers.copies(node)
        if moves:
            ops = [
                {"name": "copy", "src_buff": [_local(source, count)], "dst_buff": [_local(target, count)]}
                for source, target, count in moves
            ]
            self.blocks[node].append(_Block(-1, 0, ops))

    def _check(self) -> None:
        """Raise FormatError when a limit is passed."""
        ops = max((len(block.ops) for blocks in self.blocks for block in blocks), default=0)
        for counted, found, most in (
            (_OPS, ops, _MOST_OPS),
            ("semaphores of a GPU", max(map(len, self.semaphores)), _MOST_SEMAPHORES),
        ):
            if found > most:
                raise _too_much(self.schedule, counted, found, most)

    def gpu(self, node: int) -> dict[str, Any]:
        """Return a GPU as the plan says it. It is joined with each peer once, more often where arcs are parallel."""
        first, last, spare = self.buffers.sizes(node)
        first, last = first or self.buffers.loop, last or self.buffers.loop  # the loader divides by both
        peers = [(peer, cable) for peer, count in sorted(self.cables[node].items()) for cable in range(count)]
        remote = sorted({part for block in self.blocks[node] for part in block.remote})
        blocks = list[dict[str, Any]]()
        for number, block in enumerate(self.blocks[node]):
            own = [peers.index((block.peer, block.cable))] if block.peer >= 0 else []
            refs = [
                {"access_channel_type": "memory", "remote_buffer_ids": [remote.index(part) for part in block.remote]}
            ]
            blocks.append(
                {
                    "id": number,
                    "channels": [{"channel_type": "memory", "channel_ids": own}] if own else [],
                    "remote_buffer_refs": refs if block.remote else [],
                    "ops": block.ops,
                }
            )
        return {
            "id": node,
            "input_chunks": first,
            "output_chunks": last,
            "scratch_chunks": spare,
            "channels": [{"channel_type": "memory", "connected_to": [peer for peer, _ in peers]}] if peers else [],
            "remote_buffers": [
                {"rank": rank, "type": kind, "access_channel_types": ["memory"]} for rank, kind in remote
            ],
            "threadblocks": blocks,
            "semaphores": [{"init_value": 0} for _ in self.semaphores[node]],
        }


def _local(place: Place, count: int) -> dict[str, Any]:
    return {"type": place[0], "index": place[1], "size": count}


def _too_much(schedule: Schedule, counted: str, found: int, most: int) -> FormatError:
    """Return the error that names a limit, and a size that would fit."""
    fit = schedule.collective.messages * (most - _BEGINNING) // found if counted == _OPS else 0
    fits = (
        f"{count_of(fit, 'message')} would, or MSCCL XML (--to msccl)"
        if fit
        else "MSCCL XML (--to msccl) would, or fewer nodes"
    )
    return FormatError(f"{found:,} {counted} do not fit into an MSCCL++ plan, which takes {most:,}: {fits}")
