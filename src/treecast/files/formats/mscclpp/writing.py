"""An execution plan of MSCCL++ in JSON: the puts, signals, waits and additions of each threadblock of each GPU.

A threadblock for each arc and end, and a channel for each arc. One puts chunks straight to where they belong and signals;
the other awaits the signal. Before, that one tells that its GPU has begun: nothing may be put into its buffers earlier.
Parts of sums are put into scratch, and added there. Where a threadblock needs data that another has received, a semaphore of
the two counts it. All waits follow the order of messages, so nothing waits in a circle. Experimental: no program of theirs has
read it yet.
"""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import numpy as np

from treecast.description import count_of
from treecast.errors import FormatError
from treecast.files.formats.mscclpp.plan import BUFFERS
from treecast.files.formats.registry import COPIES, exporter
from treecast.files.programs.buffers import Buffers, between_ranks, on_buffers
from treecast.files.programs.messages import messages_of
from treecast.files.programs.order import find_pairs
from treecast.files.programs.program import ADD, BUFFER, RECEIVE, SEND, Program
from treecast.schedule import Schedule

_MOST_OPS = 64
_BEGINNING = 2  # operations of a threadblock before its messages, at most
_MOST_SEMAPHORES = 16
_OPS = "operations of a threadblock"
_NOP: dict[str, Any] = {"name": "nop"}
_JOINED: dict[str, Any] = {"channel_type": "memory", "channel_ids": [0]}

_Op = dict[str, Any]


@exporter(
    "mscclpp",
    suffix=".mscclpp.json",
    summary="experimental: a plan of MSCCL++, the puts, signals and waits of each threadblock",
    settings=(COPIES,),
)
def encode(schedule: Schedule, *, copies: str = "strip") -> bytes:
    """Return a schedule as a plan of MSCCL++. Raises FormatError when it does not fit: the limit, and a size that fits."""
    messages = messages_of(between_ranks(schedule, "MSCCL++ puts"))
    schedule = messages.schedule
    load = np.bincount(schedule.network.arc(messages.src, messages.port)).max(initial=0)  # the fullest arc
    if 2 * int(load) // schedule.copies > _MOST_OPS:  # at once, where there may be millions
        # about five operations a message, seven with an addition
        raise _too_much(schedule, _OPS, (7 if schedule.collective.sums else 5) * int(load), _MOST_OPS)
    plan = _Threadblocks(*on_buffers(messages, copies == "scratch"))
    plan.check(schedule)
    network, collective = schedule.network.spec, schedule.collective
    found = {
        "name": f"{collective.kind} on {network}, {collective.messages} messages",
        "collective": plan.buffers.named.replace("_", ""),
        "protocol": "Simple",
        "inplace": False,
        "reuse_resources": False,
        "num_threads_per_block": 1024,
        "use_double_scratch_buffer": False,
        "buffer_alignment": 16,
        "min_message_size": 0,
        "max_message_size": 2**64 - 1,
        "gpus": [plan.gpu(node) for node in range(schedule.network.nodes)],
    }
    return (json.dumps(found, ensure_ascii=False, indent=1) + "\n").encode()


class _Threadblocks:
    """The threadblocks of all GPUs: a lane of the program each, all of whose numbers are those of lanes."""

    def __init__(self, program: Program, buffers: Buffers) -> None:
        self.program, self.buffers = program, buffers
        self.kind: list[int] = program.kind.tolist()
        self.lane: list[int] = program.lane.tolist()
        rank, sends = program.rank, program.does(SEND)
        lanes = program.first[:-1]
        # the first operation of each lane has its peer
        self.peer: list[int] = np.where(sends, program.to, program.source)[lanes].tolist()
        # the k-th of parallel arcs both ways
        self.cable: list[int] = (2 * program.tag + np.where(sends, rank > program.to, program.source > rank))[
            lanes
        ].tolist()
        self.of_rank = np.split(np.arange(len(lanes)), np.searchsorted(rank[lanes], np.arange(1, program.ranks)))
        self.write, self.read, self.size = program.write.tolist(), program.read.tolist(), program.size.tolist()
        pairs, self.arriving = find_pairs(program), dict[int, int]()  # where parts of sums wait in scratch
        # a part of a sum is put into scratch at the other end, where it is added
        for one, other in zip(pairs.send.tolist(), pairs.receive.tolist(), strict=True):
            if self.kind[other] & ADD:
                self.write[one] = self.arriving[other] = buffers.spare(int(rank[other]), self.size[other])
        self.needed = defaultdict[int, set[int]](set)  # the other lanes that wait for each receive
        waits: list[list[int]] = np.stack([program.waiting, program.wait], axis=1).tolist()
        # only waits for other lanes take semaphores
        for late, early in waits:
            if self.lane[late] != self.lane[early]:
                self.needed[early].add(self.lane[late])
        self.turn = dict[tuple[int, int], int]()  # how many receives each lane told another of, this one included
        told = Counter[tuple[int, int]]()
        for one, others in sorted(self.needed.items()):  # in the order of operations, so that the count is the turn
            for other in others:
                told[self.lane[one], other] += 1
                self.turn[one, other] = told[self.lane[one], other]
        self.semaphores: list[dict[tuple[int, int], int]] = [{} for _ in range(program.ranks)]
        self.remote: list[list[tuple[int, str]]] = [[] for _ in lanes]
        self.ops = [self._ops(lane, range(*bounds)) for lane, bounds in enumerate(pairwise(program.first.tolist()))]

    def _ops(self, lane: int, own: range) -> list[_Op]:
        """Return the operations of a lane."""
        acquired, ops = Counter[int](), list[_Op]()
        if self.kind[own[0]] & SEND:  # the other side tells that its buffers are ready
            ops += [{"name": "rlxwait", **_JOINED}, _NOP]
        elif self.kind[own[0]] & RECEIVE:
            ops.append({"name": "rlxsignal", **_JOINED})
        for one in own:
            ids = self._await(lane, one, acquired)
            ops += [{"name": "sem_acquire", "semaphore_ids": ids}, _NOP] if ids else []
            places = [self._local(place, self.size[one]) for place in (self.read[one], self.write[one])]
            if self.kind[one] & SEND:
                ops += self._put(lane, one)
            elif self.kind[one] & RECEIVE:
                ops += [{"name": "wait", **_JOINED}, _NOP]
                if self.kind[one] & ADD:
                    parts = [places[0], self._local(self.arriving[one], self.size[one])]
                    ops += [{"name": "re", "reduce_op": "sum", "src_buff": parts, "dst_buff": places[1:]}, _NOP]
                ids = [self._semaphore(lane, other) for other in sorted(self.needed.get(one, ()))]
                ops += [{"name": "sem_release", "semaphore_ids": ids}] if ids else []
            else:
                ops.append({"name": "copy", "src_buff": places[:1], "dst_buff": places[1:]})
        return ops

    def _await(self, lane: int, one: int, acquired: Counter[int]) -> list[int]:
        """Return the semaphores by which other lanes tell that they have received all that an operation waits for."""
        ids = list[int]()
        for before in self.program.awaited(one):
            other = self.lane[before]
            if other != lane:
                turn, done = self.turn[before, lane], acquired[other]
                ids += [self._semaphore(other, lane)] * (turn - done)  # taken before are those of earlier turns
                acquired[other] = max(turn, done)
        return ids

    def _semaphore(self, source: int, target: int) -> int:
        known = self.semaphores[self.program.rank[self.program.first[source]]]
        return known.setdefault((source, target), len(known))  # numbered as they are first asked for

    def _put(self, lane: int, one: int) -> list[_Op]:
        """Return the operations that put a message where it belongs, or where it waits to be added, and signal."""
        target = self._local(self.write[one], self.size[one])
        remote, part = self.remote[lane], (self.peer[lane], target.pop("type"))
        remote += [part] if part not in remote else []
        source = self._local(self.read[one], self.size[one])
        places = {"src_buff": [source], "dst_buff": [{"buffer_id": remote.index(part), **target}]}
        return [{"name": "put", **_JOINED, **places}, _NOP, {"name": "signal", **_JOINED}]

    def _local(self, place: int, count: int) -> dict[str, Any]:
        buffer, offset = divmod(place, BUFFER)
        return {"type": BUFFERS[buffer], "index": offset, "size": count}

    def check(self, schedule: Schedule) -> None:
        """Raise FormatError when a limit is passed."""
        for counted, found, most in (
            (_OPS, max(map(len, self.ops), default=0), _MOST_OPS),
            ("semaphores of a GPU", max(map(len, self.semaphores)), _MOST_SEMAPHORES),
        ):
            if found > most:
                raise _too_much(schedule, counted, found, most)

    def gpu(self, node: int) -> dict[str, Any]:
        """Return a GPU as the plan says it. It is joined with each peer once, more often where arcs are parallel."""
        first, last, spare = self.buffers.sizes(node)
        first, last = first or self.buffers.loop, last or self.buffers.loop  # the loader divides by both
        lanes: list[int] = self.of_rank[node].tolist()
        joined = Counter[int]()  # how often with each other
        for lane in lanes:
            # as many channels as parallel arcs
            joined[self.peer[lane]] = max(joined[self.peer[lane]], self.cable[lane] + 1)
        peers = [(peer, cable) for peer, count in sorted(joined.items()) if peer >= 0 for cable in range(count)]
        remote = sorted({part for lane in lanes for part in self.remote[lane]})
        blocks = list[dict[str, Any]]()
        for number, lane in enumerate(lanes):
            own = [peers.index((self.peer[lane], self.cable[lane]))] if self.peer[lane] >= 0 else []
            ids = [remote.index(part) for part in self.remote[lane]]
            blocks.append(
                {
                    "id": number,
                    "channels": [{"channel_type": "memory", "channel_ids": own}] if own else [],
                    "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": ids}] if ids else [],
                    "ops": self.ops[lane],
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


def _too_much(schedule: Schedule, counted: str, found: int, most: int) -> FormatError:
    """Return the error that names a limit, and a size that would fit."""
    # messages that would fit, roughly
    fit = schedule.collective.messages * (most - _BEGINNING) // found if counted == _OPS else 0
    fits = (
        f"{count_of(fit, 'message')} would, or MSCCL XML (--to msccl)"
        if fit
        else "MSCCL XML (--to msccl) would, or fewer nodes"
    )
    return FormatError(f"{found:,} {counted} do not fit into an MSCCL++ plan, which takes {most:,}: {fits}")
