"""Who waits for whom, and whom all wait for in the end."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import networkx as nx

from treecast.records.job import Job, spell_ranks
from treecast.records.steps import find_strays
from treecast.records.verdict import Verdict

ROOTED = ("broadcast", "reduce", "gather", "scatter")


class Wait(NamedTuple):
    """Why a rank waits for another: ``reason``, and the call in which it does."""

    reason: str
    call: int


Waiting = dict[int, dict[int, Wait]]


class Waits:
    """For each rank of a job those it waits for. ``guessed``: pairs that rest on a guess at the members of a group."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.held = {rank: job.first_held(rank) for rank in job.dumps}
        self.guessed = set[tuple[int, int]]()
        self.of: Waiting = {rank: {} for rank in range(job.size)}
        self._stands = {rank: set(zip(*self._meeting(calls), strict=True)) for rank, calls in self.held.items()}
        self._missing = dict[tuple[int, int], dict[int, str]]()
        for rank, calls in self.held.items():
            if calls:
                for call, group, number in zip(calls, *self._meeting(calls), strict=True):
                    self._add(rank, call, self._who_lacks(group, number), "absent")
            elif len(mine := job.of(rank)):
                self._failed(rank, job.span(rank) + len(mine) - 1)
        self.behind = defaultdict[int, set[int]](set)
        for rank, others in self.of.items():
            for other in others:
                self.behind[other].add(rank)

    def _meeting(self, calls: list[int]) -> tuple[list[int], list[int]]:
        return self.job.meets[calls].tolist(), self.job.turns[calls].tolist()

    def _who_lacks(self, group: int, number: int) -> dict[int, str]:
        """Return members that keep a call of their group from its end: no record, did not make it, stand before it."""
        key, job = (group, number), self.job
        if key not in self._missing:
            found = self._missing[key] = dict[int, str]()
            rows = job.at(group, number)
            open_at = set(rows["rank"][~rows["ended"]].tolist())
            for other in job.groups[group].members if group >= 0 else ():
                if other not in job.dumps:
                    found[other] = "no record"
                elif job.is_cut(other, group):
                    continue
                elif job.end.get((other, group), (0, 0))[0] < number:
                    found[other] = "absent"
                elif other in open_at and key not in self._stands[other]:
                    found[other] = "held"
        return self._missing[key]

    def _add(self, rank: int, call: int, lack: dict[int, str], guess: str) -> None:
        """Add those whom a rank waits for. Where nobody lacks, somebody does who may be in the group."""
        job, group = self.job, self.job.groups[int(self.job.calls["group"][call])]
        for other, reason in lack.items():
            if other != rank:
                self.of[rank][other] = Wait(reason, call)
        if not self.of[rank] and not job.way[call]:
            may = [other for other in group.may if guess == "absent" or other not in job.dumps]
            self.of[rank] = {other: Wait(guess, call) for other in may}
            self.guessed |= {(rank, other) for other in may if len(may) > 1}

    def _failed(self, rank: int, call: int) -> None:
        """Add those for whom a rank waited in its last call, which failed: it cannot have ended if a member never made it."""
        if not self.job.calls["completed"][call] and not self.job.way[call]:
            (group,), (number,) = self._meeting([call])
            lack = {other: "failed" for other, reason in self._who_lacks(group, number).items() if reason != "held"}
            self._add(rank, call, lack, "failed")

    # -- whom all wait for ----------------------------------------------------------------------------------------------
    def blame(self) -> list[Verdict]:
        """Return verdicts on the ranks that others wait for and that wait for nobody, or for one another."""
        graph = nx.DiGraph((rank, other) for rank, others in self.of.items() for other in others)
        graph.add_nodes_from(range(self.job.size))
        found = list[tuple[Verdict, set[int]]]()
        for part in map(sorted, nx.attracting_components(graph)):
            waiting = self._who_wait(part)
            if waiting or any(self.held.get(rank) for rank in part):
                chain = self._chain(part)
                found.append((self._circle(part, chain) if len(part) > 1 else self._root(part[0], chain), waiting))
        return sorted(_join(found), key=lambda verdict: -verdict.waiting)

    def _who_wait(self, part: Iterable[int]) -> set[int]:
        seen, todo = set(part), list(part)
        while todo:
            fresh = self.behind[todo.pop()] - seen
            seen |= fresh
            todo += fresh
        return seen.difference(part)

    def _chain(self, part: list[int]) -> tuple[int, ...]:
        """Return a longest of the shortest ways in which ranks wait for these; it ends with one of them."""
        after, level, last = dict[int, int](), list(part), part[0]
        while level:
            last, before, level = level[0], level, list[int]()
            for rank, other in ((one, each) for one in before for each in sorted(self.behind[one])):
                if other not in after and other not in part:
                    after[other] = rank
                    level.append(other)
        way = [last]
        while way[-1] in after:
            way.append(after[way[-1]])
        return tuple(way)

    def _root(self, rank: int, chain: tuple[int, ...]) -> Verdict:
        """Return the verdict on a rank that waits for nobody."""
        job = self.job
        if rank not in job.dumps:
            calls = [self.of[other][rank].call for other in self.behind[rank]]
            since = min((int(job.calls["begun"][call]) for call in calls), default=0)
            text = f"{rank} left no record: it died, froze, or its file is not here"
            return Verdict("ended", (rank,), text, True, 0, chain, since=since)
        if not self.held[rank]:
            mine = job.of(rank)
            last = job.span(rank) + len(mine) - 1
            said = f"its last, {job.spell(last)}{job.line(last)}, is over" if len(mine) else "it made none"
            where = f"; it is in {job.dumps[rank].stack}" if job.dumps[rank].stack else ""
            return Verdict(
                "absent", (rank,), f"{rank} stands outside all recorded calls: {said}{where}", True, 0, chain
            )
        call = self.held[rank][0]
        row, said = job.calls[call], f"{job.spell(call)}{job.line(call)}"
        group, number = int(row["group"]), int(row["number"])
        members = job.groups[group].members
        if job.way[call]:
            return Verdict(
                "stalled", (rank,), f"both sides of {said} are there, and it does not end", True, 0, chain, since=call
            )
        open_at = set((rows := job.at(group, number))["rank"][~rows["ended"]].tolist())
        ended = [q for q in members if q != rank and q not in open_at and job.end.get((q, group), (0, 0))[1] >= number]
        if ended and len(open_at) > 1 and job.signatures[job.kinds["like"][row["kind"]]].kind in ROOTED:
            text = f"some ended {said} and some do not: their roots may differ, which is not recorded"
            return Verdict("stalled", (rank,), text, True, 0, chain, since=call)
        if ended:
            text = f"{rank} does not end {said}, which {len(ended)} of {len(members) - 1} others ended"
            return Verdict("stuck", (rank,), text, True, 0, chain)
        if cut := [q for q in members if q in job.dumps and job.is_cut(q, group)]:
            text = (
                f"{said}, does not end, and the records of {spell_ranks(cut)} are too short to say whether they made it"
            )
            return Verdict("cannot", (), text, True, 0, chain)
        text = f"all are there in {said}, alike as far as recorded, and it does not end"
        return Verdict("stalled", (rank,), text, True, 0, chain, since=call)

    def _circle(self, part: list[int], chain: tuple[int, ...]) -> Verdict:
        """Return the verdict on ranks that wait for one another."""
        job, all_of_it = self.job, part
        firm = [q for q in part if any((r, q) not in self.guessed for r in self.behind[q])]
        part = firm or part
        at = {rank: self._stand(rank) for rank in job.dumps if self.held[rank]}
        count = {where: list(at.values()).count(where) for where in set(at.values())}
        mine = {rank: at[rank] for rank in part if rank in at}
        few = min((count[where] for where in mine.values()), default=0)
        odd = [rank for rank in mine if count[mine[rank]] == few]
        ring = self._ring(all_of_it)
        pairs = [(a, b) for a, b in zip(ring, [*ring[1:], *ring[:1]], strict=True) if b in self.of[a]]
        lines = tuple(f"{a} waits for {b} in {job.spell(c := self.of[a][b].call)}{job.line(c)}" for a, b in pairs)
        text = f"{spell_ranks(all_of_it)} wait for one another"
        if strays := {rank: stray for rank, stray in find_strays(job).items() if rank in part}:
            rank = min(strays, key=lambda rank: int(job.calls["begun"][strays[rank][0]]))
            made, theirs = strays[rank]
            odd, text = (
                [rank],
                f"{rank} left the order of its like: it made {job.spell(made)}{job.line(made)}, they {job.spell(theirs)}",
            )
            text += f"; so {spell_ranks(all_of_it)} wait for one another"
        named = odd if odd and len(odd) < len(mine) else part
        return Verdict("crossed", tuple(named), text, len(named) < len(part), 0, chain, lines)

    def _stand(self, rank: int) -> tuple[tuple[int, int], ...]:
        first = self.job.calls[self.held[rank]]
        return tuple(sorted(set(zip(first["group"].tolist(), first["number"].tolist(), strict=True))))

    def _ring(self, part: list[int]) -> list[int]:
        way, rank = list[int](), part[0] if part else None
        while rank is not None and rank not in way:
            way.append(rank)
            rank = next((other for other in sorted(self.of[rank]) if other in part), None)
        return way[way.index(rank) :] if rank is not None else way


def _join(found: list[tuple[Verdict, set[int]]]) -> list[Verdict]:
    """Return one verdict for those of a kind; ranks that stand together in one call are one finding."""
    parts = defaultdict[object, list[tuple[Verdict, set[int]]]](list)
    for verdict, waiting in found:
        key = {"stalled": ("stalled", verdict.text.partition(" of ")[0]), "ended": ("ended", verdict.ranks)}
        parts[key.get(verdict.kind, (verdict.kind, verdict.ranks if verdict.kind == "crossed" else ()))].append(
            (verdict, waiting)
        )
    joined = list[Verdict]()
    for some in parts.values():
        some.sort(key=lambda pair: -len(pair[1]))
        first = some[0][0]
        ranks = tuple(sorted({rank for verdict, _ in some for rank in verdict.ranks}))
        waiting = set[int]().union(*(waiting for _, waiting in some)).difference(ranks)
        lines = (
            first.lines if first.kind == "stalled" else tuple(v.text for v, _ in some) if len(some) > 1 else first.lines
        )
        joined.append(
            Verdict(first.kind, ranks, first.text, first.sure, len(waiting), first.chain, lines, since=first.since)
        )
    return joined
