"""The model of a job: the calls of each rank in each group, and how far each rank has come there."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from treecast.ragged import Ints
from treecast.records.dump import CALL, Calls, Dump, Signature, Tables

_MADE = np.dtype(
    [(name, np.int64) for name in ("number", "begun", "sent", "received", "call")]
    + [(name, np.int32) for name in ("group", "rank", "kind")]
    + [("ended", np.bool_), ("completed", np.bool_)]
)
"""What a rank made under one number of a group: one call, or several that go as one; ``call`` is the first."""
_UNNAMED = ("", "undefined", "?", "None")


@dataclass(frozen=True)
class GroupOfRanks:
    """A group: its name, a title, and its ranks. ``may``: ranks that may be in it, where its members are not recorded."""

    name: str
    words: str
    members: tuple[int, ...]
    may: tuple[int, ...] = ()
    is_open: bool = False

    def __str__(self) -> str:
        if self.words in _UNNAMED:
            return f"group {self.name}"
        return self.words if self.words.startswith(("default", "group ")) else f"{self.words} {self.name}"


def spell_ranks(ranks: Iterable[int], most: int = 12) -> str:
    """Return ranks as people write them.

    >>> spell_ranks([0, 1, 2, 5, 8, 9])
    '0-2, 5, 8, 9'
    """
    runs = [[each for _, each in run] for _, run in groupby(enumerate(sorted(ranks)), lambda pair: pair[1] - pair[0])]
    parts = [part for run in runs for part in ([f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run))]
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")


class Job:
    """The calls of all ranks. ``ranks``: how many there are, where that is known."""

    def __init__(self, dumps: Sequence[Dump], tables: Tables, ranks: int | None = None) -> None:
        self.dumps = {dump.rank: dump for dump in dumps}
        self.signatures, self.places = tables.listed()
        self.signatures = list(self.signatures)
        self.vague = bool(dumps) and all(dump.vague for dump in dumps)
        self.backend = next(iter(Counter(d.backend for d in dumps if d.backend).most_common(1)), ("?", 0))[0]
        self._collect()
        self._name_members(ranks)
        self._count_ends()
        self._put_together()

    # -- making ---------------------------------------------------------------------------------------------------------
    def _collect(self) -> None:
        """Give groups their numbers: a name with two lists of members is two groups."""
        lists, keys = dict[str, set[tuple[int, ...]]](), dict[tuple[str, tuple[int, ...]], int]()
        for dump in self.dumps.values():
            for name, members in dump.members.items():
                lists.setdefault(name, set()).add(members)
        self._words, self._keys, self._seen = dict[int, str](), keys, dict[int, set[int]]()
        parts, self._span, at = list[Calls](), dict[int, tuple[int, int]](), 0
        for rank, dump in self.dumps.items():
            for name in dict.fromkeys([*dump.groups, *dump.status]):
                self._words.setdefault(self._key(dump, name, lists), dump.words.get(name, ""))
            part = dump.calls.copy()
            numbers = np.array([self._key(dump, name, lists) for name in dump.groups] or [0], np.int32)
            part["group"] = numbers[part["group"]]
            for number in numbers[: len(dump.groups)].tolist():
                self._seen.setdefault(number, set()).add(rank)
            parts.append(part)
            self._span[rank] = at, (at := at + len(part))
        self.calls = np.concatenate(parts) if parts else np.zeros(0, CALL)
        self._lists = lists

    def _key(self, dump: Dump, name: str, lists: dict[str, set[tuple[int, ...]]]) -> int:
        known = lists.get(name, set())
        members = dump.members.get(name, ()) if len(known) > 1 else next(iter(known), ())
        return self._keys.setdefault((name, members), len(self._keys))

    def _name_members(self, ranks: int | None) -> None:
        most = [max(self.dumps, default=0), *(max(members) for _, members in self._keys if members)]
        self.size = ranks or max(1 + max(most), *(dump.size for dump in self.dumps.values()), 1)
        self.groups = list[GroupOfRanks]()
        for (name, members), number in self._keys.items():
            words, seen, may, is_open = self._words[number], self._seen.get(number, set()), (), False
            if not members and (words in ("default_pg", "default") or name == "0"):
                members = tuple(range(self.size))
            elif not members:
                members, is_open = tuple(sorted(seen)), True
                may = tuple(rank for rank in range(self.size) if rank not in seen and self._may_be_in(rank, name))
            self.groups.append(GroupOfRanks(name, words, members, may, is_open))

    def _may_be_in(self, rank: int, name: str) -> bool:
        """Return whether a rank that called nothing in a group may be in it: its own numbers of groups leave a place."""
        if (dump := self.dumps.get(rank)) is None:
            return True
        local = {int(other): own for other, own in dump.local.items() if other.isdigit()}
        above = {other: own for other, own in local.items() if name.isdigit() and other > int(name)}
        return not dump.alone and all(own - 1 > sum(0 < k < other for k in local) for other, own in above.items())

    def _count_ends(self) -> None:
        """Note for ranks and groups the last number begun and the last ended; where a record is too short, nothing."""
        self.end = dict[tuple[int, int], tuple[int, int]]()
        for rank, dump in self.dumps.items():
            mine = self.of(rank)
            together = mine[mine["way"] == 0]
            for group in np.unique(together["group"]).tolist():
                calls = together[together["group"] == group]
                ended = calls["number"][calls["ended"]]
                self.end[rank, group] = int(calls["number"].max()), int(ended.max(initial=0))
            open_sends = set(mine["group"][(mine["way"] > 0) & ~mine["ended"]].tolist())
            for name, (begun, ended) in dump.status.items():
                group = self._key(dump, name, self._lists)
                if group not in open_sends:  # its numbers mix sends with calls of all
                    last, done = self.end.get((rank, group), (0, 0))
                    self.end[rank, group] = max(last, begun), max(done, 0 if dump.vague else ended)

    def _put_together(self) -> None:
        """Make a table of what each rank made under each number, sorted by group, number and rank."""
        which = np.flatnonzero(self.calls["way"] == 0)
        calls = self.calls[which]
        order = np.lexsort((calls["record"], calls["rank"], calls["number"], calls["group"]))
        calls, which = calls[order], which[order]
        same = np.ones(len(calls), np.bool_)
        for name in ("group", "number", "rank"):
            same[1:] &= calls[name][1:] == calls[name][:-1]
        same[:1] = False
        starts = np.flatnonzero(~same)
        self.made = np.zeros(len(starts), _MADE)
        if not len(starts):
            self.order = np.zeros(0, np.int64)
            return
        for name in ("group", "number", "rank", "kind"):
            self.made[name] = calls[name][starts]
        self.made["call"] = which[starts]
        for name, reduce in (("begun", np.minimum), ("sent", np.add), ("received", np.add), ("ended", np.logical_and)):
            self.made[name] = reduce.reduceat(calls[name], starts)
        self.made["completed"] = np.logical_or.reduceat(calls["completed"], starts)
        stops, several = np.append(starts[1:], len(calls)), dict[tuple[int, ...], int]()
        for row in np.flatnonzero(stops - starts > 1).tolist():
            kinds = tuple(int(kind) for kind in calls["kind"][starts[row] : stops[row]])
            if kinds not in several:
                several[kinds] = len(self.signatures)
                self.signatures.append(Signature(" + ".join(str(self.signatures[k]) for k in kinds), (), ()))
            self.made["kind"][row] = several[kinds]
        self.order = self.made["group"].astype(np.int64) * (1 << 40) + self.made["number"]

    # -- asking ---------------------------------------------------------------------------------------------------------
    def of(self, rank: int) -> Calls:
        """Return the calls of a rank, in the order in which it made them."""
        return self.calls[slice(*self._span.get(rank, (0, 0)))]

    def span(self, rank: int) -> int:
        """Return the number of the first call of a rank."""
        return self._span[rank][0]

    def at(self, group: int, number: int) -> Calls:
        """Return what ranks made under a number of a group, in the order of ranks."""
        key = group * (1 << 40) + number
        return self.made[np.searchsorted(self.order, key) : np.searchsorted(self.order, key, "right")]

    def runs(self) -> tuple[Ints, Ints]:
        """Return where the rows of each call begin in ``made``, and how many there are: int64 both."""
        starts = np.flatnonzero(np.diff(self.order, prepend=self.order[0] - 1))
        return starts, np.diff(np.append(starts, len(self.made)))

    def kind_at(self, rank: int, group: int, number: int) -> int:
        """Return the signature of what a rank made under a number of a group, -1 where that is not recorded."""
        rows = self.at(group, number)
        place = int(np.searchsorted(rows["rank"], rank))
        return int(rows["kind"][place]) if place < len(rows) and rows["rank"][place] == rank else -1

    def first_held(self, rank: int) -> list[int]:
        """Return the first call of a rank that has not ended, with those made in one batch with it."""
        begin, stop = self._span[rank]
        held = begin + np.flatnonzero(~self.calls["ended"][begin:stop])
        if not len(held):
            return []
        mine, first = self.calls[held], self.calls[held[0]]
        alike = (mine["group"] == first["group"]) & (mine["number"] == first["number"])
        chosen: Ints = held[alike & ((mine["way"] > 0) == (first["way"] > 0))]
        return chosen.tolist()

    def is_cut(self, rank: int, group: int) -> bool:
        """Return whether the record of a rank is too short to say how far it came in a group."""
        return (rank, group) not in self.end and self.dumps[rank].is_cut

    def spell(self, call: int) -> str:
        """Return a call in words: what it is, and which of its group."""
        row = self.calls[call]
        group = self.groups[int(row["group"])]
        what = str(self.signatures[int(row["kind"])])
        if row["way"] and row["peer"] < len(group.members):
            what += f" {'to' if row['way'] == 1 else 'from'} rank {group.members[row['peer']]}"
        return f"{what}, call {row['number']:,} of {group}"

    def line(self, call: int) -> str:
        """Return the line of the program that made a call, behind ``at``; "" where it is not recorded."""
        place = self.places[int(self.calls["place"][call])]
        return f" at {place}" if place else ""
