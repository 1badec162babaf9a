"""A run of a plan over MPI: what every rank does from its start to the report, which a living rank writes."""

import atexit
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treecast import formats
from treecast.errors import FaultError, PlanError, TreecastError
from treecast.execution.layout import ranges, ranges_at, ranges_by_node
from treecast.formats.native.header import header_of, without_rows
from treecast.mpi.engine.engine import Engine, Outcome, failed_ranks
from treecast.mpi.engine.lanes import lanes_of
from treecast.mpi.job import data as data_of
from treecast.mpi.library import load_mpi, tags_of
from treecast.networks import Network
from treecast.networks import network as find_network
from treecast.plans import plan_again, program_again
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults, parse_faults, wanted

_RECORD = 1 << 16  # bytes that a rank's closing words may have
_TAGS = 16  # from here on: of what is passed on, by exchange and rank
_NAP_SHARE = 0.1  # of the time since something was heard, until the next look
_RELAYS = 16  # neighbours at most who pass on what they hear
_MOST_LOST = 20  # ranges of chunks that a rank names at most


class Request(NamedTuple):
    """A run that is to be: the plan, the input, who is to be killed at which step, and the patience of a rank.

    ``rule``: the header of the plan, when each rank can find its own rows from its label alone; else None, and each rank
    reads the plan and keeps its own rows. ``output``: the folder into which files of a scatterv or gatherv are written.
    """

    plan: str
    input: str
    flit: int
    kill: dict[int, int]
    deadline: float
    rule: dict[str, str] | None
    output: str | None = None


def request(
    schedule: Schedule, path: str, name: str, flit: int, kill: tuple[str, ...], deadline: float, output: str | None = None
) -> Request:  # fmt: skip
    """Return the run of a verified schedule on an input. Raises PlanError or FaultError when it cannot be."""
    if schedule.sparing:
        raise PlanError(
            "a sparing schedule leaves out what the other side may have, so a rank cannot know what to wait for: "
            "run it without --mpi"
        )
    if not 0 < deadline < 1e9:
        raise PlanError(f"a deadline of {deadline} seconds ends nothing: write --deadline 30, say")
    killed = dict(parse_faults(schedule.network, [name for text in kill for name in text.split(",") if name]).nodes)
    for node, step in killed.items():
        rows = schedule.program(node).rows
        if not bool((rows.step + rows.steps > step).any()):
            raise FaultError(f"{schedule.network.label(node)} does nothing from step {step} on: name an earlier step")
    data_of.find_source(schedule.network, schedule.collective, name, flit, output)
    return Request(path, name, flit, killed, deadline, _rule(schedule), output)


def _rule(schedule: Schedule) -> dict[str, str] | None:
    """Return the header of a schedule whose recipe makes its rows, and tells each rank its own; None of others."""
    header = header_of(schedule)
    try:
        if program_again(without_rows(header), 0) is None or plan_again(schedule).rows != schedule.rows:
            return None
    except TreecastError:
        return None
    return header


def own_program(what: Request, rank: int) -> Schedule:
    """Return the rows of one rank: from its label, or from the file."""
    mine = None if what.rule is None else program_again(without_rows(what.rule), rank)
    return formats.read(what.plan).program(rank) if mine is None else mine


Found = dict[str, Any]
"""The findings of a run: what a report needs, as JSON can hold it."""


def run_rank(what: Request | Callable[[], Request]) -> tuple[Found | None, int, Any]:
    """Do one rank's part of a run, in a process that mpirun has started; return the findings, the exit status and the request.

    Exactly one living rank gets the findings, or an ``error`` in their place. ``what``: the request; or what makes it, which
    rank 0 calls, for all.
    """
    mpi = load_mpi()
    world = mpi.COMM_WORLD
    world.Set_errhandler(mpi.ERRORS_RETURN)
    rank, size = int(world.Get_rank()), int(world.Get_size())
    if callable(what):
        error, wanted = "", None
        if rank == 0:
            wanted, error = _attempt(what)
        error, wanted = world.bcast((error, wanted))
    else:
        error, wanted = "", what
    prepared: _Prepared | None = None
    if wanted is not None and not error:
        prepared, error = _attempt(lambda: _prepare(mpi, wanted, rank, size))
    errors: list[str] = world.allgather(error)
    first = next((place for place, text in enumerate(errors) if text), None)
    if first is not None or prepared is None or wanted is None:
        return ({"error": errors[first or 0]} if rank == first else None), 2, wanted
    comm, closing = world.Dup(), world.Dup()
    for each in (comm, closing):
        each.Set_errhandler(mpi.ERRORS_RETURN)
    world.Barrier()
    network, patience = prepared.program.network, 6 * wanted.deadline
    lanes = lanes_of(prepared.program, rank, tags_of(mpi))
    near = frozenset({lane.peer for lane in lanes if network.degree <= _RELAYS} | set(_relays(network, rank)))
    # opens all connections: later a cut link would let none through
    exchange(mpi, closing, b"", 0, set(), patience, near)
    world.Barrier()  # all begin at once
    if rank == 0:
        _begin_time()
    outcome = Engine(
        mpi,
        comm,
        lanes,
        prepared.part,
        wanted.deadline,
        kill_at=wanted.kill.get(rank),
    ).run()
    near -= outcome.cut  # what is told over a cut link would never be under way
    _, dead = exchange(mpi, closing, b"", 1, outcome.dead, patience, near)
    words, dead = exchange(mpi, closing, _words(prepared, rank, outcome, dead, wanted.output), 2, dead, patience, near)
    records = {place: json.loads(text) for place, text in words.items()}
    status = int(any(record["lacks"] for record in records.values()))
    found = None
    if rank == min(records):
        found = _findings(prepared, records, dead)
        status = int(found["delivered"] < found["living"])
        failed = [record["unwritten"] for record in records.values() if record["unwritten"]]
        if failed:
            found, status = {"error": failed[0]}, 2
    if any(record["cut"] for record in records.values()):
        atexit.register(_leave_unfinalized, status)
    return found, status, wanted


def _relays(network: Network, rank: int) -> list[int]:
    """Return to whom a rank passes on what it has heard: its neighbours, or where they are many some that join all ranks."""
    if network.degree <= _RELAYS:
        return network.neighbors(rank)
    ways = [1 << place for place in range((network.nodes - 1).bit_length())]
    return [(rank + way) % network.nodes for away in ways for way in (away, -away)]


def _begin_time() -> None:
    """In a lab, tell it that the transfer begins: cuts may count from there."""
    lab = os.environ.get("TREECAST_LAB")
    if lab:
        Path(lab, "mark").touch()


def _leave_unfinalized(status: int) -> None:
    """End this process without MPI_Finalize, which waits for ever for what is under way over a link that is cut."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class _Prepared(NamedTuple):
    program: Schedule
    source: data_of.Source
    part: Any
    memory: Any


def _attempt(work: Callable[[], Any]) -> tuple[Any, str]:
    try:
        return work(), ""
    except (TreecastError, OSError) as error:
        return None, str(error)
    except MemoryError:
        return None, "there is not enough memory for the data of a rank"


def _prepare(mpi: Any, what: Request, rank: int, size: int) -> _Prepared:
    nodes = formats.read(what.plan).network.nodes if what.rule is None else find_network(what.rule["network"]).nodes
    if nodes != size:
        raise PlanError(f"the plan has {nodes:,} nodes, and mpirun started {size:,} ranks: start it with -n {nodes}")
    mine = own_program(what, rank)
    source = data_of.find_source(mine.network, mine.collective, what.input, what.flit)
    part, memory = data_of.part_of(mine, rank, source)
    return _Prepared(mine, source, part, memory)


def _words(prepared: _Prepared, rank: int, outcome: Outcome, dead: set[int], output: str | None) -> bytes:
    """Write the files of a rank, and return what it says at the end: the digest of what it has, and what is missing."""
    _, unwritten = (
        _attempt(lambda: data_of.write_arrived(prepared.source, rank, prepared.memory, outcome.held, output))
        if output else (None, "")
    )  # fmt: skip
    collective = prepared.program.collective
    mine = ranges_at(wanted(collective, Faults(dict.fromkeys(dead, 0))), rank)
    lacks = [pair for first, stop in mine for pair in _lacking(first, stop, outcome.held)]
    return json.dumps({
        "digest": prepared.source.layout.digest(prepared.memory, mine), "lacks": lacks[:_MOST_LOST],
        "by_tree": {tree: count for tree, count in sorted(outcome.by_tree.items()) if tree >= 0},
        "sent": outcome.sent, "received": outcome.received, "seconds": round(outcome.seconds, 6),
        "cut": sorted(outcome.cut), "rows": len(prepared.program), "unwritten": unwritten,
    }).encode()  # fmt: skip


def _lacking(first: int, stop: int, held: set[int]) -> list[tuple[int, int]]:
    mask = np.array([chunk not in held for chunk in range(first, stop)], bool)
    return [(first + a, first + b) for a, b in ranges(mask)]


def _findings(prepared: _Prepared, records: dict[int, dict[str, Any]], dead: set[int]) -> Found:
    """Return what a report says, from the words of the living and from the input itself."""
    schedule, source = prepared.program, prepared.source
    network, collective = schedule.network, schedule.collective
    true = data_of.truth(source)
    to_have = ranges_by_node(wanted(collective, Faults(dict.fromkeys(dead, 0))), network.nodes)
    nodes, rights = list[Found](), dict[tuple[tuple[int, int], ...], str]()
    for rank in range(network.nodes):
        node: Found = {"node": network.label(rank), "rank": rank}
        if rank not in records:
            nodes.append({**node, "verdict": "dead"})
            continue
        record = records[rank]
        mine = tuple(to_have[rank])
        if mine not in rights:
            rights[mine] = source.layout.digest(true, mine)
        right = rights[mine]
        intact = record["digest"] == right and not record["lacks"]
        nodes.append({
            **node, "verdict": "intact" if intact else "INCOMPLETE", "sha256": record["digest"], "true_sha256": right,
            **{key: record[key] for key in ("by_tree", "lacks", "sent", "received", "seconds", "rows")},
            "cut_off": [network.label(peer) for peer in record["cut"]],
        })  # fmt: skip
    return {
        "bytes": source.size, "ranks": network.nodes, "killed": [network.label(rank) for rank in sorted(dead)],
        "living": len(records), "delivered": sum(node["verdict"] == "intact" for node in nodes),
        "messages_sent": sum(record["sent"] for record in records.values()),
        "transfer_seconds": max(record["seconds"] for record in records.values()), "node_reports": nodes,
    }  # fmt: skip


def exchange(
    mpi: Any,
    comm: Any,
    words: bytes,
    tag: int,
    dead: set[int],
    patience: float,
    neighbours: frozenset[int] = frozenset(),
) -> tuple[dict[int, bytes], set[int]]:
    """Tell every living rank something and hear it from each; return what was heard, own words too, and who is dead.

    Point to point, so that a rank that dies meanwhile is just one that says nothing; nobody has to agree on who that is. What a
    rank hears first it passes on to its ``neighbours``, so a link that is cut, by which others would talk, holds nothing up.
    It ends when every other rank has been heard of or has failed, or nothing was heard for ``patience`` seconds.
    """
    me, size = int(comm.Get_rank()), int(comm.Get_size())
    gone, heard, near = set(dead), {me: words}, neighbours - {me}
    incoming: dict[tuple[int, int], tuple[Any, Any]] = {}  # by who says it, and of whom
    outgoing: list[tuple[int, Any, Any]] = []

    def tag_of(teller: int, of: int) -> int:
        return tag if teller == of else _TAGS + tag * size + of

    def listen(peer: int, of: int) -> None:
        place = np.empty(_RECORD if words else 0, np.uint8)
        try:
            incoming[peer, of] = comm.Irecv([place, mpi.BYTE], peer, tag_of(peer, of)), place
        except mpi.Exception:
            gone.add(peer)

    def tell(peer: int, of: int) -> None:
        out = np.frombuffer(heard[of], np.uint8)
        try:
            outgoing.append((peer, comm.Isend([out, mpi.BYTE], peer, tag_of(me, of)), out))
        except mpi.Exception:
            gone.add(peer)

    for peer in (p for p in range(size) if p != me and p not in gone):
        listen(peer, peer)
        for of in range(size) if peer in near else ():
            if of not in (me, peer):
                listen(peer, of)
        tell(peer, me)
    moved = looked = time.monotonic()
    while time.monotonic() - moved < patience:
        outgoing = [(peer, request, out) for peer, request, out in outgoing if _ended(mpi, request) is False]
        for (peer, of), (request, place) in list(incoming.items()):
            status = mpi.Status()
            ended = _ended(mpi, request, status)
            if ended is False:
                continue
            del incoming[peer, of]
            if ended is None:
                gone.add(peer)
            elif of not in heard:
                heard[of] = place[: status.Get_count(mpi.BYTE)].tobytes()
                moved = time.monotonic()
                for other in near - gone - {peer, of}:
                    tell(other, of)
        all_told = all(peer in gone or peer not in near for peer, _, _ in outgoing)
        if all_told and all(peer in heard or peer in gone for peer in range(size)):
            break
        time.sleep(
            min(max(_NAP_SHARE * (time.monotonic() - moved), 0.0005), 0.02)
        )  # others may still need the processor
        if time.monotonic() - looked > 0.05:
            looked = time.monotonic()
            gone.update(failed_ranks(mpi, comm))
    _leave(mpi, incoming)
    _kept.append(outgoing)  # what is still under way needs its memory
    return heard, gone - set(heard)


_kept: list[Any] = []


def _leave(mpi: Any, incoming: Mapping[tuple[int, int], tuple[Any, Any]]) -> None:
    """Take back what was listened for and is not needed: told by somebody else, or never."""
    for request, place in incoming.values():
        try:
            request.Cancel()
            request.Wait()
        except mpi.Exception:
            _kept.append((request, place))


def _ended(mpi: Any, request: Any, status: Any = None) -> bool | None:
    """Return whether a request has gone through; None when it failed."""
    try:
        return bool(request.Test(status))
    except mpi.Exception:
        return None


def write_findings(path: str, found: Mapping[str, object]) -> None:
    """Write findings where whoever started the ranks looks for them, whole."""
    beside = Path(path).with_suffix(".part")
    beside.write_text(json.dumps(found))
    beside.replace(path)
