"""Whether each rank is sure to have what it sends: what it waits for has brought it; and the schedule that a file is."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from treecast.errors import FormatError
from treecast.formats.messages import chunk_places
from treecast.formats.native.header import number, schedule_of
from treecast.formats.operations.comments import Carried, sizes_said
from treecast.formats.operations.program import RECEIVE, WORK, Program
from treecast.formats.operations.timing import Pairs
from treecast.networks import Network
from treecast.ragged import Ints
from treecast.schedule import Payloads, Rows, Schedule

_MOST_VISITS = 10_000_000


def schedule_said(program: Program, pairs: Pairs) -> Schedule | None:
    """Return the schedule that the comments of a file say, which is not verified; None where they say none.

    Raises FormatError when they say nothing of some send, or what is not there.
    """
    comments = program.comments
    if not comments.header and not comments.carried:
        return None
    header = dict(comments.header)
    size = header.pop("bytes", None)
    if not {"network", "collective"} <= set(header):
        raise FormatError("the comments of this file say what messages carry, and not of which network and collective")
    carried = sum(
        stop - first for several in comments.carried.values() for one in several for first, stop in one.ranges
    )
    if carried > _MOST_VISITS:
        raise FormatError(f"more than {_MOST_VISITS:,} chunks are moved: that is too many to judge one by one")
    silent = [send for send in pairs.send.tolist() if send not in comments.carried]
    if silent:
        raise FormatError(f"the comments of this file do not say what {program.spell(silent[0])} carries")

    def rows(network: Network) -> Rows:
        if network.nodes != program.ranks:
            raise FormatError(f"{network.spec} has {network.nodes:,} nodes, and the file {program.ranks:,} ranks")
        return _rows(program, pairs)

    schedule = schedule_of(header, rows)
    if schedule.orbit or schedule.sparing:
        raise FormatError("a file of single messages says neither orbit nor sparing")
    if size is not None:
        _check_sizes(program, pairs, chunk_places(schedule, number({"bytes": size}, "bytes", least=1)))
    return schedule


def _rows(program: Program, pairs: Pairs) -> Rows:
    """Return a row for each message that some comment says."""
    number = dict[tuple[tuple[int, int], ...], int]()
    columns: list[list[int]] = [[] for _ in range(6)]
    for send in pairs.send.tolist():
        src, dst = int(program.rank[send]), int(program.peer[send])
        for message in program.comments.carried[send]:
            payload = number.setdefault(message.ranges, len(number))
            row = (src, dst, payload, message.step, message.port, message.tree)
            for column, value in zip(columns, row, strict=True):
                column.append(value)
    names = ("src", "dst", "payload", "step", "port", "tree")
    arrays = {name: np.array(column, np.int64) for name, column in zip(names, columns, strict=True)}
    return Rows.of(Payloads.of([list(ranges) for ranges in number]), steps=np.ones_like(arrays["step"]), **arrays)


def _check_sizes(program: Program, pairs: Pairs, begins: Ints) -> None:
    """Raise FormatError when a message has not the bytes of its chunks."""
    for send in pairs.send.tolist():
        said, size = sizes_said(program.comments.carried[send], begins), int(program.size[send])
        if size != said and (size, said) != (1, 0):
            raise FormatError(f"{program.spell(send)} has {size:,} bytes, and its chunks {said:,}")


def find_early(program: Program, pairs: Pairs) -> Iterator[tuple[int, str]]:
    """Yield (send, why) for each whose said step is not behind all that it waits for. There are no circles.

    Where messages combine, one may go in the step of the send before it.
    """
    half = np.full(
        len(program), -1, np.int64
    )  # half steps: sends begin in the first half, receives end with the second
    for send, receive in zip(pairs.send.tolist(), pairs.receive.tolist(), strict=True):
        half[send] = 2 * min(message.step for message in program.comments.carried[send])
        half[receive] = half[send] + 1
    latest = _latest_before(program, half)
    for send in pairs.send.tolist():
        if latest[send] > half[send]:
            yield send, f"it goes at step {half[send] // 2}, and waits for a message of step {latest[send] // 2}"


def _latest_before(program: Program, half: Ints) -> list[int]:
    """Return the latest half step of a message that each operation waits for, also by way of work; -1 where there is none."""
    latest, steps = [-1] * len(program), half.tolist()
    waits = _waits_of(program)
    todo, known = list(waits), set[int]()
    while todo:
        one = todo[-1]
        unknown = [other for other in waits[one] if steps[other] < 0 and other in waits and other not in known]
        if one in known or not unknown:
            todo.pop()
            known.add(one)
            latest[one] = max(steps[b] if steps[b] >= 0 else latest[b] for b in waits[one])
        else:
            todo += unknown
    return latest


def _waits_of(program: Program) -> dict[int, list[int]]:
    """Return for each operation those whose ends it waits for."""
    waits = defaultdict[int, list[int]](list)
    for late, early, whole in program.waits.tolist():
        if whole:
            waits[late].append(early)
    return dict(waits)


class Holdings:
    """What has come to each rank by which receive, and what each send is sure to have."""

    def __init__(self, program: Program, pairs: Pairs, schedule: Schedule) -> None:
        self.program, self.pairs, self.part = program, pairs, schedule.part
        self.said: dict[int, tuple[Carried, ...]] = program.comments.carried
        self.waits, self.left = _waits_of(program), _MOST_VISITS
        self.brought = defaultdict[tuple[int, int], set[int]](set)
        for send, receive in zip(pairs.send.tolist(), pairs.receive.tolist(), strict=True):
            for chunk in self._chunks(send):
                self.brought[int(program.rank[receive]), chunk].add(receive)
        self.own = defaultdict[int, list[tuple[int, int]]](list)
        for node, first, stop in self.part.given():
            self.own[node].append((first, stop))
        self.place, self.covered = self._find_covered()

    def _find_covered(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return the place of each receive among those of its rank, and how many of the first of them some work waits for.

        It saves long walks where a rank waits for all that it has begun, again and again.
        """
        program = self.program
        receives = defaultdict[int, list[int]](list)
        for one in np.flatnonzero(program.word == RECEIVE).tolist():
            receives[int(program.rank[one])].append(one)
        place = {one: k for several in receives.values() for k, one in enumerate(several)}
        covered = dict[int, int]()
        for one in np.flatnonzero(program.word == WORK).tolist():
            awaited = self.waits.get(one, ())
            count, own, some = (
                max((covered.get(b, 0) for b in awaited), default=0),
                receives[int(program.rank[one])],
                set(awaited),
            )
            while count < len(own) and own[count] in some:
                count += 1
            covered[one] = count
        return place, covered

    def _chunks(self, send: int) -> Iterator[int]:
        for message in self.said[send]:
            for first, stop in message.ranges:
                yield from range(first, stop)

    def find_missing(self) -> Iterator[tuple[int, str]]:
        """Yield (send, why) for each that is not sure to have what it carries."""
        part = self.part
        for send in self.pairs.send.tolist():
            rank = int(self.program.rank[send])
            for chunk in self._chunks(send):
                at_owner = part.results and chunk >= part.sums and int(part.source_of(chunk)) == rank
                name = chunk - part.sums if at_owner else chunk
                sources = self.brought.get((rank, name), set())
                if name < part.sums:  # all that add to a sum are needed
                    missing = [one for one in sources if not self._comes_before(one, send)]
                    if missing:
                        yield (
                            send,
                            f"it does not wait for {self.program.spell(missing[0])}, which adds to chunk {chunk}",
                        )
                        break
                elif not any(a <= chunk < b for a, b in self.own[rank]) and not any(
                    self._comes_before(one, send) for one in sources
                ):
                    yield send, f"nothing that it waits for has brought chunk {chunk}"
                    break

    def _comes_before(self, receive: int, send: int) -> bool:
        """Return whether a receive has surely ended when a send of its rank begins: as its waits say, and theirs."""
        if receive in self.waits.get(send, ()):
            return True
        todo, seen = list(self.waits.get(send, ())), set[int]()
        if any(self.covered.get(one, 0) > self.place[receive] for one in todo):
            return True
        while todo:
            one = todo.pop()
            if one == receive:
                return True
            if one in seen or one < 0:
                continue
            seen.add(one)
            self.left -= 1
            if self.left < 0:
                raise FormatError(
                    "it cannot be told within bounds what has come before each send: too much waits for too much"
                )
            todo += self.waits.get(one, ())
        return False
