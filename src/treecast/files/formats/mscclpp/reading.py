"""A plan of MSCCL++ read from JSON: rule ``shape``. Every number that names something is checked before it is used."""

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from treecast.errors import FormatError, did_you_mean
from treecast.files.formats.header import one_line
from treecast.files.formats.mscclpp.plan import (
    BUFFERS,
    FORMS,
    PORT_SIGNALS,
    PUTS,
    SIGNALS,
    WAITS,
    End,
    Gpu,
    GpuOp,
    Piece,
    Plan,
    Where,
    note,
)
from treecast.files.programs.verdict import Findings
from treecast.verification.file_rules import rule

MOST_OPS, MOST_CHANNELS, MOST_AT_ONCE, MOST_PLACES, MOST_SHARED = 64, 16, 8, 10, 16
_LARGEST, _MOST_BYTES, _MOST_DEEP, _MOST_GPUS = 2**31 - 1, 2**26, 64, 4096
_Object = dict[str, Any]
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LINKED = ("memory", "port")
_ON_CHANNELS = (*SIGNALS, *WAITS, "flush")
_SEMAPHORES = ("sem_acquire", "sem_release")


class WrongError(Exception):
    """A part of a plan cannot be read."""


@contextmanager
def _noting(found: Findings, where: Where) -> Generator[None]:
    """Note an error of reading at a place, and go on behind it."""
    try:
        yield
    except WrongError as error:
        note(found, "shape", where, str(error))


@rule("shape", of=("mscclpp",))
def read_plan(data: bytes, found: Findings) -> Plan | None:
    """Return the plan, or None where its shape is wrong; judge ``shape``. Raises FormatError for no JSON, or past a limit."""
    plan, tables = _parse(data), list[_Table]()
    with _noting(found, ()):
        listed = _items(plan, "gpus")
        if not 1 <= len(listed) <= _MOST_GPUS:
            raise WrongError(f"gpus has {len(listed):,} entries: it has 1 to {_MOST_GPUS:,}")
        collective, name = (one_line(_word(plan, key)) for key in ("collective", "name"))
        protocol = _word(plan, "protocol", ("Simple", "LL"))
        flags = [_flag(plan, key) for key in ("inplace", "reuse_resources")]
        for g, gpu in enumerate(listed):
            try:
                tables.append(_Table(gpu, g, len(listed)))
            except WrongError as error:
                raise WrongError(f"gpus[{g}]: {error}") from None
        gpus = tuple(_read_gpu(gpu, g, tables[g], found) for g, gpu in enumerate(listed))
        if found.judged("shape"):  # pairs of channels need all tables
            return Plan(name[:80], collective, flags[0], flags[1], protocol == "LL", gpus, _pair(tables))
    return None


def _parse(data: bytes) -> _Object:
    if len(data) > _MOST_BYTES:
        raise FormatError(f"an MSCCL++ plan of {len(data):,} bytes is too large to judge: {_MOST_BYTES:,} at most")
    bare = np.frombuffer(_TEXT.sub(b"", data), np.uint8)  # brackets within texts are no nesting
    # +1 for each that opens, -1 for each that closes
    signs = np.isin(bare, list(b"[{")).astype(np.int64) - np.isin(bare, list(b"]}"))
    if np.cumsum(signs).max(initial=0) > _MOST_DEEP:
        raise FormatError(f"this JSON is nested more than {_MOST_DEEP} deep: no MSCCL++ plan is")
    try:
        found = json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"this MSCCL++ plan is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise FormatError("an MSCCL++ plan is a JSON object with gpus")
    return cast(_Object, found)


def _once(pairs: list[tuple[str, Any]]) -> _Object:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _items(held: Any, key: str) -> list[Any]:
    found = _object(held, key).get(key, [])
    if not isinstance(found, list):
        raise WrongError(f"{key} is no list")
    return cast(list[Any], found)


def _object(held: Any, name: str) -> _Object:
    if not isinstance(held, dict):
        raise WrongError(f"{name} is no object, or stands in none")
    return cast(_Object, held)


def _objects(held: Any, key: str) -> list[_Object]:
    return [_object(one, f"an entry of {key}") for one in _items(held, key)]


def _number(value: Any, name: str, most: int = _LARGEST, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= most:  # True is an int to Python
        # a huge number is not written out
        said = f"{value:,}" if type(value) is int and abs(value) < 10**18 else "no such number"
        raise WrongError(f"{name} is {said}: it is {least} to {most:,}" if most >= least else f"{name}: there is none")
    return value


def _numbers(held: Any, key: str, below: int, most: int) -> list[int]:
    """Return a list of positions in a list that has so many entries."""
    found = _items(held, key)
    if len(found) > most:
        raise WrongError(f"{key} has {len(found)} entries: {most} at most")
    return [_number(one, f"an entry of {key}", below - 1) for one in found]


def _word(held: _Object, key: str, known: tuple[str, ...] = ()) -> str:
    found = held.get(key)
    if not isinstance(found, str) or (known and found not in known):
        raise WrongError(f"{key} is not {' or '.join(known)}" if known else f"{key} is missing, or no text")
    return found


def _flag(held: _Object, key: str) -> bool:
    found = held.get(key, False)
    if not isinstance(found, bool):
        raise WrongError(f"{key} is neither true nor false")
    return found


class _Table:
    """The tables of a GPU: the peer of each channel, the groups of its switches, remote buffers, semaphores."""

    def __init__(self, gpu: Any, g: int, count: int) -> None:
        if _object(gpu, "an entry of gpus").get("id") != g:  # files refer to each other by position
            raise WrongError(f"its id is not {g}: ids are positions")
        self.peers: dict[str, list[int]] = {kind: [] for kind in _LINKED}
        self.groups = list[tuple[tuple[int, str], ...]]()
        for channel in _objects(gpu, "channels"):
            kind = _word(channel, "channel_type", (*_LINKED, "switch"))
            if kind in _LINKED:
                self.peers[kind] += _numbers(channel, "connected_to", count, 2**20)
                continue
            buffer = _word(channel, "buffer_type", tuple(BUFFERS))
            for group in _objects(channel, "rank_groups"):
                ranks = _numbers(group, "ranks", count, count)
                # a group has its own GPU in it
                if _number(group.get("size"), "size") != len(ranks) or len(set(ranks)) < len(ranks) or g not in ranks:
                    raise WrongError(f"a group of a switch has not {group.get('size')} different ranks, {g} among them")
                self.groups.append(tuple((rank, buffer) for rank in ranks))
        if any(g in peers for peers in self.peers.values()):
            raise WrongError("a channel leads to the gpu itself")
        self.remote = list[tuple[int, str, list[Any]]]()
        for buffer in _objects(gpu, "remote_buffers"):
            rank = _number(buffer.get("rank"), "rank of a remote buffer", count - 1)
            self.remote.append((rank, _word(buffer, "type", tuple(BUFFERS)), _items(buffer, "access_channel_types")))
        self.semaphores = [_number(one.get("init_value"), "init_value") for one in _objects(gpu, "semaphores")]
        self.chunks = [_number(gpu.get(f"{name}_chunks"), f"{name}_chunks") for name in ("input", "output", "scratch")]


def _pair(tables: list[_Table]) -> dict[End, End]:
    """Return the other end of each channel: the k-th of a type to a GPU is joined with its k-th back."""
    numbered = dict[tuple[int, str, int], list[int]]()
    for g, table in enumerate(tables):
        for kind, peers in table.peers.items():
            for number, peer in enumerate(peers):
                numbered.setdefault((g, kind, peer), []).append(number)
    return {
        # what has no partner is left out, and found when it is used
        (g, kind, one): (peer, kind, other)
        for (g, kind, peer), own in numbered.items()
        for one, other in zip(own, numbered.get((peer, kind, g), ()), strict=False)
    }


def _read_gpu(gpu: _Object, g: int, table: _Table, found: Findings) -> Gpu:
    blocks = list[tuple[GpuOp, ...]]()
    with _noting(found, (g,)):
        blocks += [_read_block(block, (g, t), table, found) for t, block in enumerate(_objects(gpu, "threadblocks"))]
    return Gpu((table.chunks[0], table.chunks[1], table.chunks[2]), tuple(table.semaphores), tuple(blocks))


def _read_block(block: _Object, where: Where, table: _Table, found: Findings) -> tuple[GpuOp, ...]:
    ops = list[GpuOp]()
    with _noting(found, where):
        if block.get("id") != where[1]:
            raise WrongError(f"its id is not {where[1]}: ids are positions")
        reader = _Ops(block, where[0], table)
        listed = _objects(block, "ops")
        count = sum(1 + len(_items(op, "ops")) for op in listed)  # a pipeline counts with all that is in it
        if count > MOST_OPS:
            raise WrongError(f"{count} operations: {MOST_OPS} at most, a pipeline and those in it included")
        for k, op in enumerate(listed):
            with _noting(found, (*where, k)):
                ops.append(reader.read(op, (*where, k)))
    return tuple(ops)


class _Ops:
    """Reads the operations of a threadblock."""

    def __init__(self, block: _Object, g: int, table: _Table) -> None:
        self.g, self.table = g, table
        self.channels = dict[str, list[int]]()
        self.remote = dict[str, list[int]]()
        for held in _objects(block, "channels"):
            kind = _word(held, "channel_type", (*_LINKED, "switch"))
            there = len(table.groups) if kind == "switch" else len(table.peers[kind])
            self.channels[kind] = _numbers(held, "channel_ids", there, MOST_CHANNELS)
        for held in _objects(block, "remote_buffer_refs"):
            kind = _word(held, "access_channel_type", _LINKED)
            ids = self.remote[kind] = _numbers(held, "remote_buffer_ids", len(table.remote), _LARGEST)
            if any(kind not in table.remote[one][2] for one in ids):  # as the buffer itself allows
                raise WrongError(f"a remote buffer gives no access by {kind}")

    def read(self, op: _Object, where: Where) -> GpuOp:
        """Return an operation. Raises WrongError."""
        name = _word(op, "name")
        if name == "nop":
            return GpuOp(name, where)
        if name == "barrier":
            barrier = _number(op.get("barrier_id"), "barrier_id", MOST_SHARED - 1)
            return GpuOp(name, where, barrier=barrier, blocks=_number(op.get("num_threadblocks"), "num_threadblocks"))
        if name in _SEMAPHORES:
            ids = _numbers(op, "semaphore_ids", len(self.table.semaphores), MOST_SHARED)
            return GpuOp(name, where, semaphores=tuple((self.g, one) for one in ids))
        if name in _ON_CHANNELS:
            by = _word(op, "channel_type", _LINKED)
            return GpuOp(name, where, by, self._ends(op, by))
        if name == "pipeline" and len(where) == 3:  # pipelines do not stand in pipelines
            return self._pipeline(op, where)
        if name not in FORMS:
            meant = did_you_mean(name[:40], (*FORMS, *_ON_CHANNELS, *_SEMAPHORES, "nop", "barrier", "pipeline"))
            raise WrongError(f"the loader knows no operation {name[:40]!r} here{meant}")
        return self._move(op, name, where)

    def _pipeline(self, op: _Object, where: Where) -> GpuOp:
        held = _object(op.get("iter_context"), "iter_context")
        unit = _number(held.get("unit_size"), "unit_size", least=1)
        chunks = _number(held.get("num_chunks"), "num_chunks", least=1)
        inner = tuple(self.read(one, (*where, k)) for k, one in enumerate(_objects(op, "ops")))
        if any(one.part != (0, 1) for one in inner):
            raise WrongError("tbg_info stands within a pipeline: the parts would run past their ends")
        return GpuOp("pipeline", where, chunks=chunks, unit=unit, inner=inner)

    def _ends(self, op: _Object, by: str) -> tuple[End, ...]:
        own = self.channels.get(by, [])
        return tuple((self.g, by, own[k]) for k in _numbers(op, "channel_ids", len(own), MOST_AT_ONCE))

    def _move(self, op: _Object, name: str, where: Where) -> GpuOp:
        by = op.get("channel_type", "")
        if by not in ("", *_LINKED, "switch"):
            raise WrongError("channel_type is none of memory, port, switch")
        ends = self._ends(op, by) if by in _LINKED else ()
        if by != "port" or name not in PUTS:
            ends = ()  # all threads do it, and no channel has a part in it
        group = _object(op.get("tbg_info", {"tb_id": 0, "tbg_size": 1}), "tbg_info")
        parts = _number(group.get("tbg_size"), "tbg_size", least=1)
        part = _number(group.get("tb_id"), "tb_id", parts - 1), parts
        adds = _word({"reduce_op": "sum", **op}, "reduce_op", ("sum", "max", "min"))
        found = GpuOp(name, where, by, ends, part=part, adds=adds)
        # ``by`` decides the form of ppkt, so the operation comes first
        form = found.form or FORMS[name]
        sources = self._pieces(op, "src_buff", form.sources, form.more[0], by)
        targets = self._pieces(op, "dst_buff", form.targets, form.more[1], by)
        if form.each and len(sources) != len(targets):
            raise WrongError(f"{len(sources)} places to read and {len(targets)} to write: as many are needed")
        if len({piece.size for piece in sources + targets}) > 1:
            raise WrongError("its places have different sizes")
        if form.each and name != "get" and len({piece.owners for piece in sources}) > 1:
            raise WrongError("it reads from different buffers: the executor reads all through the first")
        if by != "port" and name in PORT_SIGNALS:
            raise WrongError(f"{name} on no port sends no signal")
        if found.by_proxy:
            self._check_proxy(ends, targets)
        return GpuOp(name, where, by, ends, sources=sources, targets=targets, part=part, adds=adds)

    def _check_proxy(self, ends: tuple[End, ...], targets: tuple[Piece, ...]) -> None:
        if len(ends) != len(targets):
            raise WrongError(f"{len(ends)} channels for {len(targets)} places: a port needs one for each")
        for (_, by, number), piece in zip(ends, targets, strict=True):
            if self.table.peers[by][number] != piece.owners[0][0]:
                raise WrongError(f"its channel leads to gpu {self.table.peers[by][number]}, its buffer is elsewhere")

    def _pieces(self, op: _Object, key: str, letters: str, more: bool, by: str) -> tuple[Piece, ...]:
        listed = _objects(op, key)
        if len(listed) > MOST_PLACES or len(listed) < 1 or (len(listed) > len(letters) and not more):
            raise WrongError(f"{key} has {len(listed)} places")
        return tuple(self._piece(one, letters[min(k, len(letters) - 1)], by) for k, one in enumerate(listed))

    def _piece(self, held: _Object, letter: str, by: str) -> Piece:
        key = {"l": "type", "r": "buffer_id", "s": "switch_channel_id"}[letter.lower()]
        if key not in held:
            raise WrongError(f"a place has no {key}")
        if key == "type":
            owners = ((self.g, _word(held, key, tuple(BUFFERS))),)
        elif key == "buffer_id":
            own = self.remote.get(by, [])
            owners = (self.table.remote[own[_number(held[key], key, len(own) - 1)]][:2],)
        else:
            own = self.channels.get("switch", [])
            owners = self.table.groups[own[_number(held[key], key, len(own) - 1)]]
        if letter.isupper() and any(buffer != "s" for _, buffer in owners):  # packets have room in scratch only
            raise WrongError("packets stand outside scratch")
        size = _number(held.get("size"), "size", least=1)
        return Piece(owners, _number(held.get("index"), "index"), size, letter.isupper())
