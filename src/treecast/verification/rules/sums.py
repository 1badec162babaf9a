"""Rules of sums: each contribution is added exactly once.

A node adds the contributions that arrive to its own, and sends the sum once, after the last of them. Each node but the owner
sends exactly once, always after the contributions that it adds. So every contribution goes on without a circle and ends where
nothing is sent on: at the owner. ``complete``, ``once`` and ``delivered`` check this together.

A relay adds only if its network says so (``adds``). Else at most one row brings it contributions to a sum.

Where nobody owns a sum, a node sends on its sum so far, to several nodes perhaps. Then the sets of contributions are
carried along: two that meet share none, and whoever has all has the finished sum.
"""

import numpy as np

from treecast.networks.core import Ints
from treecast.schedule.adding import added_by_plain_relays
from treecast.verification.case import Case
from treecast.verification.report import SHOWN, Broken
from treecast.verification.rules import spreading


def complete(case: Case) -> Broken:
    """Rule ``complete``: a node sends a sum after all contributions that it will ever get have arrived."""
    last = case.contributions[0]
    missing = spreading.first_missing(case, last)

    def why(row: int) -> str:
        atom, src = int(missing[row]), int(case.rows.src[row])
        late = f"{case.label(src)} has the last contribution at step {last[src, atom]}"
        return f"carries sum {case.atoms.bounds[atom]}, of which {late}"

    return case.broken("complete", missing >= 0, why)


def once(case: Case) -> Broken:
    """Rule ``once``: no node sends a sum on twice, and its owner keeps it."""
    sends = case.contributions[1].copy()
    sends[case.owners, np.arange(case.sums)] += 1  # the owner has had its turn
    wrong = np.argwhere(sends > 1)
    return len(wrong), [case.at_atom("once", v, a, _twice(case, v, a)) for v, a in wrong[:SHOWN].tolist()]


def _twice(case: Case, node: int, atom: int) -> str:
    """Return a sentence on a node that sends a sum too often, and on the rows in which it does."""
    own, atoms, payload = np.flatnonzero(case.rows.src == node), case.atoms, case.rows.payload
    rows = [
        row for row in own.tolist() if atom in atoms.atom[atoms.start[payload[row]] : atoms.start[payload[row] + 1]]
    ]
    named = ", ".join(case.row_name(row) for row in rows[:4]) + (f" and {len(rows) - 4} more" if len(rows) > 4 else "")
    does = "owns sum {}, and sends it on" if case.owners[atom] == node else "sends sum {} on more than once"
    return f"{case.label(node)} {does.format(case.chunk(atom))}: {named}"


def joined_once(case: Case) -> Broken:
    """Rule ``once``, of sums that nobody owns: a row brings no contribution that its target has got already."""
    return case.broken("once", case.joined[1], lambda row: "brings contributions that are there already")


def adds(case: Case) -> Broken:
    """Rule ``adds``: contributions to a sum come to a relay by one row alone, unless the relay adds."""
    again = added_by_plain_relays(case.schedule.network, case.rows, case.part.sums)

    def why(row: int) -> str:
        return f"brings a second contribution to {case.label(int(case.rows.dst[row]))}, which does not add"

    return case.broken("adds", again, why)


def delivered(case: Case) -> Broken:
    """Rule ``delivered``: every node but the owner sends its contribution on; finished sums reach all nodes that want them."""
    sends = case.contributions[1].copy()
    sends[case.owners, np.arange(case.sums)] = 1
    # who has no contribution sends on the data that it hears, if it hears any
    sends += ~case.givers & (case.contributions[0] == 0)
    count, shown = _broken_sums(case, "delivered", np.argwhere(sends == 0), "never sends its contribution to sum {}")
    if case.part.results:
        beyond = spreading.delivered(case)
        count, shown = count + beyond[0], (shown + beyond[1])[:SHOWN]
    return count, shown


def _broken_sums(case: Case, rule: str, where: Ints, sentence: str) -> Broken:
    return len(where), [
        case.at_atom(rule, v, a, f"{case.label(v)} {sentence.format(case.chunk(a))}") for v, a in where[:SHOWN].tolist()
    ]
