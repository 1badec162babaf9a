"""MSCCL files, whoever wrote them: judged by every rule, and read as schedules."""

from collections.abc import Callable

import numpy as np

from treecast.collectives import COLLECTIVES
from treecast.errors import FormatError
from treecast.formats.msccl.program import BUFFERS, ROOMS, Algorithm, judge_shape
from treecast.formats.msccl.reading import read_algorithm
from treecast.formats.registry import Told, judged
from treecast.programs.dataflow import kind_of, trace_program
from treecast.programs.judge import Judged, find_network
from treecast.programs.order import Order, find_order, find_pairs, judge_in_flight, judge_order, judge_pairs
from treecast.programs.program import BUFFER
from treecast.programs.races import judge_races
from treecast.programs.to_schedule import Sent
from treecast.programs.verdict import FileVerdict, Findings
from treecast.ragged import Ints, places
from treecast.schedule import Schedule

_MOST_UNITS = 2**25
_NOUNS = ("gpu", "threadblock", "step", "chunk")


def recognises(head: bytes) -> bool:
    """Return whether a file begins as MSCCL XML does: with its algorithm, behind white space, comments and a declaration."""
    left = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    while left.startswith((b"<?xml", b"<!--")):
        left = left.partition(b"-->" if left.startswith(b"<!--") else b"?>")[2].lstrip()
    return left.startswith((b"<algo ", b"<algo>", b"<algo\t", b"<algo\n", b"<algo\r", b"<!DOCTYPE algo"))


@judged("msccl", recognises=recognises)
def judge(data: bytes, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on an MSCCL file, and a function that makes its schedule, on a complete network if none is told."""
    if told != Told(network=told.network, allow=told.allow):
        raise FormatError("a file of MSCCL says its collective: only --network and --allow are told besides")
    file = Judged(Findings("msccl", allowed=told.allow), "this MSCCL file", _NOUNS)
    algorithm, file.known["name"] = read_algorithm(data, file.found)
    if algorithm is not None:
        _judge(file, algorithm, told.network)
    return file.verdict(), file.schedule


def _judge(file: Judged, algorithm: Algorithm, named: str | None) -> None:
    """Judge an algorithm by every rule, as far as it goes."""
    found, file.where = file.found, find_network(named, algorithm.gpus)
    kind = kind_of(algorithm.coll, algorithm.name)
    if kind and COLLECTIVES[kind].personal and algorithm.loop % algorithm.gpus:
        kind = ""
    file.known |= {"collective": kind or algorithm.coll, "ranks": algorithm.gpus}
    file.known |= {"lanes": algorithm.blocks, "operations": algorithm.steps}
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
    judge_in_flight(found, order, ROOMS[algorithm.proto])
    for inplace in (False, True):
        if algorithm.inplace if inplace else algorithm.outofplace:
            _judge_contents(file, algorithm, order, kind, inplace)
    if not kind:
        found.notes.append(
            "custom does not say who wants which chunk, so delivery is not judged; a name that begins with scatter or gather does"
        )
    ends, units = (program.rank[pairs.send], program.to[pairs.send]), program.units[pairs.send]
    when = order.begins[pairs.send], units
    file.judge_links(pairs.send, ends, when, program.where, named=named is not None)
    # chunk by chunk: each message goes when the longest chain before it has travelled
    (src, dst), step = (np.repeat(column, units) for column in ends), np.repeat(when[0], units) + places(units)
    sent = Sent(src, dst, step, file.contents.value[file.contents.places.total :] if file.contents else step)
    file.note_figures(ends, units, order.steps, sent)


def _judge_contents(file: Judged, algorithm: Algorithm, order: Order, kind: str, inplace: bool) -> None:
    """Judge ``race``, ``undefined`` and ``delivered`` for one or two buffers of input and output."""
    found, step, program = file.found, algorithm.step, order.program
    contents = trace_program(order, algorithm.places(inplace))
    judge_races(found, order, contents, tuple(BUFFERS))
    found.these(
        "undefined",
        np.unique(contents.bare[:, 0]),
        lambda s: (
            f"it reads {BUFFERS[step['srcbuf'][s]]} {step['srcoff'][s]} (cnt {step['cnt'][s]}), where nothing was written"
        ),
        program.where,
    )

    def name(rank: int, place: int, writer: int) -> tuple[str, tuple[int, ...]]:
        words, at = program.where(writer) if writer >= 0 else algorithm.of_gpu(rank)
        base = contents.places.base[rank]
        buffer = int(program.write[writer]) // BUFFER if writer >= 0 else 1
        return f"{words}, {BUFFERS[buffer]} {base[1] + place - base[buffer]}{' in place' if inplace else ''}", at

    file.judge_contents(contents, kind, algorithm.loop, name, program.where)


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
