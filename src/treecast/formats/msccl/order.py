"""Rules ``pairs``, ``signalled``, ``order`` and ``in-flight``: does every step come to its end?"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treecast.formats.msccl.program import NOP, RECEIVES, ROOMS, SENDS, Program
from treecast.formats.msccl.shape import Finder
from treecast.ragged import Ints, starts

_ENDLESS = 2**62
_WAITS, _STARVED = 1, 2  # what a threadblock waits for
_MOST_NAMED = 6  # threadblocks of a circle that are named


@dataclass(frozen=True, eq=False)
class Order:
    """What each step of a program comes after.

    Parameters
    ----------
    program : Program
        The program; its shape is right.
    into, out : int64 (blocks,)
        The connections that each threadblock receives from and sends to; the last number where it has none.
    pair : int64 (steps,)
        The step that sends what a step receives; -1: none.
    wait : int64 (steps,)
        The step after which a step may go on; -1: it does not wait, -2: it waits for ever.
    """

    program: Program
    into: Ints
    out: Ints
    pair: Ints
    wait: Ints

    @cached_property
    def before(self) -> Ints:
        """The step before each step in its threadblock; -1 for the first."""
        found = np.arange(-1, self.program.steps - 1)
        found[self.program.start[:-1][np.diff(self.program.start) > 0]] = -1
        return found

    @cached_property
    def units(self) -> Ints:
        """How many chunks each step moves; 0 where it only waits."""
        step = self.program.step
        return np.where(step["type"] == NOP, 0, step["cnt"])

    def run(self, room: int) -> tuple[Ints, Ints, Ints]:
        """Return the steps in the order in which they end, at which step each threadblock stops, and what it waits for there."""
        from treecast.kernels.programs import run_program

        program = self.program
        order = np.empty(program.steps, np.int64)
        at, why = np.zeros(program.blocks, np.int64), np.zeros(program.blocks, np.int64)
        sends, receives = program.is_(SENDS), program.is_(RECEIVES)
        ended = run_program(
            program.start, self.units, sends, receives, self.into, self.out, self.wait, room, order, at, why
        )
        return order[:ended], at, why

    def chains(self, order: Ints) -> tuple[int, Ints]:
        """Return the longest chain of chunks, and how many must have travelled before each step can send."""
        from treecast.kernels.programs import measure_chains

        began = np.zeros(self.program.steps, np.int64)
        sends = self.program.is_(SENDS)
        longest = measure_chains(order, self.before, self.pair, self.wait, sends, self.units, began)
        return int(longest), began


def check_pairs(program: Program) -> tuple[Finder, Finder, Order]:
    """Return the breaches of ``pairs`` and of ``signalled``, and what each step comes after."""
    found, block, at = Finder(program, "pairs"), program.block, program.block_of
    n, channels = program.gpus, program.channels
    key_out = np.where(block["send"] < 0, -1, (block["gpu"] * n + block["send"]) * channels + block["chan"])
    key_in = np.where(block["recv"] < 0, -1, (block["recv"] * n + block["gpu"]) * channels + block["chan"])
    known = np.unique(np.concatenate([key_out, key_in]))
    known = known[known >= 0]
    out = np.where(key_out < 0, 2 * program.blocks, np.searchsorted(known, key_out))
    into = np.where(key_in < 0, 2 * program.blocks, np.searchsorted(known, key_in))
    sends, receives = np.flatnonzero(program.is_(SENDS)), np.flatnonzero(program.is_(RECEIVES))
    sent = sends[np.argsort(out[at[sends]], kind="stable")]  # a connection has one threadblock at each end
    got = receives[np.argsort(into[at[receives]], kind="stable")]
    many, few = (np.bincount(where, minlength=len(known)) for where in (out[at[sent]], into[at[got]]))
    uneven, first_out, first_in = np.minimum(many, few), starts(many), starts(few)
    which = np.repeat(np.arange(len(known)), uneven)
    place = np.arange(len(which)) - np.repeat(starts(uneven)[:-1], uneven)
    a, b = sent[first_out[which] + place], got[first_in[which] + place]
    pair = np.full(program.steps, -1, np.int64)
    pair[b] = a
    alone = np.concatenate([np.setdiff1d(sent, a), np.setdiff1d(got, b)])
    found.these(np.sort(alone), lambda s: _say_alone(program, s))
    units = program.step["cnt"]
    differs = units[a] != units[b]
    meets = dict(zip(b[differs].tolist(), a[differs].tolist(), strict=True))
    found.these(
        np.sort(b[differs]),
        lambda s: f"it receives {units[s]} chunks where {_spell(program, meets[s])} sends {units[meets[s]]}",
    )
    signalled, wait = _waits(program)
    return found, signalled, Order(program, into, out, pair, wait)


def _say_alone(program: Program, step: int) -> str:
    block = program.block_of[step]
    chan = program.block["chan"][block]
    if program.is_(SENDS)[step] and program.is_(RECEIVES)[step]:
        return f"what it receives or sends on chan {chan} has no counterpart"
    if program.is_(SENDS)[step]:
        return f"nobody receives what it sends to gpu {program.block['send'][block]} on chan {chan}"
    return f"nobody sends what it receives from gpu {program.block['recv'][block]} on chan {chan}"


def _spell(program: Program, step: int) -> str:
    gpu, tb, number = program.where(step)
    return f"gpu {gpu} tb {tb} step {number}"


def _waits(program: Program) -> tuple[Finder, Ints]:
    """Return the breaches of ``signalled``, and the step after which each step may go on."""
    found, step = Finder(program, "signalled"), program.step
    wait = np.full(program.steps, -1, np.int64)
    waiting = np.flatnonzero((step["depid"] >= 0) & (step["deps"] >= 0))
    gpu = program.block["gpu"][program.block_of[waiting]]
    first = program.first_block
    wanted = first[gpu] + step["depid"][waiting]
    there = wanted < first[gpu + 1]
    waiting, wanted = waiting[there], wanted[there]
    raised = np.flatnonzero(step["hasdep"] == 1)
    place = np.searchsorted(raised, program.start[wanted] + step["deps"][waiting])
    raised = np.append(raised, program.steps)
    fits = raised[place] < program.start[wanted + 1]
    wait[waiting] = np.where(fits, raised[place], -2)
    found.these(
        waiting[~fits],
        lambda s: (
            f"it waits for step {step['deps'][s]} of tb {step['depid'][s]}, where neither that step nor a later one has hasdep 1"
        ),
    )
    return found, wait


def check_order(order: Order) -> tuple[Finder, Ints]:
    """Return the breaches of ``order``, and the steps in an order in which they can end."""
    found = Finder(order.program, "order")
    ended, at, why = order.run(_ENDLESS)
    _name_circles(order, at, why, found)
    return found, ended


def check_in_flight(order: Order) -> Finder:
    """Return the breaches of ``in-flight``: where threadblocks block one another because connections are full."""
    found = Finder(order.program, "in-flight")
    _, at, why = order.run(ROOMS[order.program.proto])
    _name_circles(order, at, why, found, f" with {ROOMS[order.program.proto]} chunks in flight")
    return found


def _name_circles(order: Order, at: Ints, why: Ints, found: Finder, room: str = "") -> None:
    """Note each circle of threadblocks that wait for one another. Others wait for these."""
    program = order.program
    stuck = np.flatnonzero(at < program.start[1:]).tolist()
    ends = {int(q): b for b, q in enumerate(order.out)}, {int(q): b for b, q in enumerate(order.into)}
    step_of, reason, block_of = at.tolist(), why.tolist(), program.block_of

    def stops(b: int) -> tuple[int, str]:
        """Return the threadblock that block b waits for, and for what."""
        if reason[b] == _WAITS:
            wait = int(order.wait[step_of[b]])
            return int(block_of[wait]), f"waits for {_spell(program, wait)}"
        other = ends[0][int(order.into[b])] if reason[b] == _STARVED else ends[1][int(order.out[b])]
        gpu = program.block["gpu"][other]
        return other, f"receives from gpu {gpu}" if reason[b] == _STARVED else f"has no room to send to gpu {gpu}"

    seen = set[int]()
    for b in stuck:
        way = list[int]()
        while b not in seen:
            seen.add(b)
            way.append(b)
            b = stops(b)[0]
        if b in way:
            circle = way[way.index(b) :]
            told = "; ".join(f"{_spell(program, step_of[c])} {stops(c)[1]}" for c in circle[:_MOST_NAMED])
            more = f"; and {len(circle) - _MOST_NAMED} more" if len(circle) > _MOST_NAMED else ""
            found.these(at[circle[:1]], lambda _, told=told, more=more: f"a circle{room}: {told}{more}")
