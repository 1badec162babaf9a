"""What has to hold of a schedule whose rows do not all count as they stand."""

from typing import TYPE_CHECKING

import numpy as np

from treecast.errors import ScheduleError
from treecast.steps import NEVER

if TYPE_CHECKING:
    from treecast.schedule.schedule import Schedule


def check_alone(schedule: "Schedule") -> None:
    """Raise ScheduleError unless rows may stand alone beside an orbit, and begin when it has ended."""
    kind = schedule.collective.traits
    if schedule.torn is None or not (kind.personal or kind.spreads) or schedule.copies > 1:
        raise ScheduleError(
            "rows stand alone beside an orbit of one copy that adds nothing, on a network that lacks arcs of one with a symmetry"
        )
    if (
        not 0 <= schedule.alone <= len(schedule.rows)
        or int(schedule.torn.alone.step.min(initial=NEVER)) < schedule.base.steps
    ):
        raise ScheduleError(f"rows stand alone when the orbit has ended, from step {schedule.base.steps:,} on")


def check_sparing(schedule: "Schedule") -> None:
    """Raise ScheduleError unless a schedule can be sparing."""
    if schedule.collective.sums:
        raise ScheduleError("a schedule of sums is not sparing: each contribution goes once")
    if schedule.network.parallel_arcs:
        raise ScheduleError("a schedule over parallel arcs is not sparing: nodes keep account of links")
    if schedule.model.latency > 1 or schedule.model.arcs:
        raise ScheduleError(
            "a schedule is not sparing where chunks arrive late: nodes keep account of what has arrived"
        )
    table = schedule.rows.payloads
    order = np.argsort(table.first, kind="stable")
    if bool((table.stop[order][:-1] > table.first[order][1:]).any()):
        raise ScheduleError("in a sparing schedule payloads share no chunks")
    if bool((schedule.rows.steps > 1).any()):
        raise ScheduleError("in a sparing schedule a payload goes in one step")


def check_initiator(schedule: "Schedule", initiator: int) -> None:
    """Raise ScheduleError unless a schedule can have an initiator, whose messages go before all others."""
    collective, rows = schedule.collective, schedule.rows
    if not (schedule.sparing and collective.all_source and collective.traits.spreads) or schedule.orbit:
        raise ScheduleError("only a sparing allgather that is no orbit has an initiator")
    schedule.network.check_node(initiator)
    table = rows.payloads
    source = collective.source_of(np.minimum(table.first, collective.chunks - 1)) == initiator
    # how many ranges of each payload are the initiator's
    mixed = np.add.reduceat(source, table.start[:-1]) if len(table) else np.empty(0, np.int64)
    if bool(((mixed > 0) & (mixed < np.diff(table.start))).any()):
        raise ScheduleError("the initiator's messages go by themselves, before all others")
    own = (mixed > 0)[rows.payload]
    if int((rows.step + rows.steps)[own].max(initial=0)) > int(rows.step[~own].min(initial=NEVER)):
        raise ScheduleError("the initiator's messages go by themselves, before all others")
