"""How a schedule is described, and the job that it does, which the results of all that run it repeat."""

import numpy as np

from treecast.against import dead
from treecast.collectives import Collective
from treecast.description import Description, count_of, describe, list_few
from treecast.ragged import explode
from treecast.schedule.schedule import Schedule
from treecast.schedule.sizes import Sizes, blocks_of, spell_total
from treecast.units import spell_bytes


def describe_job(schedule: Schedule) -> Description:
    """Return the job of a schedule, with its network and copies: every result of running it begins so."""
    collective, where, initiator = schedule.collective, schedule.network, schedule.initiator
    figures: dict[str, object] = {
        "collective": collective.kind,
        "network": where.spec,
        "model": schedule.model.name,
        "builder": schedule.builder,
        "nodes": where.nodes,
        "ranks": where.rank_count,
        "root": None if collective.all_source else where.label(collective.root),
        "messages": collective.messages,
        "copies": schedule.copies,
        "survives": schedule.copies - 1,
        "against": schedule.against,
    }
    relays = f", {where.nodes - where.rank_count:,} of them relays" if where.relays is not None else ""
    relays += ", which add, as switches with SHARP or NVLS can" if relays_add(schedule) else ""
    lines: dict[str, object] = {"collective": f"{collective.kind} of {_load(collective)} {_source(schedule)}"}
    if schedule.sizes is not None:
        lines["data"] = amount(collective, schedule.sizes)
    lines["network"] = f"{where.spec}, {count_of(where.nodes, 'node')}{relays}"
    lines["copies"] = f"{schedule.copies:,}, to survive {survived_by(schedule)}"
    if initiator is not None:
        figures["initiator"] = where.label(initiator)
        lines["initiator"] = f"{where.label(initiator)}, which starts the others"
    return Description(figures | _data(schedule), lines)


def relays_add(schedule: Schedule) -> bool:
    """Return whether contributions to a sum come to a relay over several arcs, so that it must add them."""
    relays, rows, collective = schedule.network.relays, schedule.rows, schedule.collective
    if relays is None or not collective.sums:
        return False
    into = np.flatnonzero(relays[rows.dst])
    of, entry = explode(rows.payloads.start, rows.payload[into])
    dst, first = rows.dst[into[of]], rows.payloads.first[entry]
    stop = np.minimum(rows.payloads.stop[entry], collective.sums)
    order = np.lexsort((first, dst))
    order = order[first[order] < stop[order]]
    return bool(((first[order][1:] < stop[order][:-1]) & (dst[order][1:] == dst[order][:-1])).any())


def _data(schedule: Schedule) -> dict[str, object]:
    """Return how many bytes the data has, and how many a chunk, where the schedule says so."""
    if schedule.sizes is None:
        return {}
    collective, sizes = schedule.collective, schedule.sizes
    per_rank = {} if collective.lengths is not None else {"bytes_per_rank": sizes.per_rank(collective)}
    return {"bytes": sizes.total(collective), **per_rank, "chunk_bytes": sizes.chunk}


def amount(collective: Collective, sizes: Sizes) -> str:
    """Return how many bytes there are in all and per rank, and how they are cut."""
    total = spell_total(collective.kind, sizes.total(collective))
    if collective.traits.blocks == "one":
        return f"{total}: {sizes}" + ("" if sizes.data is None else "; the last item is cut short")
    if collective.lengths is None and not collective.traits.adds:
        total += f", {spell_bytes(sizes.per_rank(collective))} per rank"
    shorter = "" if sizes.data is None else f"; some blocks are up to {count_of(sizes.item, 'byte')} shorter"
    many = (
        blocks_of(collective)
        if collective.lengths is None and (collective.traits.adds or collective.traits.blocks == "pair")
        else 1
    )
    return f"{total}: {f'{many:,} blocks, each ' if many > 1 else ''}{sizes}{shorter}"


def survived_by(schedule: Schedule) -> str:
    """Return the faults that a schedule survives, in words: dead nodes cover all other faults."""
    survived = schedule.copies - 1
    if not survived:
        return "no fault"
    return f"any {count_of(survived, 'fault') if schedule.against == 'nodes' else dead(survived, schedule.against)}"


@describe.register
def _(schedule: Schedule) -> Description:
    found = {
        "trees": schedule.trees,
        "steps": schedule.steps,
        "transmissions": schedule.transmissions,
        "rows": len(schedule),
    }
    lines = {"model": schedule.model.name, "builder": schedule.builder or "unknown", **found}
    return describe_job(schedule).adding(found, lines)


def _source(schedule: Schedule) -> str:
    collective = schedule.collective
    if collective.demand is not None:
        completed = sorted({*collective.source_of(range(collective.sums)).tolist()})
        sums = f"; sums are completed at {list_few(schedule.network.labels(completed), 3)}" if completed else ""
        return f"in {count_of(len(collective.demand), 'class')}{sums}"
    if collective.shared:
        return "of every node; nobody owns the sums"
    if collective.owners:
        owners = sorted({node for _, node in collective.owners})
        return f"of every node; the sums are completed at {list_few(schedule.network.labels(owners), 3)}"
    return (
        "of every node"
        if collective.all_source
        else f"{collective.direction} {schedule.network.label(collective.root)}"
    )


def message_count(collective: Collective) -> int:
    """Return how many messages, of different lengths, a collective has: a root has none of its own."""
    ranks = len(collective.ranks)
    return ranks**2 if collective.traits.blocks == "pair" else ranks - (not collective.all_source)


def _load(collective: Collective) -> str:
    if collective.demand is not None:
        return count_of(collective.demand.chunks, "chunk")
    if collective.lengths is None:
        return count_of(collective.messages, "message")
    messages = message_count(collective)
    null = messages - int(np.count_nonzero(collective.lengths.flits))
    return (
        f"{count_of(messages, 'message')}, {null:,} of them null, {count_of(collective.lengths.total, 'flit')} in all,"
    )
