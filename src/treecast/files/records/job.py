"""The model of a job: the calls of each rank in each group, and how far each rank has come there."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from treecast.errors import FormatError
from treecast.files.records.dump import CALL, KIND, SEND, Calls, Dump, Signature, Tables
from treecast.ragged import Ints, turns

_MADE = np.dtype(
    [(name, np.int64) for name in ("number", "begun", "call")]
    + [(name, np.int32) for name in ("group", "rank", "like")]
    + [("ended", np.bool_), ("completed", np.bool_)]
)
"""What a rank made under one number of a group: one call, or several that go as one; ``call`` is the first, ``like`` the number
of the signature. Two ranks of which one sends to the other are a group as well, whose n-th send meets the n-th receive."""
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
    # in a run numbers differ from their places by the same
    runs = [[each for _, each in run] for _, run in groupby(enumerate(sorted(ranks)), lambda pair: pair[1] - pair[0])]
    parts = [part for run in runs for part in ([f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run))]
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")


class JobRecord:
    """The calls of all ranks, ``calls``. ``ranks``: how many there are, where that is known.

    ``groups``: those of the program, ``several``, then the pairs. ``kinds``: a row of ``KIND`` for each kind, ``way``: that
    of each call. ``meets`` and ``turns``: of each call the group in which it meets others, -1 where that is not known, and its
    number there. ``made``: what ranks made, sorted by group, number and rank; ``common``: the part in groups of the program.
    ``end``: of ranks and groups the last number begun and the last ended; nothing where a record is too short. ``is_over``: all
    processes have ended without a word. ``gone``: those that have, where others live.
    """

    def __init__(self, dumps: Sequence[Dump], tables: Tables, ranks: int | None = None) -> None:
        self.dumps = {dump.rank: dump for dump in dumps}
        self.signatures, self.places = list(tables.signatures), list(tables.places)
        self.kinds = np.array(list(tables.kinds) or [(0,) * 7], KIND)
        self.splits: list[tuple[tuple[int, ...], ...]] = list(tables.splits)
        self.vague = bool(dumps) and all(dump.vague for dump in dumps)
        gone = {dump.rank for dump in dumps if dump.gone}
        self.is_over = bool(dumps) and len(gone) == len(self.dumps)
        self.gone = set[int]() if self.is_over else gone  # a job that somebody has ended tells of none
        self.backend = next(iter(Counter(d.backend for d in dumps if d.backend).most_common(1)), ("?", 0))[0]
        # In this order: each stands on the one before.
        self._collect()
        self.way = self.kinds["way"].astype(np.int8)[self.calls["kind"]]
        self._name_members(ranks)
        self._pair()
        self._put_together()
        self._count_ends()

    # -- making ---------------------------------------------------------------------------------------------------------
    def _collect(self) -> None:
        """Give groups their numbers: a name with two lists of members is two groups."""
        self._lists, self._keys = dict[str, set[tuple[int, ...]]](), dict[tuple[str, tuple[int, ...]], int]()
        for dump in self.dumps.values():
            for name, members in dump.members.items():
                self._lists.setdefault(name, set()).add(members)
        self._words, self._seen = dict[int, str](), dict[int, set[int]]()
        self._span, at = dict[int, tuple[int, int]](), 0
        self.calls = np.zeros(sum(len(dump.calls) for dump in self.dumps.values()), CALL)
        for rank, dump in self.dumps.items():
            for name in dict.fromkeys([*dump.groups, *dump.status]):
                self._words.setdefault(self._key(dump, name), dump.words.get(name, ""))
            numbers = [self._key(dump, name) for name in dump.groups]
            for number in numbers:
                self._seen.setdefault(number, set()).add(rank)
            self._span[rank] = at, (at := at + len(dump.calls))
            mine = self.of(rank)
            mine[:] = dump.calls
            mine["rank"], mine["group"] = rank, np.array(numbers or [0], np.int32)[mine["group"]]

    def _key(self, dump: Dump, name: str) -> int:
        known = self._lists.get(name, set())
        members = dump.members.get(name, ()) if len(known) > 1 else next(iter(known), ())
        return self._keys.setdefault((name, members), len(self._keys))

    def _name_members(self, ranks: int | None) -> None:
        most = [max(self.dumps, default=0), *(max(members) for _, members in self._keys if members)]
        if ranks is not None and max(most) >= ranks:
            raise FormatError(
                f"--ranks {ranks}, but the records tell of ranks up to {max(most)}: write {max(most) + 1}, or more"
            )
        self.size = ranks or max(1 + max(most), *(dump.size for dump in self.dumps.values()), 1)
        whole = {rank for rank, dump in self.dumps.items() if dump.latest == self.size}
        several = any(len(self.dumps[rank].groups) > 1 for rank in whole)  # a further group has all ranks
        self._alone = set[int]() if several else whole
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
        return rank not in self._alone and all(
            own - 1 > sum(0 < k < other for k in local) for other, own in above.items()
        )

    def _pair(self) -> None:
        """Give each call the group in which it meets others. Where a record of two is cut, sends that ended do not count."""
        self.meets, self.turns = self.calls["group"].astype(np.int64), self.calls["number"].copy()
        self.several = len(self.groups)
        which = np.flatnonzero(self.way)
        if not len(which):
            return
        rows, kinds = self.calls[which], self.kinds[self.calls["kind"][which]]
        # Each pair of group and peer once: a row for each call would look up the same members again and again.
        peers, peer = np.unique(rows["group"].astype(np.int64) << 32 | kinds["peer"], return_inverse=True)
        known_to: list[list[int]] = np.stack([peers >> 32, peers & (1 << 32) - 1], 1).tolist()
        other = np.array([m[k] if k < len(m := self.groups[g].members) else -1 for g, k in known_to])[peer]
        cut = np.array([len(mine := self.of(rank)) > 0 and mine["record"][0] > 0 for rank in range(self.size)])
        known = (other >= 0) & (other != rows["rank"]) & ~(rows["ended"] & (cut[rows["rank"]] | cut[other]))
        source, sink = (np.where((kinds["way"] == SEND) == way, rows["rank"], other) for way in (True, False))
        pairs, pair = np.unique(np.stack([rows["group"], source, sink], 1)[known], axis=0, return_inverse=True)
        both: list[tuple[int, int, int]] = pairs.tolist()
        self.groups += [replace(self.groups[group], members=(one, other)) for group, one, other in both]
        self.meets[which] = -1
        self.meets[which[known]] = self.several + pair.ravel()
        self.turns[which] = turns(self.meets[which] * self.size + rows["rank"]) + 1

    def _put_together(self) -> None:
        order = np.flatnonzero(self.meets >= 0)
        # Group and number in one key: sorted, all that met lies side by side, by rank.
        key = self.meets << 40 | self.turns
        order = order[np.argsort(key[order], kind="stable")]
        key, calls = key[order], self.calls[order]
        starts = np.flatnonzero(np.diff(key, prepend=-1) | np.diff(calls["rank"], prepend=-1))
        self.made, self.order, stops = np.zeros(len(starts), _MADE), key[starts], np.append(starts[1:], len(key))
        if len(starts):
            self.made["group"], self.made["number"] = self.order >> 40, self.order & (1 << 40) - 1
            self.made["rank"], self.made["call"] = calls["rank"][starts], order[starts]
            self.made["like"] = self.kinds["like"][calls["kind"][starts]]
            for name, join in (("begun", np.minimum), ("ended", np.logical_and), ("completed", np.logical_or)):
                self.made[name] = join.reduceat(calls[name], starts)
        together, like = dict[tuple[int, ...], int](), self.kinds["like"][calls["kind"]]
        # Several calls under one number went as one (coalesced): they have one signature together.
        for row in np.flatnonzero(stops - starts > 1).tolist():
            likes: tuple[int, ...] = tuple(like[starts[row] : stops[row]].tolist())
            if likes not in together:
                together[likes] = len(self.signatures)
                self.signatures.append(Signature(" + ".join(str(self.signatures[like]) for like in likes), (), ()))
            self.made["like"][row] = together[likes]
        self.common = self.made[: np.searchsorted(self.order, self.several << 40)]

    def _count_ends(self) -> None:
        key = self.made["rank"] * np.int64(len(self.groups)) + self.made["group"]
        order = np.argsort(key, kind="stable")
        made, starts = self.made[order], np.flatnonzero(np.diff(key[order], prepend=-1))
        # a call that has not ended counts as 0, so the greatest is the last that ended
        numbers = np.stack([made["number"], made["number"] * made["ended"]])
        last: list[list[int]] = np.maximum.reduceat(numbers, starts, 1).tolist() if len(starts) else [[], []]
        keys = made[["rank", "group"]][starts].tolist()
        self.end: dict[tuple[int, int], tuple[int, int]] = dict(zip(keys, zip(*last, strict=True), strict=True))
        sends = self.calls[(self.way > 0) & ~self.calls["ended"]]
        mixed = set(zip(sends["rank"].tolist(), sends["group"].tolist(), strict=True))
        for rank, dump in self.dumps.items():
            for name, (begun, ended) in dump.status.items():
                if (pair := (rank, self._key(dump, name))) not in mixed:  # its numbers mix sends with calls of all
                    most, done = self.end.get(pair, (0, 0))
                    self.end[pair] = max(most, begun), max(done, 0 if dump.vague else ended)

    # -- asking ---------------------------------------------------------------------------------------------------------
    def of(self, rank: int) -> Calls:
        """Return the calls of a rank, in the order in which it made them."""
        return self.calls[slice(*self._span.get(rank, (0, 0)))]

    def ends_any(self, rank: int) -> bool:
        """Return whether the record of a rank has calls that ended, or none at all."""
        return bool(self.of(rank)["ended"].any()) or not len(self.of(rank))

    def span(self, rank: int) -> int:
        """Return the number of the first call of a rank."""
        return self._span[rank][0]

    def at(self, group: int, number: int) -> Calls:
        """Return what ranks made under a number of a group, in the order of ranks."""
        key = group << 40 | number
        return self.made[np.searchsorted(self.order, key) : np.searchsorted(self.order, key, "right")]

    def runs(self) -> tuple[Ints, Ints]:
        """Return where the rows of each call begin in ``common``, and how many there are: int64 both."""
        starts = np.flatnonzero(np.diff(self.order[: len(self.common)], prepend=-1))
        return starts, np.diff(starts, append=len(self.common))

    def made_by(self, rank: int, group: int, number: int) -> Any:
        """Return what a rank made under a number of a group, None where that is not recorded."""
        rows = self.at(group, number)
        place = int(np.searchsorted(rows["rank"], rank))
        return rows[place] if place < len(rows) and rows["rank"][place] == rank else None

    def first_held(self, rank: int) -> list[int]:
        """Return the first call of a rank that has not ended, with those made in one batch with it."""
        begin, stop = self._span[rank]
        held = begin + np.flatnonzero(~self.calls["ended"][begin:stop])
        mine, to_one = self.calls[held], self.way[held] > 0
        alike = (mine["group"] == mine["group"][:1]) & (mine["number"] == mine["number"][:1]) & (to_one == to_one[:1])
        return held[alike].tolist()

    def is_cut(self, rank: int, group: int) -> bool:
        """Return whether the record of a rank is too short to say how far it came in a group."""
        return group < self.several and (rank, group) not in self.end and self.dumps[rank].is_cut

    def signature(self, call: int) -> Signature:
        """Return the signature of a call."""
        return self.signatures[int(self.kinds["like"][self.calls["kind"][call]])]

    def spell(self, call: int) -> str:
        """Return a call in words: what it is, and which of its group."""
        row = self.calls[call]
        kind, group = self.kinds[row["kind"]], self.groups[int(row["group"])]
        what = str(self.signature(call))
        if kind["way"] and kind["peer"] < len(group.members):
            what += f" {'to' if kind['way'] == SEND else 'from'} rank {group.members[kind['peer']]}"
        return f"{what}, call {row['number']:,} of {group}"

    def line(self, call: int) -> str:
        """Return the line of the program that made a call, behind ``at``; "" where it is not recorded."""
        place = self.places[int(self.calls["place"][call])]
        return f" at {place}" if place else ""
