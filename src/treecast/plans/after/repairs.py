"""A plan after nodes or links have failed: the rows that still carry are kept, and the rest is planned again.

The new schedule is one on the rest of the network, where labels are as before. There are three ways to it, and the one that
takes the fewest steps is taken; of equal ones that by which fewest nodes receive from others. A schedule of one copy is patched:
its rows stay in their steps, and free arcs bring the lost chunks; sums, if nothing has to begin later
(plans/after/patching.py). A broadcast down trees keeps the part of each tree that hangs from the root
(plans/ways/trees/repaired.py). All others are planned anew. Nodes that are no longer reached are left out, too, so the others go
on.
"""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from treecast.collectives import Collective
from treecast.description import Description, count_of, describe, list_few
from treecast.errors import PlanError
from treecast.lower_bounds import schedule_bounds, tightest
from treecast.lower_bounds.depths import least_depth
from treecast.models import model
from treecast.networks import Network
from treecast.networks.flows import fewest_apart
from treecast.networks.past_relays import whole_of
from treecast.plans.after.differences import Difference, Loss, all_labels, difference
from treecast.plans.after.patching import patched, patched_sums, what_is_left
from treecast.plans.built import Job
from treecast.plans.choice import build
from treecast.plans.copies import most_ways
from treecast.plans.fastest import plan
from treecast.plans.job import job_over
from treecast.plans.registry import ALL_PORT
from treecast.plans.request import request
from treecast.plans.times.pipelines import rows_of_streams, uneven_streams
from treecast.plans.ways.trees.repaired import Repaired, repaired_trees, shortened, taken_apart
from treecast.schedule import Claims, Schedule
from treecast.schedule.tree_of_rows import trees_of_rows
from treecast.schedule.trees import TreeSet

_SHOWN = 12  # nodes that are named


@dataclass(frozen=True)
class Repair:
    """A schedule for the rest of a network, beside the one from before.

    Parameters
    ----------
    before, schedule : Schedule
        The old schedule, and the new one.
    unreached : tuple of str
        The labels of living nodes that no way leads to, or from, any more; the new schedule is without them.
    kept : int
        How many arcs of its trees are as before, in the same tree; of a patched schedule, how many rows; 0 where all was
        planned anew; all rows without faults.
    moved : tuple of str
        The labels of the nodes that hear something from another node than before, of trees in some tree; of all nodes where all
        was planned anew.
    seconds : float
        How long the repair took, without the time that was given to improve it.
    patched : bool
        Whether the rows that still carry have stayed in their steps.
    """

    before: Schedule
    schedule: Schedule
    unreached: tuple[str, ...]
    kept: int
    moved: tuple[str, ...]
    seconds: float
    patched: bool = False

    @property
    def told(self) -> tuple[str, ...]:
        """The labels of the nodes whose rows have changed in anything: they must learn their part."""
        return self.difference.told

    @cached_property
    def difference(self) -> Difference:
        """Which rows are kept, moved to other steps, new or gone."""
        return difference(self.before, self.schedule)


def repair(
    schedule: Schedule | Job[Any],
    *,
    dead_nodes: str | Sequence[str | int] = (),
    cut_links: str | Sequence[str] = (),
    within: float = 0.0,
) -> Repair:
    """Return a schedule of the same collective on the rest of the network, that keeps as many rows of the old one as it can.

    Parameters
    ----------
    schedule : Schedule or Job
        The plan that the faults have hit; of a job, ``plan(job)``.
    dead_nodes : str or sequence of str or int
        The nodes that are gone: labels, with blanks between them in one text, or numbers.
    cut_links : str or sequence of str
        The links that are gone: ``A-B`` both ways, ``A>B`` one way.
    within : float
        Seconds in which shallower trees are looked for afterwards.

    Returns
    -------
    Repair
        The new schedule, the rows that were kept, and the nodes concerned. It has fewer copies where the rest of the network
        allows no more.

    Raises
    ------
    PlanError
        When the root is dead, and when no builder can do it on the rest.
    NetworkError
        For a node or link that is not there.

    Examples
    --------
    >>> import treecast
    >>> old = treecast.plan("broadcast", "torus:4x4x4", messages=600)
    >>> found = treecast.repair(old, cut_links=["0,0,0-0,0,1", "1,0,0-1,1,0"])
    >>> old.steps, found.schedule.steps, len(found.moved) < 20
    (106, 126, True)
    """
    # 1. What has failed.
    schedule = plan(schedule) if isinstance(schedule, Job) else schedule
    dead_nodes = dead_nodes.split() if isinstance(dead_nodes, str) else dead_nodes
    cut_links = cut_links.split() if isinstance(cut_links, str) else cut_links
    begun = perf_counter()
    network, collective = schedule.network, schedule.collective
    if not dead_nodes and not cut_links:
        return Repair(schedule, schedule, (), len(schedule.rows), (), perf_counter() - begun)
    unlike = schedule.model.arcs or (schedule.costs is not None and schedule.costs.unlike)
    if unlike and network.past_routes is not None:
        raise PlanError(
            f"costs are those of the routes of {network.spec}, and other routes take other arcs: plan again without what is gone"
        )
    # relays, which a network past them has not
    passed = {
        node for node in dead_nodes if isinstance(node, str) and node not in network and node in whole_of(network)
    }
    gone = {network.node(node) for node in dead_nodes if node not in passed}
    if not collective.all_source and collective.root in gone:
        raise PlanError(f"the root {network.label(collective.root)} is dead: plan again from another root")
    # 2. What is left, and how many copies it can have.
    before, (left, unreached) = schedule, _left(schedule, [*sorted(gone), *sorted(passed)], cut_links)
    if schedule.copies > 1:
        schedule = _with_copies(schedule, _copies(schedule, left))
    # 3. Ways to a new schedule: patched, down repaired trees, or planned anew. A patch that meets the bound needs no
    # other.
    patch = _patched(schedule, left) if schedule.copies == before.copies else None
    # no other way can be better
    done = patch is not None and patch.schedule.steps <= tightest(schedule_bounds(patch.schedule), "steps").value
    trees = None if done else _kept(schedule, left)
    ways = [patch] if patch else []
    if trees is not None:
        ways.append(_down(schedule, trees, trees.trees))
    elif not done:  # a patch is enough where nothing else can be planned
        with suppress(PlanError) if patch else nullcontext():
            ways.append(_Replanned(_planned_over_fewer(schedule, left), 0, all_labels(left)))
    # 4. Shallower trees, if there is time.
    seconds = perf_counter() - begun
    if trees is not None and schedule.copies == 1 and (better := _improved(schedule, trees.trees, within)):
        ways.append(_down(schedule, trees, better[1]))
    # 5. The way of fewest steps, then fewest nodes to tell.
    chosen = min(ways, key=lambda way: (way.schedule.steps, len(way.moved)))
    new = chosen.schedule
    if schedule.sizes is not None and new.collective.messages == schedule.collective.messages:
        new = replace(new, sizes=schedule.sizes.over(new.collective))
    if schedule.costs is not None:
        new = replace(new, costs=schedule.costs.over(schedule.network, new.network))
    return Repair(before, new, unreached, chosen.kept, chosen.moved, seconds, chosen.patched)


class _Replanned(NamedTuple):
    """A new schedule, how much of the old one is kept, and which nodes hear something from another node than before."""

    schedule: Schedule
    kept: int
    moved: tuple[str, ...]
    patched: bool = False


def _copies(schedule: Schedule, left: Network) -> int:
    """Return how many copies there can be on the rest: no more than before."""
    if schedule.collective.demand is not None:  # builders say how many there are
        return schedule.copies
    there = what_is_left(schedule.collective, schedule.network, left)
    return max(1, min(schedule.copies, most_ways(left, there, schedule.against))) if there else schedule.copies


def _with_copies(schedule: Schedule, copies: int) -> Schedule:
    return replace(schedule, copies=copies, against=schedule.against if copies > 1 else "nodes", claims=None)


def _planned_over_fewer(schedule: Schedule, left: Network) -> Schedule:
    """Return a new plan with as many copies as a builder finds the ways for."""
    for copies in range(schedule.copies, 1, -1):
        with suppress(PlanError):
            return _planned(_with_copies(schedule, copies), left)
    return _planned(_with_copies(schedule, 1), left)


def _patched(schedule: Schedule, left: Network) -> _Replanned | None:
    """Return the schedule patched; None where schedules like it are not, as past relays, where other routes are left."""
    if schedule.network.past_routes is not None:
        return None
    found = patched(schedule, left) or patched_sums(schedule, left)
    if found is None:
        return None
    rows, hearing = difference(schedule, found.schedule), left.labels(found.hearing)
    return _Replanned(found.schedule, rows.kept, tuple(label for label in hearing if label in rows.told), True)


def _down(schedule: Schedule, found: Repaired, trees: TreeSet) -> _Replanned:
    """Return the broadcast of a schedule down trees that come from repaired ones."""
    # as before, and still so in these trees
    kept = found.kept & (trees.parent == found.trees.parent) & (trees.port == found.trees.port)
    kept[:, trees.root] = True
    moved = tuple(trees.network.labels(np.flatnonzero(~kept.all(axis=0))))
    return _Replanned(_over(schedule, trees), int(kept.sum()) - len(kept), moved)  # roots hear from nobody


def _kept(schedule: Schedule, left: Network) -> Repaired | None:
    """Return the repaired trees of a broadcast; None where it goes down none, or they cannot serve its copies."""
    trees = None if schedule.network.past_routes is not None else _trees(schedule)
    if trees is None or schedule.copies == 1:
        return None if trees is None else repaired_trees(trees, left)
    root = left.node(schedule.network.label(trees.root))
    most = min(len(trees), fewest_apart(left, root, schedule.against).ways)
    if most < schedule.copies:
        return None
    found = repaired_trees(trees, left, most)
    apart = taken_apart(found.trees, schedule.against)
    if apart is None:
        return None
    same = (apart.parent == found.trees.parent) & (apart.port == found.trees.port)
    return found._replace(trees=apart, kept=found.kept & same)


def _left(schedule: Schedule, gone: list[int | str], links: Sequence[str]) -> tuple[Network, tuple[str, ...]]:
    """Return the rest of the network, and the labels of the living nodes that are left out with it."""
    network, collective = schedule.network, schedule.collective
    torn = network.without(nodes=gone, links=links)
    reached = np.ones(torn.nodes, np.bool_)
    if collective.all_source:
        import networkx as nx

        ranks = set(torn.ranks.tolist())
        parts = map(set[int], nx.strongly_connected_components(torn.to_networkx()))
        # the part with most ranks; of equal ones the one with the lowest node
        together = max(parts, key=lambda part: (len(part & ranks), len(part), -min(part)))
        reached = np.isin(np.arange(torn.nodes), list(together))
    else:
        start, every = torn.node(network.label(collective.root)), np.arange(torn.nodes)
        if collective.traits.ends != "root":
            reached &= torn.distance(start, every) >= 0
        if collective.traits.starts != "root":
            reached &= torn.reversed().distance(start, every) >= 0
    unreached = tuple(torn.labels(np.flatnonzero(~reached)))
    return (torn if not unreached else torn.without(nodes=unreached)), unreached


def _trees(schedule: Schedule) -> TreeSet | None:
    """Return the spanning trees that a broadcast sends streams down; None where it is none."""
    network, rows = schedule.network, schedule.rows
    collective = schedule.collective
    broadcast = collective.traits.one_to_all and not collective.targets and model(ALL_PORT[0]) <= schedule.model
    if not broadcast or not len(rows) or int(rows.tree.min()) < 0 or not (rows.pace == 1).all():
        return None
    found = trees_of_rows(rows.src, rows.dst, network.nodes, rows.tree)
    spans = np.count_nonzero(found.row >= 0, axis=1) == network.nodes - 1
    # trees that share an arc, or do not span: no streams down them
    if found.clash.any() or not spans.all() or len(np.unique(network.arc(rows.src, rows.port))) < len(rows):
        return None
    port = np.where(found.row < 0, -1, rows.port[found.row]).astype(np.int32)
    return TreeSet(network, collective.root, found.parent.astype(np.int32), port)


def _over(schedule: Schedule, trees: TreeSet) -> Schedule:
    """Return the broadcast of a schedule down other trees, in the fewest steps that they allow."""
    messages, copies, network = schedule.collective.messages, schedule.copies, trees.network
    collective = Collective.over(network, "broadcast", messages, root=trees.root)
    steps, carried = uneven_streams(messages, copies, trees.depths.max(axis=1).tolist())
    claims, rows = Claims(steps, messages * copies * (network.rank_count - 1)), rows_of_streams(trees, carried)
    return Schedule(network, collective, schedule.model, rows, copies, claims=claims, against=schedule.against)


def _planned(schedule: Schedule, left: Network) -> Schedule:
    """Return a new plan of a schedule's job on the rest of its network, by the builder that does it best there."""
    recipe, again = schedule.recipe, replace(job_over(schedule, left), copies=schedule.copies)
    if recipe.whole and recipe.options:  # as it was told to plan, if it still can
        with suppress(PlanError):
            return build(*request(again))
    return build(*request(replace(again, builder=None, options={})))


def _improved(schedule: Schedule, trees: TreeSet, within: float) -> tuple[Schedule, TreeSet] | None:
    """Return the best schedule over trees that exchanges of arcs find in so many seconds, and the trees; None without time."""
    best, end, seed = None, perf_counter() + within, 1
    while perf_counter() < end and trees.height > least_depth(trees.network, trees.root, len(trees)):
        trees, seed = shortened(trees, seed), seed + 1
        tried = _over(schedule, trees)
        if best is None or tried.steps < best[0].steps:
            best = tried, trees
    return best


def _how(found: Repair) -> str:
    if found.schedule is found.before:
        return "there are no faults"
    if found.patched:
        return "rows that still carry stay, and free arcs bring the rest"
    if not found.kept:
        return "planned anew"
    arcs = found.schedule.trees * (found.schedule.network.nodes - 1)
    count = len(found.moved)
    others = f"{count:,} nodes receive from others" if count > 1 else "1 node receives from another"
    named = f"; {others}: {list_few(found.moved, _SHOWN)}" if found.moved else ""
    return f"{found.kept:,} of {count_of(arcs, 'arc')} of the trees stay{named}"


@describe.register
def _(found: Repair) -> Description:
    before, after, changes = found.before, found.schedule, describe(found.difference)
    figures = {
        "network": after.network.spec,
        "unreached": list(found.unreached),
        "steps_before": before.steps,
        "copies_before": before.copies,
        "trees_before": before.trees,
        "patched": found.patched,
        "arcs_kept": 0 if found.patched else found.kept,
        "hear_from_others": list(found.moved),
        **changes.pick("kept", "moved", "new", "gone", "must_be_told"),
        "repair_seconds": round(found.seconds, 6),
    }
    lines: dict[str, object] = {
        "before": count_of(before.steps, "step") + (f" over {count_of(before.trees, 'tree')}" if before.trees else ""),
        "repaired": _how(found),
        **{name: words for name, words in changes.lines.items() if name != "steps"},
        "repaired in": f"{found.seconds:.3g} s" if found.seconds >= 1 else f"{found.seconds * 1e3:.3g} ms",
    }
    if found.unreached:
        lost = f"{count_of(len(found.unreached), 'node')}: {list_few(list(found.unreached), _SHOWN)}"
        lines = {"unreached": lost} | lines
    if before.copies > 1:
        fewer = ": the rest of the network has no more paths" if after.copies < before.copies else ""
        lines["copies"] = f"{after.copies} to each node, {before.copies} before{fewer}"
    return Description(figures, lines).joined(describe(Loss(after, before)), after="to notify")
