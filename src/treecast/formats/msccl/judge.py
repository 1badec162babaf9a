"""MSCCL files, whoever wrote them: judged by every rule, and read as schedules."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from treecast.collectives import COLLECTIVES
from treecast.errors import FormatError
from treecast.formats.msccl.program import BUFFERS, ROOMS, Algorithm
from treecast.formats.msccl.reading import read_algorithm
from treecast.formats.msccl.shape import judge_shape
from treecast.formats.registry import Told, importer
from treecast.networks import Network
from treecast.programs.arcs import figures_of, find_network, judge_arcs, judge_links
from treecast.programs.dataflow import Contents, Moves, judge_delivery, kind_of, root_of, table_of, trace
from treecast.programs.order import Order, find_order, judge_in_flight, judge_order
from treecast.programs.pairing import find_pairs, judge_pairs
from treecast.programs.program import ADD, READ, RECEIVE, SEND, WRITE
from treecast.programs.races import judge_races
from treecast.programs.to_schedule import Sent, bounds_of, collective_of, schedule_of_sent
from treecast.programs.verdict import FileVerdict, Findings, as_told
from treecast.ragged import Ints, places, starts
from treecast.schedule import Schedule

_MOST_UNITS = 2**25
_NOUNS = ("gpu", "threadblock", "step", "chunk")


def recognises(head: bytes) -> bool:
    """Return whether a file begins as MSCCL XML does: with its algorithm, behind white space, comments and a declaration."""
    left = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    while left.startswith((b"<?xml", b"<!--")):
        left = left.partition(b"-->" if left.startswith(b"<!--") else b"?>")[2].lstrip()
    return left.startswith((b"<algo ", b"<algo>", b"<algo\t", b"<algo\n", b"<algo\r", b"<!DOCTYPE algo"))


def judge(data: bytes, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on an MSCCL file, and what makes its schedule."""
    if told != Told(network=told.network, allow=told.allow):
        raise FormatError("a file of MSCCL says its collective: only --network and --allow are told besides")
    clock = time.perf_counter()
    algorithm, reading = read_algorithm(data, told.allow)
    judged = _Judged(algorithm, reading.found, told.network)
    name = (reading.algo or {}).get("name", "")[:80]
    return judged.verdict(name, clock), judged.schedule


@importer("msccl", recognises=recognises, judge=judge)
def decode(data: bytes) -> Schedule:
    """Return the schedule of a right MSCCL file, on a complete network. Raises FormatError when it is wrong, or none fits."""
    return judge(data, Told())[1]()


class _Judged:
    """A file that has been judged, as far as it goes."""

    def __init__(self, algorithm: Algorithm | None, found: Findings, named: str | Network | None) -> None:
        self.algorithm, self.found = algorithm, found
        self.where: Network | None = None
        self.order: Order | None = None
        self.contents: Contents | None = None
        self.kind, self.root = "", 0
        if algorithm is None:
            return
        self.where = find_network(named, algorithm.gpus)
        if not judge_shape(found, algorithm):
            return
        if int(algorithm.step["cnt"].clip(0).sum()) > _MOST_UNITS:
            raise FormatError(f"more than {_MOST_UNITS:,} chunks are moved: that is too many to judge")
        program = algorithm.program(_judge_signals(found, algorithm))
        pairs = find_pairs(program)
        if not judge_pairs(found, program, pairs, "chunks") or found.counts["signalled"]:
            return
        order = find_order(program, pairs)
        if not judge_order(found, order):
            return
        self.order = order
        judge_in_flight(found, order, ROOMS[algorithm.proto])
        self.kind = kind_of(algorithm.coll, algorithm.name)
        if self.kind and COLLECTIVES[self.kind].personal and algorithm.loop % algorithm.gpus:
            self.kind = ""
        for inplace in (False, True):
            if algorithm.inplace if inplace else algorithm.outofplace:
                self._judge_contents(algorithm, order, inplace)
        if not self.kind:
            found.notes.append(
                "custom does not say who wants what, so delivery is not judged: a name that begins with scatter or gather does"
            )
        ends = program.rank[pairs.send], program.to[pairs.send]
        room = judge_arcs(found, self.where, pairs.send, ends, program.where)
        if named is not None:
            when = order.begins[pairs.send], program.units[pairs.send], room
            judge_links(found, pairs.send, ends, program.where, when=when)

    def _judge_contents(self, algorithm: Algorithm, order: Order, inplace: bool) -> None:
        found, step, program = self.found, algorithm.step, order.program
        contents = _trace(algorithm, order, inplace)
        self.contents = self.contents or contents
        _judge_overlaps(found, algorithm, contents)
        judge_races(found, order, contents)
        found.these(
            "undefined",
            np.unique(contents.bare[:, 0]),
            lambda s: (
                f"it reads {BUFFERS[step['srcbuf'][s]]} {step['srcoff'][s]} (cnt {step['cnt'][s]}), where nothing was written"
            ),
            program.where,
        )
        if self.kind:
            kind = COLLECTIVES[self.kind]
            self.root = root_of(contents, kind)

            def name(rank: int, place: int, writer: int) -> tuple[str, tuple[int, ...]]:
                words, at = program.where(writer) if writer >= 0 else algorithm.of_gpu(rank)
                return f"{words}, o {place}{' in place' if inplace else ''}", at

            judge_delivery(found, contents, kind, algorithm.loop, root=self.root, name=name)

    def verdict(self, name: str, clock: float) -> FileVerdict:
        """Return the verdict; ``clock``: when judging began."""
        algorithm, order, where = self.algorithm, self.order, self.where
        known: dict[str, Any] = {"collective": "?", "network": "?", "ranks": 0, "lanes": 0, "operations": 0}
        if algorithm is not None and where is not None:
            known = {"collective": self.kind or algorithm.coll, "network": where.spec, "ranks": algorithm.gpus}
            known |= {"lanes": algorithm.blocks, "operations": algorithm.steps}
        if algorithm is not None and where is not None and order is not None:
            program, send = order.program, order.pairs.send
            collective = collective_of(self.kind, algorithm.gpus, algorithm.loop, self.root)
            known |= figures_of(program.ranks, (program.rank[send], program.to[send]), program.units[send])
            known |= {"steps": order.steps, "bounds": bounds_of(collective, where)}
        return FileVerdict(
            **as_told(self.found),
            **known,
            nouns=_NOUNS,
            name=name,
            seconds=time.perf_counter() - clock,
        )

    def schedule(self) -> Schedule:
        """Return the schedule of a right file, in which a message goes when the longest chain before it has travelled."""
        algorithm, order, contents = self.algorithm, self.order, self.contents
        if self.found.broken or algorithm is None or order is None or contents is None or self.where is None:
            raise FormatError(f"this MSCCL file is wrong: {self.found.first()}")
        program, send = order.program, order.pairs.send
        units = program.units[send]
        row, place = np.repeat(send, units), places(units)
        value = contents.value[contents.places.total :]
        sent = Sent(program.rank[row], program.to[row], order.begins[row] + place, value)
        collective = collective_of(self.kind, algorithm.gpus, algorithm.loop, self.root)
        return schedule_of_sent("this MSCCL file", collective, self.where, contents, sent)


def _judge_signals(found: Findings, algorithm: Algorithm) -> Ints:
    """Judge ``signalled``; return the step after which each step may go on: -1 where it does not wait."""
    step, first = algorithm.step, algorithm.first_block
    wait = np.full(algorithm.steps, -1, np.int64)
    waiting = np.flatnonzero((step["depid"] >= 0) & (step["deps"] >= 0))
    gpu = algorithm.block["gpu"][algorithm.block_of[waiting]]
    wanted = first[gpu] + step["depid"][waiting]
    there = wanted < first[gpu + 1]
    waiting, wanted = waiting[there], wanted[there]
    raised = np.flatnonzero(step["hasdep"] == 1)
    place = np.searchsorted(raised, algorithm.start[wanted] + step["deps"][waiting])
    raised = np.append(raised, algorithm.steps)
    fits = raised[place] < algorithm.start[wanted + 1]
    wait[waiting[fits]] = raised[place[fits]]
    found.these(
        "signalled",
        waiting[~fits],
        lambda s: (
            f"it waits for step {step['deps'][s]} of tb {step['depid'][s]}, where neither that step nor a later one has hasdep 1"
        ),
        algorithm.of_step,
    )
    return wait


def _trace(algorithm: Algorithm, order: Order, inplace: bool) -> Contents:
    """Return what the steps do to places. What is under way stands behind those of buffers, send by send."""
    buffers, step, program = algorithm.places(inplace), algorithm.step, order.program
    count = np.zeros(len(program), np.int64)
    count[order.pairs.send] = program.units[order.pairs.send]
    slot = buffers.total + starts(count)[:-1]
    source = buffers.base[program.rank, step["srcbuf"]] + step["srcoff"]
    target = buffers.base[program.rank, step["dstbuf"]] + step["dstoff"]
    receives, sends = program.does(RECEIVE), program.does(SEND)
    came = np.where(receives, slot[order.sender], -1)
    reads = [
        np.where(program.does(READ), source, -1),
        np.where(program.does(ADD) & ~receives, target, -1),
        came,
    ]
    writes = [np.where(program.does(WRITE), target, -1), np.where(sends, slot, -1)]
    ended = order.ended
    tables = (table_of(np.stack(columns, axis=1)[ended]) for columns in (reads, writes))
    (read_start, read), (write_start, write) = tables
    moves = Moves(ended, program.units[ended], read_start, read, write_start, write)
    return trace(buffers, moves, program.lane, int(count.sum()))


def _judge_overlaps(found: Findings, algorithm: Algorithm, contents: Contents) -> None:
    """Judge part of ``race``: a step that reads and writes places that overlap."""
    step, base = algorithm.step, contents.places.base
    gpu = algorithm.block["gpu"][algorithm.block_of]
    same = step["srcbuf"] == step["dstbuf"]
    if contents.places.inplace:
        same |= np.maximum(step["srcbuf"], step["dstbuf"]) < 2
    apart = np.abs(base[gpu, step["srcbuf"]] + step["srcoff"] - base[gpu, step["dstbuf"]] - step["dstoff"])
    both = algorithm.does(READ) & algorithm.does(WRITE) & same & (apart > 0) & (apart < step["cnt"])
    found.these("race", np.flatnonzero(both), lambda _: "what it reads and what it writes overlap", algorithm.of_step)
