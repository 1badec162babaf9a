"""Who waits for whom, and whom all wait for in the end."""

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any, NamedTuple, cast

import networkx as nx

from treecast.files.records.job import JobRecord, spell_ranks
from treecast.files.records.steps import find_strays
from treecast.files.records.verdict import Verdict

ROOTED = ("broadcast", "reduce", "gather", "scatter")


class Wait(NamedTuple):
    """Why a rank waits for another: ``reason``, and the call in which it does."""

    reason: str
    call: int


Waiting = dict[int, dict[int, Wait]]


class Waits:
    """For each rank of a job those it waits for. ``guessed``: pairs that rest on a guess at the members of a group."""

    def __init__(self, job: JobRecord) -> None:
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
        self.graph = nx.DiGraph((rank, other) for rank, others in self.of.items() for other in sorted(others))
        self.graph.add_nodes_from(self.of)

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
                # In this order: no record; a record too short to tell; it did not make the call; it made it, and
                # stands in an earlier one.
                if other not in job.dumps:
                    found[other] = "no record"
                elif job.is_cut(other, group):
                    continue
                elif job.end.get((other, group), (0, 0))[0] < number:
                    found[other] = "absent"
                elif other in open_at and key not in self._stands[other]:
                    found[other] = "held"
            # All are there, but some process ended inside of it.
            if not found:
                found.update(dict.fromkeys(open_at & job.gone, "absent"))
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
        found, back = list[tuple[Verdict, set[int]]](), self.graph.reverse(copy=False)
        # A part that no way leads out of: whoever waits comes to one in the end, and in it is the cause.
        for part in map(sorted, nx.attracting_components(self.graph)):
            ways: dict[int, list[int]] = nx.multi_source_dijkstra_path(back, set(part))
            # else it is one rank, alive and in no call, for which nobody waits
            if ways.keys() - part or any(self.held.get(rank) for rank in part) or self.job.gone.intersection(part):
                verdict, way = self._circle(part) if len(part) > 1 else self._root(part[0]), max(ways.values(), key=len)
                found.append((replace(verdict, chain=tuple(reversed(way))), ways.keys() - part))
        return sorted(_join(found), key=lambda verdict: -verdict.waiting)

    def _root(self, rank: int) -> Verdict:
        """Return the verdict on a rank that waits for nobody."""
        # 1. It left no record, or stands outside all calls.
        job = self.job
        if rank not in job.dumps:
            since = [int(job.calls["begun"][self.of[other][rank].call]) for other in self.graph.predecessors(rank)]
            text = f"{rank} left no record: it died, froze, or its file is not here"
            return Verdict("ended", (rank,), text, since=min(since, default=0))
        if job.dumps[rank].gone:
            last, said = (self.held[rank] or [job.span(rank) + len(job.of(rank)) - 1])[0], "before any call"
            if len(job.of(rank)):
                said = f"{'in' if self.held[rank] else 'after'} {job.spell(last)}{job.line(last)}"
            since = int(job.calls["begun"][last]) if self.held[rank] else 0  # nobody's death ends who is in no call
            if job.is_over:
                how = (
                    f"{rank} ended {said}, as all processes did since: it died first, or kept the others waiting there"
                )
            else:
                how = f"{rank} died {said}: its process ended without a word"
            return Verdict("ended", (rank,), how, since=since)
        if not self.held[rank]:
            last = job.span(rank) + len(job.of(rank)) - 1
            said = f"its last, {job.spell(last)}{job.line(last)}, is over" if len(job.of(rank)) else "it made none"
            where = f"; it is in {job.dumps[rank].stack}" if job.dumps[rank].stack else ""
            return Verdict("absent", (rank,), f"{rank} stands outside all recorded calls: {said}{where}")

        # 2. It stands in a call.
        call = self.held[rank][0]
        said, group, number = f"{job.spell(call)}{job.line(call)}", int(job.meets[call]), int(job.turns[call])
        if job.way[call]:
            return Verdict("stalled", (rank,), f"both sides of {said} are there, and it does not end", since=call)
        members, rows = job.groups[group].members, job.at(group, number)
        open_at = set(rows["rank"][~rows["ended"]].tolist())
        ended = [q for q in members if q != rank and q not in open_at and job.end.get((q, group), (0, 0))[1] >= number]
        cut = [q for q in members if q in job.dumps and job.is_cut(q, group)]
        if ended and len(open_at) > 1 and job.signature(call).kind in ROOTED:
            text = f"some ended {said} and some do not: their roots may differ, which is not recorded"
        elif ended:
            text = f"{rank} does not end {said}, which {len(ended)} of {len(members) - 1} others ended"
            return Verdict("stuck", (rank,), text)
        elif cut:
            who = spell_ranks(cut)
            text = f"{said}, does not end, and the records of {who} are too short to say whether they made it"
            return Verdict("cannot", (), text)
        else:
            text = f"all are there in {said}, alike as far as recorded, and it does not end"
        return Verdict("stalled", (rank,), text, since=call)

    def _circle(self, ranks: list[int]) -> Verdict:
        """Return the verdict on ranks that wait for one another: odd is who left the order of its like, or stands apart."""
        job, text = self.job, f"{spell_ranks(ranks)} wait for one another"
        part = [q for q in ranks if any((r, q) not in self.guessed for r in self.graph.predecessors(q))] or ranks
        # Who stands in the same calls as fewest others is odd among them.
        count = Counter(map(frozenset, self._stands.values()))
        alone = {q: count[where] for q in part if (where := frozenset(self._stands.get(q, ())))}
        odd = [q for q, many in alone.items() if many == min(alone.values())]
        ring: list[tuple[int, int]] = list(cast(Any, nx).find_cycle(self.graph.subgraph(ranks), ranks[0]))
        calls = [self.of[a][b].call for a, b in ring]
        lines = tuple(
            f"{a} waits for {b} in {job.spell(call)}{job.line(call)}" for (a, b), call in zip(ring, calls, strict=True)
        )
        if strays := {rank: stray for rank, stray in find_strays(job).items() if rank in part}:
            rank = min(strays, key=lambda rank: int(job.calls["begun"][strays[rank][0]]))
            made, theirs = strays[rank]
            did = f"it made {job.spell(made)}{job.line(made)}, they {job.spell(theirs)}"
            odd, text = [rank], f"{rank} left the order of its like: {did}; so {text}"
        named = odd if odd and len(odd) < len(alone) else part
        return Verdict("crossed", tuple(named), text, len(named) < len(part), lines=lines)


def _join(found: list[tuple[Verdict, set[int]]]) -> list[Verdict]:
    """Return one verdict for those of a kind; ranks that stand together in one call are one finding."""
    parts, joined = defaultdict[object, list[tuple[Verdict, set[int]]]](list), list[Verdict]()
    for verdict, waiting in found:
        # each death is a finding of its own, and so is each circle
        apart = verdict.ranks if verdict.kind in ("ended", "crossed") else ()
        call = verdict.text.partition(" of ")[0] if verdict.kind == "stalled" else ""
        parts[verdict.kind, apart, call].append((verdict, waiting))
    for some in parts.values():
        first, _ = max(some, key=lambda pair: len(pair[1]))
        ranks = tuple(sorted({rank for verdict, _ in some for rank in verdict.ranks}))
        waiting = len(set[int]().union(*(waiting for _, waiting in some)).difference(ranks))
        texts = [verdict.text for verdict, _ in sorted(some, key=lambda pair: -len(pair[1]))]
        lines = first.lines if first.kind == "stalled" or not texts[1:] else tuple(texts)
        joined.append(replace(first, ranks=ranks, waiting=waiting, lines=lines))
    return joined
