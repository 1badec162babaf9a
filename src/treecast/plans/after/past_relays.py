"""A schedule past relays as one between ranks alone, for whoever knows no switches."""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from treecast.collectives import Collective
from treecast.errors import FormatError
from treecast.models import model
from treecast.networks import Complete
from treecast.networks.core import Ints
from treecast.plans.after.patching import new_chunks
from treecast.ragged import runs
from treecast.schedule import Payloads, Rows, Schedule

_MOST_SENDS = 1 << 22  # which are gone through one by one

Arc = tuple[int, int, int]
"""A step, and who sends to whom: numbers among the ranks."""


def past_relays(schedule: Schedule) -> Schedule:
    """Return a schedule in which ranks send straight to each other the chunks that relays forwarded, on their complete network.

    A rank sends to another in the step in which the last relay did: all that a relay sends to several, its rank sends to each.
    The next rank adds up in place of a relay; where one finishes a sum, the sum's owner does. So links between ranks carry more,
    and messages combine (model ``shouting``). Each rank gets each chunk once, by whichever copy comes first. A schedule without
    relays, or with lengths or targets, is returned as it is. Where an owner has a part in a sum that others finish for it, the
    returned schedule is wrong: the verifier finds it. Raises FormatError when there are too many sends.

    >>> from treecast.plans import plan
    >>> from treecast.verification.verifier import verify
    >>> straight = past_relays(plan("broadcast", "fat-tree:2", messages=2))
    >>> straight.network.spec, len(straight.rows), verify(straight).holds
    ('complete:2', 2, True)
    """
    network, before = schedule.network, schedule.collective
    if network.relays is None or before.targets or before.lengths:
        return schedule
    if (count := schedule.transmissions) > _MOST_SENDS:
        raise FormatError(f"{count:,} sends past relays are too many to go through: {_MOST_SENDS:,} would do")
    place = np.full(network.nodes, -1)
    place[network.ranks] = np.arange(network.rank_count)
    where = Complete(network.rank_count)
    root = 0 if before.all_source else int(place[before.root])
    collective = Collective.over(where, before.kind, before.messages, root=root)
    chunk = new_chunks(before, collective, place)
    if before.owners:
        collective = replace(collective, owners=_owners(before, chunk, place))
    owner = collective.source_of(np.arange(collective.sums)) if collective.sums else np.empty(0, np.int64)
    sends = _straight(schedule.plain(), place, network.ranks[owner[chunk[: before.sums]]])
    found = {arc: np.unique(chunk[sent]) for arc, sent in sorted(sends.items())}
    steps = sorted({step for step, _, _ in found})
    table = Payloads.of([list(zip(*_ranges(sent), strict=True)) for sent in found.values()])
    step, src, dst = np.array(list(found), np.int64).reshape(-1, 3).T
    port = (dst - src) % where.nodes - 1
    rows = Rows.of(table, step=np.searchsorted(steps, step), steps=1, src=src, dst=dst, port=port)
    return Schedule(where, collective, model("shouting"), rows)


def _owners(before: Collective, chunk: Ints, place: Ints) -> tuple[tuple[int, int], ...]:
    """Return who completes each sum, among ranks: who did, or, where that was a relay, the rank whose block it is in."""
    sums = np.flatnonzero(chunk[: before.sums] >= 0)
    owner = place[before.source_of(sums)]
    owner = np.where(owner < 0, chunk[sums] // before.messages, owner)
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    return tuple(zip(chunk[sums[starts]].tolist(), owner[starts].tolist(), strict=True))


def _straight(plain: Schedule, place: Ints, owners: Ints) -> dict[Arc, list[int]]:
    """Return the sends of ranks to each other, by the old numbers of chunks; each step is two: sums are finished in the first.

    ``owners``: the rank that completes each sum.
    """
    sums, speaking = plain.collective.sums, plain.speaking
    # of each chunk that a relay holds: the ranks that it came from
    behind = defaultdict[tuple[int, int], list[int]](list)
    held = {(node, chunk) for node, first, stop in plain.collective.given() for chunk in range(first, stop)}
    found = defaultdict[Arc, list[int]](list)
    for sends in plain.expand():
        heard = list[tuple[tuple[int, int], list[int]]]()
        columns = (sends.row, sends.src, sends.dst, sends.chunk)
        for row, src, dst, chunk in zip(*(column.tolist() for column in columns), strict=True):
            if sums and chunk >= sums and place[src] < 0 and (src, chunk) not in behind:
                owner = int(owners[chunk - sums])
                for each in set(behind[src, chunk - sums]) - {owner}:
                    found[2 * sends.step, int(place[each]), int(place[owner])].append(chunk - sums)
                behind[src, chunk] = [owner]
            sources = [src] if place[src] >= 0 else behind[src, chunk]
            if not speaking[row] or (chunk >= sums and (dst, chunk) in held):
                continue
            if chunk >= sums:
                held.add((dst, chunk))
            if place[dst] < 0:
                heard.append(((dst, chunk), sources))
            for source in sources if place[dst] >= 0 else ():
                if source != dst:
                    found[2 * sends.step + 1, int(place[source]), int(place[dst])].append(chunk)
        for at, sources in heard:
            behind[at] += sources
    return found


def _ranges(chunks: Ints) -> tuple[list[int], list[int]]:
    mask = np.zeros(int(chunks.max()) + 1, np.bool_)
    mask[chunks] = True
    first, stop = runs(mask)
    return first.tolist(), stop.tolist()
