"""The results of two synthesizers, TACOS and TE-CCL: who sends which chunk of an allgather to whom, and when.

Both become lists of sends and receives that say their chunks. A send waits for the message that has brought its chunk by then.
One that goes before waits for none, and the judge tells so.

TACOS (astra-sim/tacos, src/writer/csv_writer.cpp) has a line for each link, with its chunks in order. Of N nodes, chunk c is one
of node c mod N (src/collective/all_gather.cpp). Newer versions write CHUNK:END:BEGIN, and these times are judged; of CHUNK:TIME
and CHUNK the order is. TE-CCL (microsoft/TE-CCL, the results in its examples) has a sentence for each chunk and epoch, between
GPUs, with the switches behind. Its alltoalls are fractions of data, not chunks, and are refused.
"""

import json
import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, cast

from treecast.errors import FormatError, shorten
from treecast.files.formats.header import is_whole, text_of
from treecast.files.formats.judging import judge_listed
from treecast.files.formats.operations import LONGEST, MOST_RANKS, NO_PORT, Listed, Reading
from treecast.files.formats.registry import Told, begins_like, judged
from treecast.files.programs.program import RECEIVE, SEND
from treecast.files.programs.verdict import FileVerdict, Finding
from treecast.schedule import Schedule

_HEAD = re.compile(rb"\s*NPUs Count,\s*\d")
_TACOS = {"NPUs Count": "N", "Links Count": "L", "Chunks Count": "C", "Chunk Size": "BYTES,B"}
_COLUMNS = "SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks"
_FLOW = re.compile(r"Chunk (\d+) from (\d+) traveled over (\d+)->(\d+) in epoch (\d+)( via switches [\d, >-]+)?")
_MOST_CHUNKS, _NEVER = 2**20, 10**LONGEST
_NOT_TOLD = "says its job: only --allow, and of TACOS --network, are told besides"


class _Sent(NamedTuple):
    """A chunk over a link: when it begins and has come, its ends, and the line or flow that says so."""

    begin: int
    end: int
    src: int
    dst: int
    chunk: int
    line: int


def _listed(form: str, sent: list[_Sent], header: dict[str, str], nodes: int) -> Listed:
    """Return the sends and receives of a result. Steps are the epochs of TE-CCL; of TACOS a link carries a chunk a step.

    Chunk c of node v, of M each, is ``v * M + c`` already.
    """
    reading, each = Reading(form, "flow" if form == "teccl" else "line"), int(header["messages"])
    reading.ranks = nodes
    for word, value in header.items():
        reading.comment(f"treecast {word} {value}", 0)
    came = dict[tuple[int, int], tuple[int, int, int]]()  # of a node and chunk: when, in which step, by which receive
    link = dict[tuple[int, int], tuple[int, int]]()  # of a link: when it is free, and its last step
    for one in sorted(sent, key=lambda one: (one.begin, one.end)):
        brought = came.get((one.src, one.chunk))
        if brought is not None and brought[0] > one.begin:
            brought = None
        free, last = link.get((one.src, one.dst), (0, -1))
        # what begins before its link is free gets the step of the one before: so it is judged
        step = one.begin if form == "teccl" else max(last + (one.begin >= free), brought[1] + 1 if brought else 0, 0)
        reading.comment(f"step {step} port {NO_PORT} tree -1 chunks {one.chunk}", one.line)
        send = reading.add((one.src, SEND, one.dst, one.chunk, 1), one.line)
        receive = reading.add((one.dst, RECEIVE, one.src, one.chunk, 1), one.line)
        if brought is not None:
            reading.wait(send, brought[2])
        link[one.src, one.dst] = max(free, one.end), max(step, last)
        # the earliest counts
        if one.end < came.get((one.dst, one.chunk), (one.end + 1,))[0] and one.chunk // each != one.dst:
            came[one.dst, one.chunk] = one.end, step, receive
    return reading.listed(eager=True)


def _called(verdict: FileVerdict, name: Callable[[int], str]) -> FileVerdict:
    """Return a verdict whose findings call each chunk by its name in the file."""

    def called(finding: Finding) -> Finding:
        return replace(
            finding, text=re.sub(r"\bchunk ([0-9]+)\b", lambda found: f"chunk {name(int(found[1]))}", finding.text)
        )

    return replace(verdict, findings=tuple(map(called, verdict.findings)))


# -- TACOS --------------------------------------------------------------------------------------------------------------


@judged("tacos", like="goal", recognises=begins_like(_HEAD))
def judge_tacos(data: bytes, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on a result of TACOS, and a function that makes its schedule."""
    if told != Told(network=told.network, allow=told.allow):
        raise FormatError(f"a result of TACOS {_NOT_TOLD}")
    said, links, sent = _read_tacos(text_of(data, "result of TACOS"))
    nodes, chunks = said["NPUs Count"], said["Chunks Count"]
    if not 1 <= nodes <= MOST_RANKS or chunks % nodes or not nodes <= chunks <= _MOST_CHUNKS:
        raise FormatError(f"{chunks:,} chunks of {nodes:,} nodes are no allgather, of which each node has as many")
    each = chunks // nodes
    for one in sent:
        if one.chunk >= chunks:
            raise FormatError(f"line {one.line}: there is no chunk {one.chunk}: they are 0 to {chunks - 1}")
    if any(one.begin == _NEVER for one in sent):
        sent = _paced(sent, nodes)
    header = {"network": told.network or f"graph:{nodes}"}
    if told.network is None:
        arcs = [f"{u}-{v}" if (v, u) in links else f"{u}>{v}" for u, v in sorted(links) if (v, u) not in links or u < v]
        header |= {"nodes": " ".join(map(str, range(nodes))), "links": " ".join(arcs)}
    header |= {"collective": "allgather", "messages": str(each), "model": "all-port"}
    numbered = [one._replace(chunk=one.chunk % nodes * each + one.chunk // nodes) for one in sent]
    verdict, schedule_of = judge_listed(_listed("tacos", numbered, header, nodes), replace(told, network=None))
    return _called(verdict, lambda chunk: str(chunk % each * nodes + chunk // each)), schedule_of


def _read_tacos(text: str) -> tuple[dict[str, int], set[tuple[int, int]], list[_Sent]]:
    """Return the figures, the links, and what they carry. Raises FormatError with the line where it stops being a result."""
    said, links, sent, columns = dict[str, int](), set[tuple[int, int]](), list[_Sent](), 0
    for line, raw in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in raw.split(",")]
        if cells[0] == "SrcID":
            columns = line
        elif not columns and len(cells) > 1:
            said |= {cells[0]: _whole(cells[1], line)} if cells[0] in _TACOS else {}
        elif columns and cells != [""]:
            if len(cells) < 5:
                raise FormatError(f"line {line}: {shorten(raw)!r} is no link: it has the columns {_COLUMNS}")
            src, dst = (_whole(cell, line) for cell in cells[:2])
            links.add((src, dst))
            sent += _of_link(src, dst, [] if cells[4:] == ["None"] else cells[4:], line)
    missing = [word for word in _TACOS if word not in said and word != "Chunk Size"]
    if missing or not columns:
        raise FormatError(f"a result of TACOS has a line {missing[0] if missing else _COLUMNS!r}")
    return said, links, sent


def _of_link(src: int, dst: int, cells: list[str], line: int) -> Iterable[_Sent]:
    """Yield what a link carries: chunks in order, chunks and a time, or chunks, when they have come, and when they begin."""
    for cell in cells:
        chunk, *times = (_whole(part, line) for part in cell.split(":"))
        # a time alone does not say when it begins: then the order counts
        end, begin = times if len(times) == 2 else (_NEVER, _NEVER)
        if len(times) > 2 or (times[1:] and begin >= end):
            raise FormatError(f"line {line}: {shorten(cell)!r} is no CHUNK, CHUNK:TIME or CHUNK:END:BEGIN")
        yield _Sent(begin, end, src, dst, chunk, line)


def _paced(sent: list[_Sent], nodes: int) -> list[_Sent]:
    """Return sends without times: each goes as soon as its source has the chunk, and the chunks before it have gone.

    Where all that are left wait for something, one of them goes nevertheless.
    """
    queues = dict[tuple[int, int], deque[_Sent]]()
    for one in sent:
        queues.setdefault((one.src, one.dst), deque()).append(one)
    came, found, now = dict[tuple[int, int], int](), list[_Sent](), 0
    while queues:
        heads = [queue[0] for queue in queues.values()]
        ready = [one for one in heads if one.chunk % nodes == one.src or came.get((one.src, one.chunk), _NEVER) <= now]
        for one in ready or heads[:1]:  # else all would wait for ever
            found.append(one._replace(begin=now, end=now + 1))
            came.setdefault((one.dst, one.chunk), now + 1)
            queues[one.src, one.dst].popleft()
            if not queues[one.src, one.dst]:
                del queues[one.src, one.dst]
        now += 1
    return found


def _whole(text: str, line: int) -> int:
    if not is_whole(text, LONGEST):
        raise FormatError(f"line {line}: {shorten(text)!r} is no whole number")
    return int(text)


# -- TE-CCL -------------------------------------------------------------------------------------------------------------


@judged("teccl", like="goal", recognises=begins_like(re.compile(rb'\s*\{\s*"1-Epoch_Duration"')))
def judge_teccl(data: bytes, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on a result of TE-CCL, and a function that makes its schedule, of GPUs alone on a complete network."""
    # 1. The flows, each a text.
    if told != Told(allow=told.allow):
        raise FormatError(f"a result of TE-CCL {_NOT_TOLD}")
    try:
        found = json.loads(text_of(data, "result of TE-CCL"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"this result of TE-CCL is no JSON: {error}") from None
    flows = cast(dict[str, Any], found).get("7-Flows") if isinstance(found, dict) else None
    if not isinstance(flows, list):
        raise FormatError("a result of TE-CCL has a list 7-Flows")
    rows = list[tuple[int, ...]]()
    for place, flow in enumerate(cast(list[Any], flows)):
        match = _FLOW.fullmatch(flow) if isinstance(flow, str) else None
        if match is None or any(len(part) > 9 for part in match.groups()[:5]):
            raise FormatError(
                f"flow {place}: {shorten(str(flow)[:99])!r} is not 'Chunk C from S traveled over A->B in epoch E'; flows of "
                "fractions, as TE-CCL has them of alltoalls, are not judged"
            )
        rows.append((*map(int, match.groups()[:5]), place))
    if not rows:
        raise FormatError("this result of TE-CCL has no flow: 7-Flows is empty")
    # 2. Ranks are the GPUs that it names: switches are not among them.
    gpus = sorted({gpu for row in rows for gpu in row[1:4]})
    number, each = {gpu: k for k, gpu in enumerate(gpus)}, 1 + max((row[0] for row in rows), default=0)
    if not gpus or len(gpus) > MOST_RANKS or each * len(gpus) > _MOST_CHUNKS:
        raise FormatError(
            f"{len(gpus):,} GPUs of {each:,} chunks: from 1 GPU on, and {_MOST_CHUNKS:,} chunks can be judged"
        )
    # 3. Judge it as an allgather; what is wrong is said in its own names.
    sent = [
        _Sent(epoch, epoch + 1, number[a], number[b], number[source] * each + chunk, place)
        for chunk, source, a, b, epoch, place in rows
    ]
    header = {"network": f"complete:{len(gpus)}", "collective": "allgather", "messages": str(each), "model": "shouting"}
    verdict, schedule_of = judge_listed(_listed("teccl", sent, header, len(gpus)), told)
    verdict = _called(verdict, lambda chunk: f"{chunk % each} of GPU {gpus[chunk // each]}")
    if gpus != list(range(len(gpus))):
        verdict = replace(
            verdict, notes=(*verdict.notes, f"ranks are GPUs {gpus[0]} to {gpus[-1]} in order, without switches")
        )
    return verdict, schedule_of
