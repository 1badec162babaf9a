"""A right program as a schedule: which chunk each message carries, and when it goes."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treecast.collectives import COLLECTIVES, Collective
from treecast.collectives.collective import NO_OWNERS
from treecast.errors import FormatError, TreecastError
from treecast.lower_bounds import Bound, bounds
from treecast.models import model
from treecast.networks import Network
from treecast.programs.arcs import widths
from treecast.programs.dataflow import Contents
from treecast.ragged import Ints, places, starts
from treecast.schedule import Payloads, Rows, Schedule
from treecast.verification.verifier import verify

_ONE_SUM = next(kind for kind, row in COLLECTIVES.items() if (row.blocks, row.adds, row.ends) == ("one", True, "all"))
_NONE = "is right, but no schedule of ours: "


class Sent(NamedTuple):
    """All that goes from rank to rank, chunk by chunk: whence, whither, in which step, and its value."""

    src: Ints
    dst: Ints
    step: Ints
    value: Ints


def collective_of(kind: str, ranks: int, loop: int, root: int) -> Collective | None:
    """Return the collective that a program carries out; None where it is none of treecast's. ``loop``: chunks of all blocks."""
    if loop % ranks and kind and COLLECTIVES[kind].results:
        kind = _ONE_SUM
    if not kind or loop < 1 or (loop % ranks and COLLECTIVES[kind].blocks != "one"):
        return None
    row = COLLECTIVES[kind]
    return Collective(kind, ranks, loop if row.blocks == "one" else loop // ranks, root=0 if row.all_source else root)


def bounds_of(collective: Collective | None, where: Network, machine: str = "all-port") -> tuple[Bound, ...]:
    """Return the lower bounds of the steps of a collective under a model; none where none are known."""
    try:
        found = [] if collective is None else bounds(collective, where, 1, model(machine))
        return tuple(bound for bound in found if bound.of == "steps")
    except TreecastError:
        return ()


def schedule_of_sent(
    file: str, collective: Collective | None, where: Network, contents: Contents, timed: tuple[Sent, Ints]
) -> Schedule:
    """Return the schedule of a right program. Raises FormatError when there is none.

    ``file``: how errors call its file. ``timed``: as ``one_at_a_time`` returns it.
    """
    if collective is None:
        raise FormatError(f"{file} is of a custom collective, which no schedule can say")
    sent, lane = timed
    chunk = _chunks(contents, collective, sent.value)
    if len(chunk) and int(chunk.min()) < 0:
        raise FormatError(f"{file} {_NONE}it sends sums of different chunks, or of parts")
    columns = {
        "src": sent.src,
        "dst": sent.dst,
        "port": np.asarray(where.port_between(sent.src, sent.dst), np.int64) + lane,  # parallel arcs have them in a row
        "step": sent.step,
        "steps": np.ones_like(sent.step),
        "tree": np.full_like(sent.step, -1),
    }

    def right(collective: Collective, chunk: Ints) -> Schedule:
        known, payload = np.unique(chunk, return_inverse=True)
        rows = Rows.of(Payloads.of([[(c, c + 1)] for c in known.tolist()]), payload=payload, **columns)
        return right_one(f"{file} {_NONE}", lambda: Schedule(where, collective, model("all-port"), rows))

    if not collective.results:
        return right(collective, chunk)
    try:
        return right(_with_owners(file, collective, chunk, sent), chunk)
    except FormatError:
        with suppress(TreecastError):
            return right(replace(collective, owners=NO_OWNERS), chunk % collective.sums)
        raise


def one_at_a_time(where: Network, sent: Sent) -> tuple[Sent, Ints]:
    """Return the sends with no more at once on arcs than there are, and on which of its parallel arcs each chunk goes.

    A step in which arcs would carry several chunks becomes as many steps as the most that one of them would carry.
    """
    steps = int(sent.step.max(initial=-1)) + 1
    key = (sent.src * where.nodes + sent.dst) * steps + sent.step
    order, place = np.argsort(key, kind="stable"), np.empty_like(key)
    place[order] = places(np.diff(np.flatnonzero(np.diff(key[order], prepend=-1)), append=len(key)))
    turn, lane = np.divmod(place, np.maximum(widths(where, sent.src, sent.dst), 1))
    longest = np.ones(steps, np.int64)
    np.maximum.at(longest, sent.step, turn + 1)
    return sent._replace(step=starts(longest)[sent.step] + turn), lane


def right_one(otherwise: str, make: Callable[[], Schedule]) -> Schedule:
    """Return the schedule that is made when it is right. Raises FormatError with these words before its fault."""
    try:
        schedule = make()
        report = verify(schedule)
    except TreecastError as error:
        raise FormatError(f"{otherwise}{error}") from None
    if not report:
        raise FormatError(f"{otherwise}{report.violations[0]}")
    return schedule


def _chunks(contents: Contents, collective: Collective, value: Ints) -> Ints:
    """Return the chunk of the schedule that each value is; -1 where it is none."""
    most, n = max(contents.places.most, 1), contents.places.ranks
    if collective.sums:
        chunk = _added_up(contents)[value]
        finished = collective.results & (contents.count[value] == n)
        return np.where(chunk >= 0, chunk + collective.sums * finished, -1)
    rank, chunk = np.divmod(value, most)
    kind, m = collective.traits, collective.messages
    if kind.blocks == "pair":
        return (rank * n + chunk // m) * m + chunk % m
    return rank * m + chunk if kind.starts == "own" and kind.ends == "all" else chunk


def _added_up(contents: Contents) -> Ints:
    """Return of which chunk each value is a sum; -1 where it is of several."""
    atoms, most = contents.atoms, max(contents.places.most, 1)
    found = np.concatenate([np.arange(atoms) % most, np.full(len(contents.left), -1)])
    for k, (a, b) in enumerate(zip(contents.left.tolist(), contents.right.tolist(), strict=True)):
        found[atoms + k] = found[a] if found[a] == found[b] else -1
    return found


def _with_owners(file: str, collective: Collective, chunk: Ints, sent: Sent) -> Collective:
    """Return the collective with the owner of each sum where the program finishes it."""
    sums = collective.sums
    owner = np.full(sums, -1)
    finished = np.flatnonzero(chunk >= sums)
    late_first = finished[np.argsort(-sent.step[finished], kind="stable")]
    owner[chunk[late_first] - sums] = sent.src[late_first]
    if owner.min(initial=0) < 0 or (owner == collective.source_of(np.arange(sums))).all():
        return collective
    if len(set(owner.tolist())) == 1:
        return Collective(_ONE_SUM, collective.nodes, sums, root=int(owner[0]))
    if collective.traits.blocks == "one":
        raise FormatError(f"{file} {_NONE}there every node has as many sums, or one node finishes all")
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    return replace(collective, owners=tuple(zip(first.tolist(), owner[first].tolist(), strict=True)))
