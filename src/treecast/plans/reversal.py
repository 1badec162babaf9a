"""Reductions and gathers: schedules run backwards. Arcs turn round, the last step comes first.

Communication model: that of the schedule that is reversed. Where data spread, contributions come together: a node adds
the contributions that arrive to its own and sends the sum on once. Where data went out, each node's block comes in.
"""

from dataclasses import replace

import numpy as np

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.networks import Network
from treecast.plans.built import Built, joined
from treecast.schedule import Claims, Payloads, Rows


def reverse_in_time(network: Network, collective: Collective, built: Built, late: int = 1) -> Built:
    """Return the rows backwards in time: broadcast becomes reduce, scatter gather, allgather reduce-scatter.

    ``late``: in how many steps a chunk arrives, there and back. A stream goes backwards too, so within each block of M chunks the
    last chunk becomes the first. The rows must be of a schedule on ``network.reversed()``, which is another network where arcs
    lead one way only. Raises PlanError when it is not.
    """
    rows, claims = built.rows, built.claims
    cable = network.reversed().cable(rows.src, rows.port)
    turned = network.port_of_cable(rows.dst, rows.src, cable)
    port = np.where(rows.port < 0, -1, turned)  # a row without a port has a route
    if bool(((port < 0) & (rows.port >= 0)).any()):
        raise PlanError(f"{network.spec} has arcs that lead one way only: reverse a schedule on network.reversed()")
    columns = rows.columns() | {
        # what arrives last leaves first, in step 0
        "step": claims.steps - (late - 1) - rows.step.astype(np.int64) - rows.steps,
        "src": rows.dst,
        "dst": rows.src,
        "port": port,
        "payload": len(rows.payloads) - 1 - rows.payload,
    }
    made = Rows.of_any_steps if rows.late else Rows.of
    return Built(made(_backwards(rows.payloads, collective.messages), **columns), claims)


def _backwards(table: Payloads, messages: int) -> Payloads:
    """Return the payloads in reverse order, each in reverse order, each block of M chunks mirrored."""
    cut = table.within_blocks(messages)
    # chunk c of the block that begins at b becomes 2 b + M - 1 - c, and ends change places
    base = 2 * (cut.first // messages * messages) + messages
    start = len(cut.first) - cut.start[::-1]
    return Payloads(start, (base - cut.stop)[::-1].copy(), (base - cut.first)[::-1].copy())


def one_after_the_other(collective: Collective, reduction: Built, spreading: Built) -> Built:
    """Return a reduction, and behind it the spreading of its finished sums; ``collective``: that of the rows of both.

    Of an orbit it is the part of each of its roots: the finished sums of one stand before the sums of the next.
    """
    reduction, spreading = (_apart(part, collective.sums) for part in (reduction, spreading))
    (first, done), (second, more) = ((part.rows, part.claims) for part in (reduction, spreading))
    finished = replace(second, payloads=second.payloads.shifted(collective.sums))
    claims = Claims(done.steps + more.steps, done.transmissions + more.transmissions)
    return Built(joined([first, finished], [0, done.steps]), claims)


def _apart(built: Built, sums: int) -> Built:
    """Return the same with room for as many finished sums behind so many sums, again and again."""
    table = built.rows.payloads.within_blocks(sums)
    before = table.first // sums * sums
    if not before.any():
        return built
    return built._replace(
        rows=replace(built.rows, payloads=Payloads(table.start, table.first + before, table.stop + before))
    )
