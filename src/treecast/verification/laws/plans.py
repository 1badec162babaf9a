"""The laws of a plan, of whoever makes plans, and of a machine: both verifiers, the bounds and the simulator agree."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

import treecast
from treecast.collectives import COLLECTIVES, Collective
from treecast.discovery import lacking
from treecast.errors import PlanError
from treecast.lower_bounds import schedule_bounds, tightest
from treecast.lower_bounds.proof import of_bounds
from treecast.models import MODELS, Model, model
from treecast.networks import Network, network
from treecast.networks.arcs import arcs_of
from treecast.plans import Builder, all_builders, plan, program
from treecast.plans.entries import builders_of, kinds_of
from treecast.schedule import Payloads, Rows, Schedule
from treecast.simulation.replay import simulate
from treecast.simulation.sweeps import sweep
from treecast.takes import Takes, takes
from treecast.verification.expanded import check_expanded
from treecast.verification.laws.expecting import expect
from treecast.verification.verifier import verify

NETWORKS = (
    "path:4",
    "ring:5",
    "star:3",
    "hypercube:3",
    "mesh:2x3",
    "torus:3x3",
    "complete:4",
    "tree:2,2",
    "debruijn:2,2",
)
"""Small networks on which makers and machines are tried."""
_TINY = ("path:4", "ring:3", "ring:4", "tree:3,1", [[0, 2, 0], [2, 0, 1], [0, 1, 0]])  # the last has parallel arcs
LINKS = ("adjacent", "link-once", "one-chunk", "send-port", "recv-port", "one-partner", "half-port", "duplex")
_MOST_SETS = 3000


def check_plan(schedule: Schedule) -> None:
    """Check a plan: all that judge it must agree that it is right.

    Both verifiers accept it, under its own machine, and find its claims true. The simulator ends at the last step. No lower bound
    is above its steps, nor is the proof of the bound. With copies every set of as many faults as they survive does no harm, if
    there are no more than 3,000. What is written of it is read again.

    Parameters
    ----------
    schedule : Schedule
        The plan.

    Raises
    ------
    AssertionError
        For the first of these that is not so.

    Examples
    --------
    >>> import treecast
    >>> from treecast.testing import check_plan
    >>> check_plan(treecast.plan("broadcast", "hypercube:3", messages=6, survive=2))
    """
    said = (
        f"{schedule.collective.kind} on {schedule.network.spec}, {schedule.recipe.builder}, under {schedule.model.name}"
    )
    # 1. Verifiers
    for method in ("fast", "expanded"):
        report = verify(schedule, method=method)
        expect([violation.text for violation in report.violations], [], f"{said}: the {method} verifier's findings")
    # 2. Simulation
    trace = simulate(schedule)
    taken = trace.steps if schedule.sparing else schedule.steps  # rows of the last steps may be silent
    expect((trace.holds, trace.steps), (True, taken), f"{said}: whether all arrives in the simulator, and its steps")
    # 3. Bounds
    known = schedule_bounds(schedule)
    least = tightest(known, "steps").value
    proof = of_bounds(known, schedule.collective, schedule.network, schedule.copies, schedule.model)
    expect(least <= schedule.steps, True, f"{said}: whether the bound {least} is at most the {schedule.steps} steps")
    proven = 0 if proof is None else proof.steps
    expect(
        proven <= schedule.steps,
        True,
        f"{said}: whether the proof of {proven} steps is at most the {schedule.steps} steps",
    )
    # 4. Faults
    if schedule.copies > 1 and not schedule.collective.sums:
        faults = sweep(schedule, most=0)
        kinds = schedule.network.nodes if schedule.against == "nodes" else schedule.network.arcs
        if kinds ** (schedule.copies - 1) <= _MOST_SETS:
            faults = sweep(schedule)
        expect(faults.counterexample, None, f"{said}: a set of faults that it does not survive")
    # 5. Files, where treecast has some.
    if (schedule.network.spelled or schedule.network.stored) and "treecast.files" not in lacking():
        words = model(replace(schedule.model, arcs=()).spelling)  # a machine of one's own is read by its words
        schedule = replace(schedule, model=replace(words, arcs=schedule.model.arcs))
        formats = treecast.formats
        for name in ("text", "binary"):
            expect(
                formats.decode(formats.encode(schedule, name)) == schedule,
                True,
                f"{said}: whether format {name} reads what it wrote",
            )


def check_maker(
    name: str, networks: Sequence[Any] = NETWORKS, messages: Sequence[int] = (1, 2, 5), **options: Any
) -> None:
    """Check whoever makes plans under a name: a builder, for all collectives and machines that it says it is for.

    Parameters
    ----------
    name : str
        The name under which it is registered.
    networks : sequence
        Networks, as ``treecast.network`` takes them; those that it refuses are passed over.
    messages : sequence of int
        How many messages there are.
    **options
        Options of the builder.

    Raises
    ------
    AssertionError
        For the first plan that breaks a law of ``check_plan``, or has other rows of a node than ``treecast.program``; and if it
        makes no plan at all.
    PlanError
        When there is no such builder.

    Examples
    --------
    >>> from treecast.testing import check_maker
    >>> check_maker("recursive-doubling", networks=["hypercube:3"])
    """
    # 1. Its entries: a name may have several.
    entries = [entry for entry in all_builders() if entry.name == name]
    if not entries:
        raise PlanError(f"there is no builder {name!r}: 'treecast builders' lists those of a job")
    # 2. Every job that one of them says it is for.
    made, refused = 0, ""
    for job in _jobs(entries, [network(each) for each in networks], messages):
        try:
            schedule = plan(builder=name, **job, **options)
        except PlanError as error:
            refused = str(error)  # a builder may refuse a job by right
            continue
        made += 1
        check_plan(schedule)
        _check_nodes(schedule, job | {"builder": name} | options)
    # 3. A maker that makes nothing passes no check.
    if not made:
        reason = refused or "it is for none of them"
        raise AssertionError(f"{name} makes no plan on {', '.join(network(each).spec for each in networks)}: {reason}")


def _jobs(entries: list[Builder], networks: list[Network], messages: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the words of all jobs that are tried."""
    for where in networks:
        for kind in dict.fromkeys(kind for entry in entries for kind in kinds_of(entry)):
            here = [entry for entry in builders_of(kind) if entry.name == entries[0].name and not entry.on(where)]
            machines = dict.fromkeys(each for entry in here for each in entry.models or ("one-port", "all-port"))
            copies = max((entry.most(where) for entry in here), default=1)
            # One copy and the most: those between are made in the same way.
            for machine, count, some in ((m, c, x) for m in machines for c in messages for x in sorted({1, copies})):
                words = {"collective": kind, "network": where, "model": machine, "copies": some}
                row = COLLECTIVES[kind]
                words |= {"lengths": count} if row.lengths else {"messages": count}
                words |= {"targets": where.labels(where.ranks[1::2])} if row.targets else {}
                yield words


def _check_nodes(schedule: Schedule, words: dict[str, Any]) -> None:
    """Hold the rows of nodes against what each knows from its own label, where there is a rule for that."""
    for node in dict.fromkeys((0, schedule.network.nodes // 2, schedule.network.nodes - 1)):
        try:
            own = program(node=node, **words)
        except PlanError:  # no rule says them
            return
        expect(own.rows == schedule.at(node).rows, True, f"{words['builder']}: whether node {node} knows its rows")


def check_machine(machine: str | Model, networks: Sequence[Any] = NETWORKS[:6]) -> None:
    """Check a machine: what its table lets go in a step is what the verifier lets go, and every collective has a plan.

    Parameters
    ----------
    machine : str or Model
        Its name, or a Model of one's own.
    networks : sequence
        Networks on which plans are made, as ``treecast.network`` takes them.

    Raises
    ------
    AssertionError
        For the first set of up to three sends on which they differ, or the first plan that breaks a law of ``check_plan``.
    PlanError
        When there is no such machine, or no plan for it.

    Examples
    --------
    >>> import treecast
    >>> from treecast.testing import check_machine
    >>> check_machine(treecast.Model("mine", ports=2, latency=3), ["ring:4"])
    """
    # 1. The machine's own words.
    own = model(machine) if isinstance(machine, str) else machine
    expect(
        (own <= own, model(own.spelling).normal),
        (True, own.normal),
        f"{own.name}: its order, and what its spelling finds",
    )
    # 2. What its table lets go in a step, against the verifier, by all sets of few sends.
    if not own.routing and own.buffered:
        for where in map(network, _TINY):
            sets, schedule = steps_of(where, 3)
            table, right = takes(own, where), fitting(schedule, own)
            for step, sends in enumerate(sets):
                expect(
                    fits(table, sends),
                    step in right,
                    f"{own.name} on {where.spec}: whether the arcs {sends} go together",
                )
    # 3. Every collective has a plan.
    for where in map(network, networks):
        for kind, row in COLLECTIVES.items():
            if not (row.lengths or row.targets) and (where.grid is not None or not own.routing):
                check_plan(plan(kind, where, messages=2, model=own))


def steps_of(where: Network, most: int) -> tuple[list[tuple[int, ...]], Schedule]:
    """Return all multisets of up to so many arcs, and a schedule that has each in a step of its own, whatever the data."""
    arcs = arcs_of(where)
    sets = [some for size in range(1, most + 1) for some in combinations_with_replacement(range(len(arcs.head)), size)]
    # No plan at all: each set in a step of its own, whatever the data, so that only rules of links can break.
    rows = [(step, arc, place) for step, sends in enumerate(sets) for place, arc in enumerate(sends)]
    step, arc, chunk = np.array(rows).T
    ends = {"src": arcs.tail[arc], "dst": arcs.head[arc], "port": arcs.port[arc]}
    one, none = np.ones_like(step), np.zeros_like(step)
    payloads = Payloads.of_ranges(range(most), range(1, most + 1))
    found = Rows.of(payloads, step=step, steps=one, tree=none, payload=chunk, **ends)
    return sets, Schedule(where, Collective.over(where, "broadcast", most), MODELS["all-port"], found)


def fitting(schedule: Schedule, machine: Model) -> set[int]:
    """Return the steps in which the rules of links hold, by the verifier that judges every send."""
    refused = set[int]()
    for rule, (_, breaches) in check_expanded(schedule, machine, shown=len(schedule.rows))[0].items():
        if rule in LINKS:
            refused.update(int(schedule.rows.step[breach.row]) for breach in breaches)
    return set(range(schedule.steps)) - refused


def fits(table: Takes, sends: Sequence[int]) -> bool:
    """Return whether some arcs go together: whether every resource has room for all keys under which it is taken."""
    taken = {
        (resource, key if key >= 0 else ("send", place))
        for place, arc in enumerate(sends)
        for resource, key in zip(table.resource[arc].tolist(), table.key[arc].tolist(), strict=True)
    }
    return all(count <= table.room[resource] for resource, count in Counter(resource for resource, _ in taken).items())
