"""Ranks whose order of calls leaves that of ranks that went with them so far."""

from collections import defaultdict
from functools import reduce

import numpy as np

from treecast.ragged import Ints
from treecast.records.job import Job


def find_strays(job: Job) -> dict[int, tuple[int, int]]:
    """Return for each rank out of step its call and the one that ranks of its kind made there.

    Ranks go together while their calls are alike: the title of the group, the signature, of sends and receives how far on
    the peer stands. One that leaves two or more, alone, is out of step. Where records begin late, all begin at a call of all.
    """
    words = {words: number for number, words in enumerate(dict.fromkeys(group.words for group in job.groups))}
    titles = np.array([words[group.words] for group in job.groups] or [0], np.int64)
    calls = job.calls
    kinds = job.kinds[calls["kind"]]
    token = titles[calls["group"]] * (len(job.signatures) + 1) + kinds["like"]
    token = (token * 3 + kinds["way"]) * (1 << 24) + kinds["shift"]
    rows = {rank: (job.span(rank), len(job.of(rank))) for rank in job.dumps if len(job.of(rank))}
    if any(calls["record"][begin] > 0 for begin, _ in rows.values()):
        rows = _begin_together(job, rows, titles)
    tokens = {rank: token[begin : begin + length].tolist() for rank, (begin, length) in rows.items()}
    found, together = dict[int, tuple[int, int]](), [list(rows)]
    for i in range(max(map(len, tokens.values()), default=0)):
        after = list[list[int]]()
        for some in together:
            parts = defaultdict[int, list[int]](list)
            for rank in some:
                if len(tokens[rank]) > i:
                    parts[tokens[rank][i]].append(rank)
            most = max(parts.values(), key=len, default=list[int]())
            for part in parts.values():
                if part is not most and len(part) == 1 and len(most) > 1:
                    found[part[0]] = rows[part[0]][0] + i, rows[most[0]][0] + i
                elif len(part) > 1:
                    after.append(part)
        together = after
    return found


def _begin_together(job: Job, rows: dict[int, tuple[int, int]], titles: Ints) -> dict[int, tuple[int, int]]:
    """Return calls of ranks from one that all recorded on; nothing where there is none."""
    keys, places = dict[int, Ints](), dict[int, Ints]()
    for rank in rows:
        mine = job.of(rank)
        of_all = np.flatnonzero(job.kinds["way"][mine["kind"]] == 0)
        key = titles[mine["group"][of_all]] * (1 << 40) + mine["number"][of_all]
        keys[rank], first = np.unique(key, return_index=True)
        places[rank] = of_all[first]
    common = reduce(np.intersect1d, keys.values())
    if not len(common):
        return {}
    at = {rank: places[rank][np.searchsorted(keys[rank], common)] for rank in rows}
    begin = int(np.argmin(np.sum(list(at.values()), axis=0)))
    return {
        rank: (start + int(at[rank][begin]), length - int(at[rank][begin])) for rank, (start, length) in rows.items()
    }
