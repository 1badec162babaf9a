"""Ranks whose order of calls leaves that of ranks that went with them so far."""

from collections import defaultdict

import numpy as np

from treecast.files.records.job import JobRecord
from treecast.ragged import Ints


def find_strays(job: JobRecord) -> dict[int, tuple[int, int]]:
    """Return for each rank out of step its call and the one that ranks of its kind made there.

    Ranks go together while their calls are alike: the title of the group, the signature, of sends and receives how far on
    the peer stands. One that leaves two or more, alone, is out of step. Where records begin late, all begin at a call of all.
    """
    words = {words: number for number, words in enumerate(dict.fromkeys(group.words for group in job.groups))}
    titles = np.array([words[group.words] for group in job.groups] or [0], np.int64)
    calls = job.calls
    kinds = job.kinds[calls["kind"]]
    # One number says title, signature, direction and how far the peer is: calls of one number are alike.
    token = titles[calls["group"]] * (len(job.signatures) + 1) + kinds["like"]
    # three ways, and peers less than 2^23 places off
    token = (token * 3 + kinds["way"]) * (1 << 24) + kinds["shift"]
    rows = {rank: job.span(rank) for rank in job.dumps if len(job.of(rank))}
    if any(calls["record"][begin] > 0 for begin in rows.values()):
        rows = _begin_together(job, rows, titles)
    tokens = {rank: token[begin : job.span(rank) + len(job.of(rank))].tolist() for rank, begin in rows.items()}
    found, together = dict[int, tuple[int, int]](), [list(rows)]
    # Call by call, ranks that were together so far part by their next call.
    for i in range(max(map(len, tokens.values()), default=0)):
        after = list[list[int]]()
        for some in together:
            parts = defaultdict[int, list[int]](list)
            for rank in some:
                if len(tokens[rank]) > i:
                    parts[tokens[rank][i]].append(rank)
            most = max(parts.values(), key=len, default=list[int]())
            after += [part for part in parts.values() if len(part) > 1]
            for part in parts.values():
                if len(part) == 1 and len(most) > 1:
                    found[part[0]] = rows[part[0]] + i, rows[most[0]] + i
        together = after
    return found


def _begin_together(job: JobRecord, rows: dict[int, int], titles: Ints) -> dict[int, int]:
    """Return the calls from which on all ranks recorded theirs, by rank; nothing where there is none."""
    places = dict[int, dict[int, int]]()
    for rank, begin in rows.items():
        mine = job.of(rank)
        of_all = np.flatnonzero(job.way[begin : begin + len(mine)] == 0)
        keys = titles[mine["group"][of_all]] << 40 | mine["number"][of_all]
        # Backwards, so that of several calls of one key the first stays.
        places[rank] = dict(zip(keys[::-1].tolist(), (begin + of_all[::-1]).tolist(), strict=True))
    common = set[int].intersection(*map(set, places.values()))
    # the earliest by all records together
    first = min(sorted(common), key=lambda key: sum(each[key] for each in places.values()), default=-1)
    return {rank: each[first] for rank, each in places.items()} if common else {}
