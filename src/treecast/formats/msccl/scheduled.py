"""A right MSCCL file as a schedule: a message goes when the longest chain before it has travelled."""

import time
from collections.abc import Callable

import numpy as np

from treecast.collectives import Collective
from treecast.errors import FormatError, TreecastError
from treecast.formats.msccl.contents import Contents
from treecast.formats.msccl.judge import Judging, collective_judged, verdict_of
from treecast.formats.msccl.program import SENDS
from treecast.formats.msccl.verdict import Verdict
from treecast.formats.registry import Told, importer
from treecast.models import model
from treecast.networks import Network
from treecast.ragged import Ints, places
from treecast.schedule import Payloads, Rows, Schedule
from treecast.verification.verifier import verify


def recognises(head: bytes) -> bool:
    """Return whether a file begins as MSCCL XML does: with its algorithm, behind white space, comments and a declaration."""
    left = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    while left.startswith((b"<?xml", b"<!--")):
        left = left.partition(b"-->" if left.startswith(b"<!--") else b"?>")[2].lstrip()
    return left.startswith((b"<algo ", b"<algo>", b"<algo\t", b"<algo\n", b"<algo\r", b"<!DOCTYPE algo"))


def judge(data: bytes, told: Told) -> tuple[Verdict, Callable[[], Schedule]]:
    """Return the verdict on an MSCCL file, and what makes its schedule."""
    if told != Told(network=told.network):
        raise FormatError("a file of MSCCL says its collective: only --network is told besides")
    began = time.perf_counter()
    judged = Judging(data, told.network)
    return verdict_of(judged, time.perf_counter() - began), lambda: _schedule_of(judged)


@importer("msccl", recognises=recognises, judge=judge)
def decode(data: bytes) -> Schedule:
    """Return the schedule of a right MSCCL file, on a complete network. Raises FormatError when it is wrong, or none fits."""
    return _schedule_of(Judging(data, None))


def _schedule_of(judged: Judging) -> Schedule:
    program, order, began, contents = judged.program, judged.order, judged.began, judged.contents
    if judged.breaches:
        raise FormatError(f"this MSCCL file is wrong: {judged.breaches[0]}")
    collective = collective_judged(judged)
    if (
        program is None
        or order is None
        or began is None
        or contents is None
        or judged.network is None
        or collective is None
    ):
        raise FormatError("this MSCCL file is of a custom collective, which no schedule can say")
    sends = np.flatnonzero(program.is_(SENDS))
    units = order.units[sends]
    row, place = np.repeat(np.arange(len(sends)), units), places(units)
    chunk = _chunks(contents, collective, contents.sent)
    if len(chunk) and int(chunk.min()) < 0:
        raise FormatError(
            "this MSCCL file is right, but no schedule of ours: it sends sums of different chunks, or of parts"
        )
    block = program.block_of[sends]
    src, dst = program.block["gpu"][block][row], program.block["send"][block][row]
    step = began[sends][row] + place
    columns = {"src": src, "dst": dst, "step": step, "steps": np.ones_like(step), "tree": np.full_like(step, -1)}
    columns["port"] = _ports(judged.network, src, dst, step)
    if collective.results:
        collective, chunk = _place_sums(collective, chunk, src, step)
    known, payload = np.unique(chunk, return_inverse=True)
    rows = Rows.of(Payloads.of([[(c, c + 1)] for c in known.tolist()]), payload=payload, **columns)
    try:
        schedule = Schedule(judged.network, collective, model("all-port"), rows)
        report = verify(schedule)
    except TreecastError as error:
        raise FormatError(f"this MSCCL file is right, but no schedule of ours: {error}") from None
    if not report:
        raise FormatError(f"this MSCCL file is right, but no schedule of ours: {report.violations[0]}")
    return schedule


def _ports(network: Network, src: Ints, dst: Ints, step: Ints) -> Ints:
    """Return the port of each chunk: of parallel arcs a free one, in order."""
    key = np.stack([src, dst, step])
    _, group, count = np.unique(key, axis=1, return_inverse=True, return_counts=True)
    turn = np.argsort(group.reshape(-1), kind="stable")
    place = np.empty(len(src), np.int64)
    place[turn] = places(count)
    port = np.asarray(network.port_between(src, dst), np.int64)
    return port + place  # parallel arcs have ports one behind the other; too many are found by the verifier


def _chunks(contents: Contents, collective: Collective, value: Ints) -> Ints:
    """Return the chunk of the schedule that each value is; -1 where it is none."""
    program, most = contents.program, max(contents.most, 1)
    n, share, m = program.gpus, program.share, collective.messages
    if collective.sums:
        chunk = _added_up(contents)[value]
        finished = collective.results & (contents.marks[2][value] == n)
        return np.where(chunk >= 0, chunk + collective.sums * finished, -1)
    gpu, chunk = np.divmod(value, most)
    kind = collective.traits
    if kind.blocks == "pair":
        return (gpu * n + chunk // share) * m + chunk % share
    return gpu * m + chunk if kind.starts == "own" and kind.ends == "all" else chunk


def _added_up(contents: Contents) -> Ints:
    """Return of which chunk each value is a sum; -1 where it is of several."""
    atoms, most = contents.atoms, max(contents.most, 1)
    found = np.concatenate([np.arange(atoms) % most, np.full(len(contents.left), -1)])
    for k, (a, b) in enumerate(zip(contents.left.tolist(), contents.right.tolist(), strict=True)):
        found[atoms + k] = found[a] if found[a] == found[b] else -1
    return found


def _place_sums(collective: Collective, chunk: Ints, src: Ints, step: Ints) -> tuple[Collective, Ints]:
    """Return the collective with the owner of each sum where the file finishes it, and the chunks as they are numbered then.

    Every node wants all of them, so that their numbers mean nothing else.
    """
    sums, nodes = collective.sums, collective.nodes
    owner = np.full(sums, -1)
    finished = np.flatnonzero(chunk >= sums)
    late_first = finished[np.argsort(-step[finished], kind="stable")]
    owner[chunk[late_first] - sums] = src[late_first]
    if owner.min(initial=0) < 0:
        return collective, chunk
    if len(set(owner.tolist())) == 1:
        return Collective("reduce-broadcast", nodes, sums, root=int(owner[0])), chunk
    number = np.empty(sums, np.int64)
    number[np.argsort(owner, kind="stable")] = np.arange(sums)
    if (number // collective.messages != owner).any():
        raise FormatError(
            "this MSCCL file is right, but no schedule of ours: there every node finishes as many sums, or one finishes all"
        )
    return collective, np.where(chunk >= sums, sums + number[chunk % sums], number[chunk % sums])
