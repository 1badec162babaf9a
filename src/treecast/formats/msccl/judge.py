"""The judge of MSCCL files: every rule, and the figures."""

import time

import numpy as np

from treecast.collectives import COLLECTIVES, Collective
from treecast.errors import FormatError, TreecastError
from treecast.formats.msccl.contents import Contents, check_delivered, check_races, check_undefined, root_of, trace
from treecast.formats.msccl.order import Order, check_in_flight, check_order, check_pairs
from treecast.formats.msccl.program import SENDS, Program
from treecast.formats.msccl.reading import read_program
from treecast.formats.msccl.shape import Finder, check_shape
from treecast.formats.msccl.verdict import RULES, Breach, Verdict
from treecast.lower_bounds import Bound, bounds
from treecast.models import model
from treecast.networks import Network, network
from treecast.networks.flows import arcs_of
from treecast.ragged import Ints

_KINDS = {"reduce_scatter": "reduce-scatter"}
_MOST_UNITS = 2**25


class Judging:
    """A file that is being judged, rule by rule."""

    def __init__(self, data: bytes, where: "str | Network | None") -> None:
        self.program, reading = read_program(data)
        self.counts, self.breaches = {"shape": reading.count}, list[Breach](reading.breaches)
        self.notes = reading.notes
        self.where = where
        self.network: Network | None = None
        self.order: Order | None = None
        self.began: Ints | None = None
        self.contents: Contents | None = None
        self.chain: int | None = None
        self.kind, self.root = "", 0
        self.name = (reading.algo or {}).get("name", "")[:80]
        if self.program is not None:
            self._judge(self.program)

    def note(self, found: Finder) -> bool:
        """Note what a rule has found; return whether it is kept."""
        self.counts[found.rule] = self.counts.get(found.rule, 0) + found.count
        self.breaches += found.shown
        return not found.count

    @property
    def holds(self) -> bool:
        """Whether no rule is broken."""
        return not any(self.counts.values())

    def _judge(self, program: Program) -> None:
        self.network = _network(program, self.where)
        shape, fine, notes = check_shape(program)
        self.notes += notes
        self.note(shape)
        if not fine:
            return
        if int(program.step["cnt"].clip(0).sum()) > _MOST_UNITS:
            raise FormatError(f"more than {_MOST_UNITS:,} chunks are moved: that is too many to judge")
        pairs, signalled, order = check_pairs(program)
        self.order = order
        if not (self.note(pairs) & self.note(signalled)):
            return
        found, ended = check_order(order)
        if not self.note(found):
            return
        self.note(check_in_flight(order))
        self.chain, self.began = order.chains(ended)
        self.kind = _kind_of(program)
        self._judge_contents(order, ended)
        self._judge_arcs(order, self.network)

    def _judge_contents(self, order: Order, ended: Ints) -> None:
        program = order.program
        claimed = [place for place, said in ((False, program.outofplace), (True, program.inplace)) if said]
        for inplace in claimed:
            contents = trace(order, ended, inplace)
            self.contents = self.contents or contents
            self.note(check_races(order, ended, contents))
            self.note(check_undefined(contents))
            if self.kind:
                self.root = root_of(contents, self.kind)
                self.note(check_delivered(contents, self.kind, self.root))
        if not self.kind:
            self.notes.append(
                "custom does not say who wants what, so delivery is not judged: a name that begins with scatter or gather does"
            )

    def _judge_arcs(self, order: Order, where: Network) -> None:
        """Judge ``adjacent``, and where a network is named ``link-once``."""
        program = order.program
        sends = np.flatnonzero(program.is_(SENDS))
        block = program.block_of[sends]
        src, dst = program.block["gpu"][block], program.block["send"][block]
        n = where.nodes
        arcs = arcs_of(where) if not where.every_pair_joined else None
        key = src * n + dst
        adjacent = Finder(program, "adjacent")
        room = np.ones(len(sends), np.int64)
        if arcs is not None:
            known, capacity = np.unique(arcs.tail.astype(np.int64) * n + arcs.head, return_counts=True)
            place = np.minimum(np.searchsorted(known, key), len(known) - 1)
            there = known[place] == key
            room = np.where(there, capacity[place], 1)
            adjacent.these(
                sends[~there],
                lambda s: (
                    f"no link leads from gpu {src[np.searchsorted(sends, s)]} to gpu {dst[np.searchsorted(sends, s)]}"
                ),
            )
        self.note(adjacent)
        if self.where is not None and self.began is not None:
            self.note(_check_links(order, sends, key, room, self.began[sends]))


def _check_links(order: Order, sends: Ints, key: Ints, room: Ints, began: Ints) -> Finder:
    """Return the breaches of ``link-once``: messages that begin while their arc carries as many as it can."""
    found, units = Finder(order.program, "link-once"), order.units[sends]
    turn = np.lexsort([sends, began, key])
    end, late = dict[int, list[int]](), list[int]()
    columns = (sends[turn], key[turn], room[turn], began[turn], units[turn])
    for s, arc, most, begin, long in zip(*(column.tolist() for column in columns), strict=True):
        busy = [e for e in end.get(arc, ()) if e > begin]
        if len(busy) >= most:
            late.append(s)
        end[arc] = [*busy, begin + long]
    found.these(np.array(late, np.int64), lambda s: "its arc carries another message then, that of another channel")
    return found


def judge_msccl(data: bytes, where: "str | Network | None" = None) -> Verdict:
    """Judge an MSCCL file.

    Parameters
    ----------
    data : bytes
        The file.
    where : str or Network, optional
        The network of its GPUs, in order; by default every two are joined.

    Returns
    -------
    Verdict
        Which rules it breaks, and its figures.

    Raises
    ------
    FormatError
        When it is no MSCCL file, or too large to judge.
    TreecastError
        When the network does not have as many nodes as the file has GPUs.
    """
    began = time.perf_counter()
    return verdict_of(Judging(data, where), time.perf_counter() - began)


def verdict_of(judged: Judging, seconds: float) -> Verdict:
    """Return the verdict on a file that has been judged."""
    program = judged.program
    messages = busiest = None
    arc = (-1, -1)
    if program is not None and judged.order is not None and judged.chain is not None:
        sends = np.flatnonzero(program.is_(SENDS))
        block = program.block_of[sends]
        messages = len(sends)
        key, which = np.unique(
            program.block["gpu"][block] * program.gpus + program.block["send"][block], return_inverse=True
        )
        load = np.bincount(which, weights=judged.order.units[sends]).astype(np.int64)
        busiest = int(load.max(initial=0))
        arc = divmod(int(key[load.argmax()]), program.gpus) if len(key) else arc
    counts = {rule: judged.counts[rule] for rule in RULES if rule in judged.counts}
    return Verdict(
        name=judged.name,
        collective=judged.kind or (program.coll if program is not None else "?"),
        network=judged.network.spec if judged.network is not None else "?",
        gpus=program.gpus if program is not None else 0,
        blocks=program.blocks if program is not None else 0,
        steps=program.steps if program is not None else 0,
        counts=counts,
        breaches=tuple(judged.breaches),
        notes=tuple(judged.notes),
        messages=messages,
        chain=judged.chain,
        busiest=busiest,
        busiest_arc=arc,
        bounds=tuple(_bounds(judged)),
        seconds=seconds,
    )


def _network(program: Program, where: "str | Network | None") -> Network:
    found = network(f"complete:{program.gpus}") if where is None else network(where)
    if found.nodes != program.gpus:
        raise TreecastError(
            f"{found.spec} has {found.nodes:,} nodes, and the file {program.gpus:,} gpus: name a network of as many"
        )
    return found


def _kind_of(program: Program) -> str:
    """Return the collective whose delivery is judged, or nothing where the file does not say."""
    if program.coll != "custom":
        return program.coll
    first = program.name.split(" ")[0]
    return first if first in ("scatter", "gather") and program.loop % program.gpus == 0 else ""


def collective_judged(judged: Judging) -> Collective | None:
    """Return the collective that a file says, as treecast has it; None where it is none of these."""
    program, kind = judged.program, _KINDS.get(judged.kind, judged.kind)
    if program is None or not kind:
        return None
    if program.loop % program.gpus and COLLECTIVES[kind].results:
        kind = "reduce-broadcast"
    messages = program.loop if COLLECTIVES[kind].blocks == "one" else program.share
    return Collective(kind, program.gpus, messages, root=0 if COLLECTIVES[kind].all_source else judged.root)


def _bounds(judged: Judging) -> list[Bound]:
    collective = collective_judged(judged)
    if collective is None or judged.network is None:
        return []
    try:
        return [bound for bound in bounds(collective, judged.network, 1, model("all-port")) if bound.of == "steps"]
    except TreecastError:
        return []
