"""Schedules carried over from a known network to the graph that was given, which is the same network under other names."""

from dataclasses import replace
from typing import Any

import numpy as np

from treecast.collectives import Collective
from treecast.networks.core import Ints
from treecast.networks.recognition import Likeness, recognise
from treecast.plans.built import Job
from treecast.ragged import explode
from treecast.schedule import Payloads, Rows, Schedule


def as_known(job: Job[Any]) -> Job[Any]:
    """Return a job on the known network that its graph is, to be carried over; itself where the graph is none.

    Messages of different lengths from or to one node, targets, demands and routes stay on the graph.
    """
    collective = job.collective
    stays = collective.traits.one_way or collective.targets or collective.demand is not None
    if stays or job.model.routing or job.model.arcs:
        return job
    found = recognise(job.network)
    return job if found is None else on_known(job, found)


def on_known(job: Job[Any], found: Likeness) -> Job[Any]:
    """Return a job on the known network that its own is, or contains, to be carried over."""
    return replace(job, network=found.known, collective=_renamed(job.collective, found.to, found.back), likeness=found)


def _renamed(collective: Collective, to: Ints, back: Ints) -> Collective:
    """Return a collective whose node v has become ``to[v]``."""
    owners, size = collective.owners, collective.messages
    if owners and not collective.shared:  # of each block, by its new name
        # runs end where blocks do, as these move
        first = np.unique([*range(0, collective.sums, size), *(chunk for chunk, _ in owners)])
        begin, node = to[first // size] * size + first % size, to[collective.source_of(first)]
        owners = tuple(sorted(zip(begin.tolist(), node.tolist(), strict=True)))
    root = 0 if collective.all_source else int(to[collective.root])
    return replace(collective, root=root, lengths=collective.lengths_among(back), owners=owners)


def known_node(job: Job[Any], node: int) -> int:
    """Return the node of a job's network that a node of the given network is."""
    return node if job.likeness is None else int(job.likeness.to[node])


def carried(schedule: Schedule, likeness: Likeness) -> Schedule:
    """Return a schedule of a known network on the graph that was given: nodes, ports and chunks renamed, and an orbit written
    out.

    Raises ScheduleError when an orbit has too many rows to be written out.
    """
    back, given = likeness.back, likeness.given
    plain = _within_blocks(schedule).plain()
    rows, collective = plain.rows, _renamed(plain.collective, back, likeness.to)
    src, dst = back[rows.src], back[rows.dst]
    columns = rows.columns() | {"src": src, "dst": dst, "port": given.port_between(src, dst)}
    return replace(
        plain,
        network=given,
        collective=collective,
        rows=Rows.of_any_steps(_rename_blocks(rows.payloads, plain.collective, collective, back), **columns),
        initiator=None if plain.initiator is None else int(back[plain.initiator]),
    )


def _within_blocks(schedule: Schedule) -> Schedule:
    """Return the same schedule with a row for each block of a stream: other blocks may go in another order by their new names."""
    rows, table = schedule.rows, schedule.rows.payloads.within_blocks_of(schedule.collective)
    cut = (rows.pace > 0) & (np.diff(table.start)[rows.payload] > 1)
    if schedule.collective.traits.blocks == "one" or not cut.any():
        return schedule
    of, entry = explode(table.start, rows.payload[cut])
    part = np.flatnonzero(cut)[of]
    first, stop = table.first[entry], table.stop[entry]
    moved = {name: column[part] for name, column in rows.columns().items()}
    moved |= {
        "step": moved["step"] + rows.pace[part] * table.before[entry],  # after the chunks before
        "steps": (stop - first - 1) * rows.pace[part] + 1,
        "payload": len(table) + np.arange(len(part)),
    }
    columns = {name: np.concatenate([column[~cut], moved[name]]) for name, column in rows.columns().items()}
    return replace(schedule, rows=Rows.of(Payloads.concatenated([table, Payloads.of_ranges(first, stop)]), **columns))


def _rename_blocks(payloads: Payloads, known: Collective, collective: Collective, back: Ints) -> Payloads:
    """Return the same payloads with each chunk in the block of the node, or pair of nodes, that the graph names."""
    if collective.traits.blocks == "one":
        return payloads
    table = payloads.within_blocks_of(known)
    first = renamed(table.first, known, collective, back)
    return Payloads(table.start, first, first + (table.stop - table.first))


def renamed(chunk: Ints, before: Collective, after: Collective, node: Ints) -> Ints:
    """Return the numbers of chunks where node v has become ``node[v]``, -1 where it is gone with its chunks."""
    block, place = before.place_of(chunk)
    group, of = np.divmod(block, len(node))  # of pairs: where they come from; of sums: whether they are finished
    begun = node[group] if after.traits.blocks == "pair" else group
    lives = (begun >= 0) & (node[of] >= 0)
    named = np.where(lives, begun * after.nodes + node[of], 0)
    begins = named * after.messages if after.lengths is None else after.lengths.first[named]
    return np.where(lives, begins + place, -1)
