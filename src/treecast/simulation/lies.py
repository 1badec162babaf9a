"""Who elects wrong data among liars and faults, found without moving a byte: many cases at once, one bit of a number for each.

Each chunk reaches each node over x node-disjoint paths. A dead node or arc takes away at most one copy, a liar alters at most
one. So c dead and l lying ones leave at least x - c - l right copies of each chunk against at most l wrong ones: while
c + 2l < x the value that most copies have is the right one. That is how a node elects.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from treecast.against import Against
from treecast.description import Described, Description, count_of, describe, list_few
from treecast.errors import FaultError
from treecast.schedule import Schedule, describe_job
from treecast.simulation.faults import Faults, describe_late, living_ranks
from treecast.steps import NEVER


class Misled(NamedTuple):
    """The honest living nodes that elect wrong values, and those that elect nothing wrong but not everything; ascending."""

    fooled: list[int]
    undecided: list[int]


@dataclass(frozen=True, eq=False, repr=False)
class Lies(Described):
    """The elections of honest living nodes when some nodes and arcs lie and others are dead.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    liars, faults : Faults
        The liars, and the faults.
    fooled, undecided : list of int
        The honest living nodes that elected wrong bytes for some chunk, and the others that elected none for some chunk.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "hypercube:4", copies=4)
    >>> found = treecast.simulate(schedule, ["0b0001"], liars=["0b0010"])
    >>> found.holds, len(found.right), found.fooled
    (True, 14, [])
    """

    schedule: Schedule
    liars: Faults
    faults: Faults
    fooled: list[int]
    undecided: list[int]

    def __repr__(self) -> str:
        reached = f"{len(self.right):,} of {count_of(len(self.honest), 'honest node')} right"
        return f"<Lies of {count_of(len(self.liars), 'liar')}: {reached}>"

    @property
    def honest(self) -> list[int]:
        """The nodes that neither lie nor fail; only their verdicts count."""
        return honest_nodes(self.schedule, self.liars, self.faults)

    @property
    def right(self) -> list[int]:
        """The honest nodes that elect everything as it is."""
        wrong = {*self.fooled, *self.undecided}
        return [node for node in self.honest if node not in wrong]

    @property
    def holds(self) -> bool:
        """Whether every honest living node elects everything as it is."""
        return not self.fooled and not self.undecided


def replay_lies(schedule: Schedule, liars: Faults, faults: Faults | None = None) -> Lies:
    """Find whom liars fool, without bytes; no chunk counts as empty.

    Raises FaultError as ``check_liars``, and when the root is dead from the start.
    """
    faults = faults or Faults()
    faults.check(schedule)
    return Lies(schedule, liars, faults, *verdicts(schedule, [(liars, faults)])[0])


def honest_nodes(schedule: Schedule, liars: Faults, faults: Faults) -> list[int]:
    """Return the nodes that take part and neither lie nor fail, ascending."""
    return np.flatnonzero(living_ranks(schedule.collective, liars, faults)).tolist()


def check_liars(schedule: Schedule, liars: Faults) -> None:
    """Raise FaultError when liars cannot be judged on a schedule."""
    if schedule.collective.sums:
        raise FaultError(f"{schedule.collective.kind} adds up: a sum has one copy, and nothing to elect from")
    if schedule.sparing:
        raise FaultError("a sparing schedule keeps no copies apart: nodes have nothing to elect from")
    liars.check_names(schedule.network)
    if not schedule.collective.all_source and schedule.collective.root in liars.nodes:
        name = schedule.network.label(schedule.collective.root)
        raise FaultError(
            f"the root {name} is no liar: a liar alters the data of others, and nobody could judge the root's own data"
        )


class _Since:
    """From which step which nodes and arcs do something, in many cases: a bit of a number for each case."""

    def __init__(self, schedule: Schedule, cases: Sequence[Faults]) -> None:
        self.nodes, self.arcs = (defaultdict[int, list[tuple[int, int]]](list) for _ in range(2))
        for number, these in enumerate(cases):
            for node, step in these.nodes.items():
                self.nodes[node].append((step, 1 << number))  # a bit a case, with its step
            for (node, port), step in these.arcs.items():
                self.arcs[int(schedule.network.arc(node, port))].append((step, 1 << number))

    def at(self, step: int) -> tuple[dict[int, int], dict[int, int]]:
        """Return the bits of the cases in which each node, and each arc, does it at a step."""
        nodes, arcs = (
            # all cases in which it has begun
            {one: sum(bit for since, bit in entries if since <= step) for one, entries in these.items()}
            for these in (self.nodes, self.arcs)
        )
        return nodes, arcs


_Copy = tuple[int, int]
"""A copy of a chunk at a node: the cases where it came, and those where it is false."""


def _joined(old: _Copy, there: int, false: int) -> _Copy:
    """Return a copy with another one, where there was none before."""
    new = there & ~old[0]  # only where no copy had come: the first counts
    return old[0] | new, old[1] | false & new


def verdicts(schedule: Schedule, cases: Sequence[tuple[Faults, Faults]]) -> list[Misled]:
    """Return whom each case of (liars, faults) fools or leaves undecided; all cases go through the sends at once.

    With several copies a node sends on in a tree only copies that came in it. Raises FaultError as ``check_liars``.
    """
    network, collective = schedule.network, schedule.collective  # 1. Check all cases.
    for liars, faults in cases:
        check_liars(schedule, liars)
        faults.check_names(network)
    lying, dead = (_Since(schedule, [case[of] for case in cases]) for of in (0, 1))
    every = (1 << len(cases)) - 1  # 2. A bit for each case; no copy has come.
    source = collective.source_of(np.arange(collective.chunks)).tolist()
    by_tree = defaultdict[tuple[int, int], dict[int, _Copy]](dict)  # of (node, chunk)
    any_tree = defaultdict[tuple[int, int], _Copy](lambda: (0, 0))
    under_way = defaultdict[int, list[tuple[int, int, int, int, int]]](list)

    def arrive(step: int) -> None:
        for when in sorted(when for when in under_way if when <= step):
            for v, chunk, tree, *copy in under_way.pop(when):
                mine, any_tree[v, chunk] = by_tree[v, chunk], _joined(any_tree[v, chunk], *copy)
                mine[tree] = _joined(mine.get(tree, (0, 0)), *copy)

    for sends in schedule.expand():  # 3. Step by step: what arrives is there before anything is sent.
        arrive(sends.step)
        (liar, lying_arc), (gone, cut) = lying.at(sends.step), dead.at(sends.step)
        columns = (
            c.tolist()
            for c in (
                sends.src,
                sends.dst,
                sends.tree,
                sends.chunk,
                network.arc(sends.src, sends.port),
                sends.step + schedule.model.ticks(sends.src, sends.dst)[1],
            )
        )
        for u, v, tree, chunk, arc, when in zip(*columns, strict=True):
            if u == source[chunk]:  # the source has the true data in all cases
                there, false = every, 0
            elif (got := by_tree.get((u, chunk))) is None:
                continue
            else:
                there, false = got.get(tree, (0, 0))
                if schedule.copies == 1:
                    there, false = _joined((there, false), *any_tree[u, chunk])
                false |= liar.get(u, 0)  # a liar alters whatever it passes on
            there &= ~(gone.get(u, 0) | cut.get(arc, 0) | gone.get(v, 0))
            under_way[when].append((v, chunk, tree, there, (false | lying_arc.get(arc, 0)) & there))
    arrive(NEVER)
    never_sent = dead.at(0)[0]  # 4. Count votes: whoever has most is elected.
    fooled, undecided = [0] * network.nodes, [0] * network.nodes
    for v, first, stop in collective.wanted():
        for chunk in (chunk for chunk in range(first, stop) if source[chunk] != v):
            votes = by_tree[v, chunk].values()
            wrong = at_least(false for _, false in votes)
            right = at_least(there & ~false for there, false in votes)
            there_is = every & ~never_sent.get(source[chunk], 0)
            fooled[v] |= _more(wrong, right) & there_is
            undecided[v] |= ~(_more(wrong, right) | _more(right, wrong)) & there_is
    found = list[Misled]()  # 5. Case by case, who is honest and was misled.
    for number, (liars, faults) in enumerate(cases):
        honest = honest_nodes(schedule, liars, faults)
        misled = [v for v in honest if fooled[v] >> number & 1]
        found.append(Misled(misled, [v for v in honest if undecided[v] >> number & 1 and v not in misled]))
    return found


def at_least(votes: Iterable[int]) -> list[int]:
    """Return for each count from 1 on the bits that are set in at least so many votes."""
    found = list[int]()
    for vote in votes:
        found.append(0)
        # from the greatest count down, so that a vote counts once
        for count in range(len(found) - 1, -1, -1):
            found[count] |= (found[count - 1] if count else -1) & vote
    return found


def _more(some: list[int], others: list[int]) -> int:
    """Return the bits that more of some votes have than of others, both as ``at_least`` counts them."""
    more = 0
    # at some count these have got there, and the others have not
    for one, other in zip(some, others, strict=True):
        more |= one & ~other
    return more


def describe_tolerance(copies: int, against: Against = "nodes") -> str:
    """Return how many dead and lying nodes and arcs elections among so many copies get over, in words."""
    if copies < 3:
        return f"no liar: {'1 copy' if copies == 1 else '2 copies'} cannot outvote one"
    title = "ones" if against == "nodes" else against
    return f"any c dead and l lying {title} while c + 2 l < {copies:,}, but for data of their own: most copies decide"


def describe_election(
    schedule: Schedule,
    given: tuple[Faults, Faults],
    right: Sequence[int],
    fooled: Sequence[int],
    undecided: Sequence[int],
) -> Description:
    """Return how the results of all elections begin: who elected which data, among which liars and faults (``given``)."""
    liars, faults = (each.describe(schedule.network) for each in given)
    wrong, honest = len(fooled) + len(undecided), len(right) + len(fooled) + len(undecided)
    lines: dict[str, object] = {
        "elected": f"the right data at all {honest:,} honest nodes",
        "liars": list_few(liars),
        "faults": list_few(faults),
        "tolerates": describe_tolerance(schedule.copies, schedule.against),
    }
    if wrong:
        who = f"{len(fooled):,} elected wrong data, {len(undecided):,} none"
        lines["elected"] = f"NOT the right data at {wrong:,} of {honest:,} honest nodes: {who}"
    label = schedule.network.label
    figures = {
        "liars": liars,
        "faults": faults,
        "honest": honest,
        "right": len(right),
        "fooled": [label(node) for node in fooled],
        "undecided": [label(node) for node in undecided],
    }
    return Description(figures, lines, holds=not wrong).joined(describe_late(schedule, *given), after="faults")


@describe.register
def _(found: Lies) -> Description:
    given = found.liars, found.faults
    begin = describe_election(found.schedule, given, found.right, found.fooled, found.undecided)
    wrong = begin.pick("fooled", "undecided")
    titles = {"fooled": "wrong data at", "undecided": "no data at"}
    lines = {titles[each]: list_few(cast(list[str], these)) for each, these in wrong.items() if these}
    return begin.adding(lines=lines).joined(describe_job(found.schedule))
