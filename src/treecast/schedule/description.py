"""How a schedule is described, and the job that it does, which the results of all that run it repeat."""

import numpy as np

from treecast.against import dead
from treecast.collectives import Collective
from treecast.description import Description, count_of, describe, list_few
from treecast.networks.past_relays import whole_of
from treecast.schedule.schedule import Schedule
from treecast.schedule.sizes import Sizes, blocks_of, spell_total
from treecast.units import spell_bytes


def describe_job(schedule: Schedule) -> Description:
    """Return the job of a schedule, with its network and copies: every result of running it begins so."""
    collective, where, initiator = schedule.collective, schedule.network, schedule.initiator
    whole = whole_of(where)
    figures: dict[str, object] = {
        "collective": collective.kind,
        "network": where.spec,
        "model": schedule.model.name,
        "builder": schedule.builder,
        "nodes": whole.nodes,
        "ranks": where.rank_count,
        "root": None if collective.all_source else where.label(collective.root),
        "messages": collective.messages,
        "copies": schedule.copies,
        "survives": schedule.copies - 1,
        "against": schedule.against,
    }
    lines: dict[str, object] = {"collective": f"{collective.kind} of {_load(collective)} {_source(schedule)}"}
    if schedule.sizes is not None:
        lines["data"] = amount(collective, schedule.sizes)
    lines["network"] = f"{whole.spec}, {count_of(whole.nodes, 'node')}{_relays_of(schedule)}"
    lines["copies"] = f"{schedule.copies:,}, to survive {survived_by(schedule)}"
    if initiator is not None:
        figures["initiator"] = where.label(initiator)
        lines["initiator"] = f"{where.label(initiator)}, which starts the others"
    return Description(figures | _data(schedule), lines)


def _relays_of(schedule: Schedule) -> str:
    """Return how many nodes of a network are relays, and of sums whether these add."""
    where = whole_of(schedule.network)
    if where.relays is None:
        return ""
    many, adds = int(np.count_nonzero(where.relays)), 0 if where.adds is None else int(np.count_nonzero(where.adds))
    said = f", {many:,} of them {'a relay' if many == 1 else 'relays'}"
    if not schedule.collective.sums:
        return said
    each = "which adds, as a switch" if many == 1 else "which add, as switches"
    if adds == many:
        return f"{said}, {each} with SHARP or NVLS does" if many == 1 else f"{said}, {each} with SHARP or NVLS do"
    return f"{said}, which {'does' if many == 1 else 'do'} not add" if not adds else f"{said}, {adds:,} of which add"


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


def spell_steps(schedule: Schedule, steps: int) -> str:
    """Return how many steps a run has taken, and why not more, where a schedule leaves sends out while nothing fails."""
    if not schedule.sparing or steps >= schedule.steps:
        return f"{steps:,}"
    return (
        f"{steps:,} of {schedule.steps:,}: the sends of the others are left out, as no fault has kept their data back"
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
