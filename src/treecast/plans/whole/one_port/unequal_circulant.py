"""Allgather of unequal blocks over one port on complete networks: all circulant broadcasts at once.

Communication model: store-and-forward, one-port; messages of one flit, or messages that combine, of any number of flits.
Source: Träff, arXiv 2312.11236, for messages that combine; ``skips`` for each broadcast.

Each block is cut into parts, and each part is a message of a circulant broadcast from the block's node. In a turn all nodes send
equally far, so these broadcasts meet nowhere but in the two ports of a node. Where messages combine, all that a node sends in a
turn is one message: M parts take M - 1 + ⌈log2 N⌉ turns, each as long as an M-th of all blocks together. Where they do not, a
part is a flit, and each send goes in the first step in which both its ports are free.
"""

from collections.abc import Iterable
from math import isqrt
from typing import NamedTuple

import numpy as np

from treecast.collectives.traits import all_to_all, of_unequal_lengths
from treecast.models import Cost
from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import NO_ROWS, Built, Job, joined, rows_between
from treecast.plans.lengths import in_streams, lengths_of
from treecast.plans.registry import Option, builder, whole_number
from treecast.plans.search import HOP, WORK
from treecast.plans.times.timetable import listed
from treecast.plans.ways.ways import Ways, pairs_of
from treecast.plans.whole.one_port.circulant import periodic
from treecast.plans.whole.one_port.models import COMBINING, HALF, ONE_PORT, check_rows
from treecast.plans.whole.one_port.skips import skips
from treecast.ragged import places, starts
from treecast.schedule import Claims, Payloads, Rows

_MOST_PARTS = 2**20
_MOST_TRIED = WORK // HOP  # sends, while a number of parts is tried
_MOST_SENDS = 2**20  # of one flit each; beyond, flits go in streams


PARTS = Option(
    name="parts",
    summary="Into how many parts each block is cut where messages combine: more are shorter, and take more steps. As many as the "
    "longest block has flits at most.",
    read=whole_number("number of parts", 1, _MOST_PARTS),
)
"""M; 1 where it is not given, which takes the fewest steps."""


def _best_parts(job: Job[Complete], chunk: int, cost: Cost) -> dict[str, int]:
    """Return the number of parts that takes least time: fewer than √((q - 1) β bytes / α), that of one block alone.

    Of M - 1 + q turns the first carry less than others, and parts are rounded. So numbers are tried: all small ones, others a
    fifth apart, and those beside the best of these.
    """
    lengths, nodes = lengths_of(job.collective), job.network.nodes
    most = min(int(lengths.flits.max()), max(1, _MOST_TRIED // nodes**2))
    alone = max(0, (nodes - 1).bit_length() - 1) * lengths.total * chunk * cost.per_byte
    if cost.startup:
        most = min(most, 1 + isqrt(int(alone / cost.startup)))
    seconds = dict[int, float]()

    def best_of(numbers: Iterable[int]) -> int:
        for parts in numbers:
            if parts not in seconds and 1 <= parts <= most:
                seconds[parts] = _seconds(job, parts, chunk, cost)
        return min(seconds, key=lambda parts: (seconds[parts], parts))

    spread = [1]
    while spread[-1] < most:
        spread.append(spread[-1] + max(1, spread[-1] // 5))
    best = best_of(spread)
    return {PARTS.keyword: best_of(range(best - max(1, best // 5), best + max(1, best // 5) + 1))}


def _seconds(job: Job[Complete], parts: int, chunk: int, cost: Cost) -> float:
    """Return how long so many parts take, by steps: each as long as its longest message."""
    nodes, lengths = job.network.nodes, lengths_of(job.collective)
    cut = lengths.flits[:, None] * np.arange(parts + 1) // parts
    sends = _sends(nodes, np.where(lengths.flits > 0, parts, 0))
    flits = np.bincount(sends.turn * nodes + sends.target, np.diff(cut)[sends.block, sends.part], minlength=nodes)
    flits = np.pad(flits, (0, -len(flits) % nodes)).reshape(-1, nodes).max(axis=1)
    return sum(cost.step_time(size * chunk) for size in flits[flits > 0].astype(np.int64).tolist())


class _Sends(NamedTuple):
    """Sends by their turn: ``source`` and ``target``, the node that the block belongs to, and which part of it: int64 each."""

    turn: Ints
    source: Ints
    target: Ints
    block: Ints
    part: Ints


@builder(
    "circulant",
    of_unequal_lengths(all_to_all),
    on=Complete,
    under=(*ONE_PORT, *HALF),
    orbit=False,
    summary="all broadcasts by skips (Träff) at once, each flit as early as its ports are free",
)
def flit_by_flit(job: Job[Complete]) -> Built:
    """One-port: each flit goes down its circulant tree as early as it can: steps have no closed form; Σ length (N - 1) sends.

    Of very many flits some go together, in streams, and then those that are left over.
    """
    network, lengths = job.network, lengths_of(job.collective)
    parts, later, begun = [NO_ROWS], [0], 0
    for counts, size, before in in_streams(lengths.flits, _MOST_SENDS // max(1, network.nodes - 1)):
        check_rows(int(counts.sum()), network.nodes - 1, network)
        sends = _sends(network.nodes, counts)
        step = _steps(job, counts, sends)
        first = np.repeat(lengths.first + before, counts) + places(counts) * size
        number = starts(counts)[sends.block] + sends.part
        parts.append(_rows(network, Payloads.of_ranges(first, first + size), sends, step * size, number))
        later.append(begun)
        begun += (int(step.max(initial=-1)) + 1) * size
    return Built(joined(parts, later), Claims(begun, lengths.total * (network.nodes - 1)))


def _steps(job: Job[Complete], counts: Ints, sends: "_Sends") -> Ints:
    """Return the step of each send: as early as it can go, if those of earlier turns go first."""
    at = (starts(counts)[sends.block] + sends.part) * job.network.nodes
    arc = job.network.arc(sends.source, job.network.port_between(sends.source, sends.target))
    nothing, pairs = np.zeros_like(arc), pairs_of(at + sends.target, at + sends.source)
    ways = Ways(job.network, arc, nothing, Payloads.of_ranges([0], [1]), nothing - 1, sends.turn, *pairs)
    return listed(ways, job.model, [sends.turn]).step


def _claims(job: Job[Complete]) -> Claims:
    others, lengths = job.network.nodes - 1, lengths_of(job.collective)
    steps = _parts(job) - 1 + others.bit_length() if others and lengths.total else 0
    return Claims(steps, lengths.total * others)


@builder(
    "circulant",
    of_unequal_lengths(all_to_all),
    on=Complete,
    under=COMBINING,
    claims=_claims,
    options=(PARTS,),
    suits=_best_parts,
    orbit=False,
    summary="all broadcasts by skips (Träff) at once: each message holds a part of each block at most",
)
def part_by_part(job: Job[Complete]) -> Built:
    """One-port, combining: M - 1 + ⌈log2 N⌉ steps of M parts, Σ length (N - 1) transmissions: the latter are the fewest."""
    network, lengths, parts = job.network, lengths_of(job.collective), _parts(job)
    holders = np.flatnonzero(lengths.flits)
    check_rows(parts * len(holders), network.nodes - 1, network)
    cut = lengths.first[:, None] + lengths.flits[:, None] * np.arange(parts + 1) // parts
    filled = cut[:, 1:] > cut[:, :-1]
    number = np.cumsum(filled).reshape(filled.shape) - 1
    sends = _sends(network.nodes, np.where(lengths.flits > 0, parts, 0))
    sends = _Sends(*(column[filled[sends.block, sends.part]] for column in sends))
    step = sends.turn - (1 - parts) % max(1, len(skips(network.nodes)) - 1)
    payloads = Payloads.of_ranges(cut[:, :-1][filled], cut[:, 1:][filled])
    return Built(_rows(network, payloads, sends, step, number[sends.block, sends.part], steps=1), _claims(job))


def _parts(job: Job[Complete]) -> int:
    longest = int(lengths_of(job.collective).flits.max())
    return max(1, min(int(job.options.get(PARTS.keyword, 1)), longest))


def _sends(nodes: int, parts: Ints) -> _Sends:
    """Return the sends of the circulant broadcasts of blocks of so many parts, each from its node; all end with a period."""
    q, found = len(skips(nodes)) - 1, [_Sends(*np.zeros((5, 0), np.int64))]
    numbers: list[int] = np.unique(parts[parts > 0]).tolist() if q else []
    for messages in numbers:
        begin = (1 - messages) % q  # turns of the first period that are left out
        sends = periodic(nodes).streams(messages, q).one_by_one(q)
        block = np.flatnonzero(parts == messages)[:, None]
        source, target = ((block + each) % nodes for each in (sends.source, sends.target))
        columns = np.broadcast_arrays(begin + sends.step, source, target, block, sends.message)
        found.append(_Sends(*(column.ravel() for column in columns)))
    joined = _Sends(*map(np.concatenate, zip(*found, strict=True)))
    order = np.argsort(joined.turn, kind="stable")
    return _Sends(*(column[order] for column in joined))


def _rows(network: Complete, table: Payloads, sends: _Sends, step: Ints, payload: Ints, **more: int) -> Rows:
    """Return the rows by which some sends go."""
    return rows_between(network, table, step, sends.source, sends.target, payload=payload, **more)
