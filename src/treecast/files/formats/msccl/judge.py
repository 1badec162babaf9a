"""MSCCL files, whoever wrote them: judged by every rule, and read as schedules."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import COLLECTIVES
from treecast.errors import FormatError
from treecast.files.formats.msccl.algorithm import (
    BUFFERS,
    LAST_AWAITED,
    MOST_BLOCKS,
    MOST_CHANNELS,
    MOST_ELEMENTS,
    MOST_PLACES,
    MOST_SHARING,
    MOST_STEPS,
    NOP,
    ROOMS,
    SHARES,
    Algorithm,
    read_algorithm,
)
from treecast.files.formats.registry import Told, judged
from treecast.files.programs.buffers import MOST_AT_ONCE
from treecast.files.programs.dataflow import kind_of, trace_program
from treecast.files.programs.judge import Judged, find_network
from treecast.files.programs.order import (
    ExecutionOrder,
    find_order,
    find_pairs,
    judge_in_flight,
    judge_order,
    judge_pairs,
)
from treecast.files.programs.program import BUFFER, READ, RECEIVE, SEND, WRITE
from treecast.files.programs.races import judge_races
from treecast.files.programs.to_schedule import Sent
from treecast.files.programs.verdict import FileVerdict, Findings, Where
from treecast.ragged import Ints, places
from treecast.schedule import Schedule
from treecast.verification.file_rules import rule

_MOST_UNITS, _USUAL_BLOCKS = 2**25, 108
_NOUNS = ("gpu", "threadblock", "step", "chunk")


def recognises(head: bytes) -> bool:
    """Return whether a file begins as MSCCL XML does: with its algorithm, behind white space, comments and a declaration."""
    left = head.removeprefix(b"\xef\xbb\xbf").lstrip()  # a byte order mark, as some editors write it
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
    # blocks that do not divide: no collective of ours
    if kind and COLLECTIVES[kind].personal and algorithm.loop % algorithm.gpus:
        kind = ""
    file.known |= {"collective": kind or algorithm.coll, "ranks": algorithm.gpus}
    file.known |= {"lanes": algorithm.blocks, "operations": algorithm.steps}
    if not judge_shape(found, algorithm):  # whatever is named is there from here on
        return
    if int(algorithm.step["cnt"].clip(0).sum()) > _MOST_UNITS:
        raise FormatError(f"more than {_MOST_UNITS:,} chunks are moved: that is too many to judge")
    program = algorithm.program(_judge_signals(found, algorithm))
    pairs = find_pairs(program)
    # pairs that are wrong hide the rest
    if not judge_pairs(found, program, pairs, "chunks") or found.counts["signalled"]:
        return
    order = find_order(program, pairs)
    if not judge_order(found, order):
        return
    judge_in_flight(found, order, ROOMS[algorithm.proto])
    for inplace in (False, True):
        # one or two buffers, or both: each is judged by itself
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


@rule("undefined", "nothing is read that nobody wrote", of=("msccl",))
def _judge_contents(file: Judged, algorithm: Algorithm, order: ExecutionOrder, kind: str, inplace: bool) -> None:
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
        own = int(algorithm.chunks[rank, 1] > 0)  # in place the file may have no output
        buffer = int(program.write[writer]) // BUFFER if writer >= 0 else own
        return f"{words}, {BUFFERS[buffer]} {base[1] + place - base[buffer]}{' in place' if inplace else ''}", at

    file.judge_contents(contents, kind, algorithm.loop, name, program.where)


@rule("signalled", "whatever is awaited is told", of=("msccl",))
def _judge_signals(found: Findings, algorithm: Algorithm) -> Ints:
    """Judge ``signalled``; return the step after which each step may go on: -1 where it does not wait."""
    step, first = algorithm.step, algorithm.first_block
    wait = np.full(algorithm.steps, -1, np.int64)
    waiting = np.flatnonzero((step["depid"] >= 0) & (step["deps"] >= 0))
    gpu = algorithm.block["gpu"][algorithm.block_of[waiting]]
    wanted = first[gpu] + step["depid"][waiting]  # the threadblock that is named, among those of its GPU
    there = wanted < first[gpu + 1]
    waiting, wanted = waiting[there], wanted[there]
    raised = np.flatnonzero(step["hasdep"] == 1)
    # the first step from there on that is told of
    place = np.searchsorted(raised, algorithm.start[wanted] + step["deps"][waiting])
    raised = np.append(raised, algorithm.steps)
    fits = raised[place] < algorithm.start[wanted + 1]  # still in that threadblock
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


# -- rule shape --------------------------------------------------------------------------------------------------------


class _Finder:
    """Notes breaches of rule ``shape`` that a mask marks, of GPUs, threadblocks and steps; each returns whether there are any."""

    def __init__(self, algorithm: Algorithm, found: Findings) -> None:
        def noting(where: Where) -> Callable[[NDArray[np.bool_], Callable[[int], str]], bool]:
            return lambda wrong, say: found.these("shape", np.flatnonzero(wrong), say, where)

        self.gpus, self.blocks, self.steps = map(noting, (algorithm.of_gpu, algorithm.of_block, algorithm.of_step))
        self._whole = noting(lambda _: ("", ()))

    def file(self, wrong: bool, text: str) -> bool:
        """Note a fault of the file as a whole."""
        return self._whole(np.array([wrong]), lambda _: text)


@rule("shape", "everything that is named is there, and no limit of the format is passed", of=("msccl",))
def judge_shape(found: Findings, program: Algorithm) -> bool:
    """Judge ``shape``: the limits of the format, and whether all that it names is there. Return whether to go on."""
    finder = _Finder(program, found)
    sized, joined = _check_sizes(program, finder), _check_blocks(program, finder)
    fine = sized and joined and _check_steps(program, finder)
    if fine:
        _check_waits(program, finder)
    most = np.diff(program.first_block).max(initial=0)
    if most > _USUAL_BLOCKS:
        found.notes.append(f"a gpu has {most} threadblocks: some consumers take {_USUAL_BLOCKS} at most")
    found.judged("shape")
    return fine


def _check_sizes(program: Algorithm, found: _Finder) -> bool:
    chunks, n, loop, coll = program.chunks, program.gpus, program.loop, program.coll
    wrong = found.file(coll in SHARES and loop % n != 0, f"nchunksperloop is {loop}, no multiple of {n} gpus")
    for place, name in enumerate(("i_chunks", "o_chunks")):
        said = chunks[:, place] * (n if program.shares[place] else 1)  # a share of each GPU, or all of it
        wrong |= found.gpus(
            (chunks[:, place] > 0) & (said != loop) & (coll != "custom"),
            lambda g, name=name, said=said: (  # name=name: bound now, as the loop goes on
                f"{name} makes {said[g]} chunks of all gpus' data, where {coll} has {loop} by nchunksperloop: give 0 or as many"
            ),
        )
    wrong |= found.gpus(chunks.max(axis=1) > MOST_PLACES, lambda _: f"a buffer has more than {MOST_PLACES:,} chunks")
    bad = not 1 <= program.channels <= MOST_CHANNELS
    found.file(bad, f"nchannels is {program.channels}: there are 1 to {MOST_CHANNELS}")
    return not wrong


def _check_blocks(program: Algorithm, found: _Finder) -> bool:
    # 1. Numbers of threadblocks, and how many there may be.
    block, n = program.block, program.gpus
    count = np.diff(program.first_block)
    wrong = found.blocks(
        block["id"] != places(count), lambda b: "threadblocks are numbered 0, 1, … in the file's order"
    )
    found.gpus(count > MOST_BLOCKS, lambda g: f"{count[g]} threadblocks: the most are {MOST_BLOCKS}")
    elements = count + np.bincount(block["gpu"][program.block_of], minlength=n) + n
    found.gpus(
        elements > MOST_ELEMENTS, lambda g: f"a rank reads {elements[g]:,} elements: the most are {MOST_ELEMENTS:,}"
    )
    wrong |= found.blocks(
        (block["chan"] < 0) | (block["chan"] >= program.channels),
        lambda b: f"chan is {block['chan'][b]}, but nchannels is {program.channels}",
    )
    # 2. Each connection has one threadblock at either end.
    for way in ("send", "recv"):
        peer = block[way]
        wrong |= found.blocks(
            (peer < -1) | (peer >= n) | (peer == block["gpu"]),
            lambda b, way=way, peer=peer: f"{way} is {peer[b]}: it is another gpu, or -1",
        )
        if wrong:
            continue
        used = np.flatnonzero(peer >= 0)
        # one number for GPU, peer and channel
        key = (block["gpu"][used] * n + peer[used]) * program.channels + block["chan"][used]
        twice = peer >= 0
        twice[used[np.unique(key, return_index=True)[1]]] = False
        wrong |= found.blocks(
            twice, lambda b, way=way, peer=peer: f"another threadblock has {way} {peer[b]} on chan {block['chan'][b]}"
        )
        # 3. No channel of a GPU is shared by too many.
        on = block["gpu"][used] * program.channels + block["chan"][used]
        at, sharing = np.unique(on, return_counts=True)
        full = np.zeros(n, bool)
        full[at[sharing > MOST_SHARING] // program.channels] = True
        found.gpus(full, lambda _, way=way: f"more than {MOST_SHARING} threadblocks have a {way} on one chan")
    return not wrong


def _check_steps(program: Algorithm, found: _Finder) -> bool:
    step, block, at = program.step, program.block, program.block_of
    count = np.diff(program.start)
    found.blocks(count > MOST_STEPS, lambda b: f"{count[b]} steps: the most are {MOST_STEPS}")
    moving = step["type"] != NOP
    units, gpu = step["cnt"], block["gpu"][at]
    wrong = found.steps(moving & (units < 1), lambda s: f"cnt is {units[s]}: it is 1 to {MOST_AT_ONCE}")
    found.steps(moving & (units > MOST_AT_ONCE), lambda s: f"cnt is {units[s]}: it is 1 to {MOST_AT_ONCE}")
    for way, table in (("send", SEND), ("recv", RECEIVE)):
        wrong |= found.steps(program.does(table) & (block[way][at] < 0), lambda _, way=way: f"its tb has no {way}")
    for buffer, offset, table in (("srcbuf", "srcoff", READ), ("dstbuf", "dstoff", WRITE)):
        size = program.chunks[gpu, step[buffer]]
        used = program.does(table)
        wrong |= found.steps(
            used & ((step[offset] < 0) | (step[offset] + units > size)),
            lambda s, buffer=buffer, offset=offset, size=size: (
                f"{offset} {step[offset][s]} and cnt {units[s]} lie outside buffer {BUFFERS[step[buffer][s]]} of "
                f"{size[s]} chunks"
            ),
        )
        found.steps(
            ~used & moving & ((step[offset] < -1) | (step[offset] >= MOST_PLACES)),
            lambda s, offset=offset: f"{offset} {step[offset][s]} is no place: the last is {MOST_PLACES - 1:,}",
        )
    return not wrong


def _check_waits(program: Algorithm, found: _Finder) -> None:
    step, gpu = program.step, program.block["gpu"][program.block_of]
    blocks = np.diff(program.first_block)[gpu]
    waits = step["depid"] >= 0
    found.steps(
        (step["depid"] < -1) | (step["depid"] >= blocks), lambda s: f"depid is {step['depid'][s]}: no tb of this gpu"
    )
    found.steps(
        waits & (step["depid"] > LAST_AWAITED),
        lambda s: f"depid is {step['depid'][s]}: the last that can be awaited is {LAST_AWAITED}",
    )
    found.steps(waits & (step["deps"] < 0), lambda s: f"deps is {step['deps'][s]}: which step it waits for is not said")
    found.steps((step["hasdep"] < 0) | (step["hasdep"] > 1), lambda s: f"hasdep is {step['hasdep'][s]}: it is 0 or 1")
    # a nop that waits adds its wait to the step behind it
    waiting_nop = (step["type"] == NOP) & waits
    ends = np.zeros(program.steps, bool)
    ends[1:] = waiting_nop[:-1]
    ends[program.start[:-1][np.diff(program.start) > 0]] = False  # the first step of a block follows none
    found.steps(ends & ~waits, lambda _: "it ends a chain of waits, and must wait itself: its wait is lost")
