"""Rule ``shape``: the limits of the format, and whether all that it names is there."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.formats.msccl.program import (
    BUFFERS,
    LAST_AWAITED,
    MOST_BLOCKS,
    MOST_CHANNELS,
    MOST_ELEMENTS,
    MOST_PLACES,
    MOST_SHARING,
    MOST_STEPS,
    NOP,
    SHARES,
    Algorithm,
)
from treecast.programs.buffers import MOST_AT_ONCE
from treecast.programs.program import READ, RECEIVE, SEND, WRITE
from treecast.programs.verdict import Findings, Where
from treecast.ragged import places

_USUAL_BLOCKS = 108


Note = Callable[[NDArray[np.bool_], Callable[[int], str]], bool]
"""Notes the entries that a mask marks; returns whether there are any."""


class _Finder:
    """Notes breaches of rule ``shape``: of GPUs, threadblocks and steps, and of the file as a whole."""

    def __init__(self, algorithm: Algorithm, found: Findings) -> None:
        def noting(where: Where) -> Note:
            return lambda wrong, say: found.these("shape", np.flatnonzero(wrong), say, where)

        self.gpus, self.blocks, self.steps = map(noting, (algorithm.of_gpu, algorithm.of_block, algorithm.of_step))
        self._whole = noting(lambda _: ("", ()))

    def file(self, wrong: bool, text: str) -> bool:
        """Note a fault of the file as a whole."""
        return self._whole(np.array([wrong]), lambda _: text)


def judge_shape(found: Findings, program: Algorithm) -> bool:
    """Judge ``shape``: the limits of the format, and whether all that it names is there. Return whether to go on."""
    finder = _Finder(program, found)
    fine = _check_sizes(program, finder)
    fine &= _check_blocks(program, finder)
    fine = fine and _check_steps(program, finder)
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
        said = chunks[:, place] * (n if program.shares[place] else 1)
        wrong |= found.gpus(
            (chunks[:, place] > 0) & (said != loop) & (coll != "custom"),
            lambda g, name=name, said=said: (
                f"{name} gives {said[g]} chunks to all, where nchunksperloop is {loop}: give 0 or as many"
            ),
        )
    wrong |= found.gpus(chunks.max(axis=1) > MOST_PLACES, lambda _: f"a buffer has more than {MOST_PLACES:,} chunks")
    bad = not 1 <= program.channels <= MOST_CHANNELS
    found.file(bad, f"nchannels is {program.channels}: there are 1 to {MOST_CHANNELS}")
    return not wrong


def _check_blocks(program: Algorithm, found: _Finder) -> bool:
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
    for way in ("send", "recv"):
        peer = block[way]
        wrong |= found.blocks(
            (peer < -1) | (peer >= n) | (peer == block["gpu"]),
            lambda b, way=way, peer=peer: f"{way} is {peer[b]}: it is another gpu, or -1",
        )
        if wrong:
            continue
        used = np.flatnonzero(peer >= 0)
        key = (block["gpu"][used] * n + peer[used]) * program.channels + block["chan"][used]
        twice = np.ones(program.blocks, bool)
        twice[used[np.unique(key, return_index=True)[1]]] = False
        twice[peer < 0] = False
        wrong |= found.blocks(
            twice, lambda b, way=way, peer=peer: f"another threadblock has {way} {peer[b]} on chan {block['chan'][b]}"
        )
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
    units = step["cnt"]
    wrong = found.steps(moving & (units < 1), lambda s: f"cnt is {units[s]}: it is 1 to {MOST_AT_ONCE}")
    found.steps(moving & (units > MOST_AT_ONCE), lambda s: f"cnt is {units[s]}: it is 1 to {MOST_AT_ONCE}")
    for way, table in (("send", SEND), ("recv", RECEIVE)):
        wrong |= found.steps(program.does(table) & (block[way][at] < 0), lambda _, way=way: f"its tb has no {way}")
    gpu = block["gpu"][at]
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
    blocks: ArrayLike = np.diff(program.first_block)[gpu]
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
    waiting_nop = (step["type"] == NOP) & waits
    ends = np.zeros(program.steps, bool)
    ends[1:] = waiting_nop[:-1]
    ends[program.start[:-1][np.diff(program.start) > 0]] = False
    found.steps(ends & ~waits, lambda _: "it ends a chain of waits, and must wait itself: its wait is lost")
