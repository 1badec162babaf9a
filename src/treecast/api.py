"""The public functions of schedules, which also take files and labels: judged, bounded, compared, replayed under faults.

``verify("plan.tc")`` is ``verify(load("plan.tc"))``, ``simulate(schedule, ["21345@7"])`` reads the faults for its network.
The command line calls these as well, so that both can do the same.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import treecast
from treecast import lower_bounds
from treecast.collectives import Demand
from treecast.errors import FormatError, checks_keywords
from treecast.models import Model
from treecast.plans import Job, job
from treecast.plans.after.differences import Difference, difference
from treecast.plans.job import counted, takes
from treecast.progress import Progress
from treecast.schedule import Schedule
from treecast.simulation import replay, sweeps
from treecast.simulation.fault_sets import Kind
from treecast.simulation.faults import Failing, Faults, faults_of
from treecast.simulation.lies import Lies, replay_lies
from treecast.simulation.sweeps import Sweep
from treecast.verification import verifier

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from treecast.lower_bounds import Bound
    from treecast.simulation.bit_replay import Gossip
    from treecast.simulation.replay import Trace
    from treecast.verification.report import Report

Planned = Schedule | str | os.PathLike[str]
"""A schedule, or the file that holds it."""
demand = Demand.of


@takes(job)
def bounds(job: Job[Any]) -> "list[Bound]":
    """Return the known lower bounds of a job, which no schedule can beat, whoever builds it.

    Parameters
    ----------
    job
        A job, or its words: see ``treecast.job``.

    Returns
    -------
    list of Bound
        Each says its measure (``steps``, ``transmissions``, ``tcd``; ``told``, the steps of a gatherv where the root alone
        knows when to begin), its value, its formula and its source. At least one is of steps, one of transmissions.

    Raises
    ------
    PlanError, NetworkError
        For unknown names, for more copies than a source has arcs, for copies of sums.

    Examples
    --------
    >>> import treecast
    >>> for bound in treecast.bounds("broadcast", "star:5", messages=400, survive=2):
    ...     print(bound.of, bound.value, bound.formula)
    transmissions 142800 M x (N - 1)
    steps 305 ⌈M x / degree⌉ + eccentricity - 1
    steps 305 ⌈M x / in-degree⌉ + distance - 1
    steps 305 least T with Σ (T - distance of its neighbor) ≥ M x
    """
    # Bytes are made chunks first: bounds of steps count these.
    task = counted(job)
    found = lower_bounds.bounds(task.collective, task.network, task.copies, task.model, against=task.against)
    return lower_bounds.without_owners(found) if "without_owners" in task.options else found


@overload
def verify(schedule: Schedule, model: str | Model | None = None, *, method: str = "fast") -> "Report": ...
@overload
def verify(
    schedule: str | os.PathLike[str],
    model: str | Model | None = None,
    *,
    method: str = "fast",
    told: "treecast.formats.Told | None" = None,
) -> "Report | treecast.formats.FileVerdict": ...
@checks_keywords
def verify(
    schedule: Planned,
    model: str | Model | None = None,
    *,
    method: str = "fast",
    told: "treecast.formats.Told | None" = None,
) -> "Report | treecast.formats.FileVerdict":
    """Check a schedule against every rule, under its own model or another one, and measure it.

    Parameters
    ----------
    schedule : Schedule, str or path
        The schedule, or the file that holds it; ``"-"`` is standard input.
    model : str or Model, optional
        The machine to judge it under. The default is the model that it was planned for.
    method : {"fast", "expanded"}
        ``fast`` judges streams and orbits as a whole. ``expanded`` judges every send of every chunk, by other means.
    told : treecast.formats.Told, optional
        Facts that a file of another tool leaves open, as in ``Told(network="torus:4x4")``: see docs/reference/formats/index.md.

    Returns
    -------
    Report or FileVerdict
        It is true when no rule is broken. Steps and transmissions are measured, and stand beside the lower bounds. A file of
        MSCCL, MSCCL++, GOAL or SimGrid is judged by the rules of its own format, as by the command line.

    Raises
    ------
    ScheduleError
        When the schedule is too large to judge in memory.
    FormatError
        When the file cannot be read, or has rules of its own beside a model or method.

    Examples
    --------
    >>> import treecast
    >>> report = treecast.verify(treecast.plan("broadcast", "star:4", messages=6, survive=2))
    >>> report.holds, report.steps, list(report.counts)[:4]
    (True, 11, ['adjacent', 'link-once', 'one-chunk', 'holds'])
    >>> bool(treecast.verify(treecast.plan("broadcast", "star:4"), "one-port"))
    False
    """
    if isinstance(schedule, Schedule):
        if told is not None:
            raise FormatError("a schedule says its network and job itself: leave told out")
        return verifier.verify(schedule, model, method)
    return treecast.formats.judge(schedule, told, model, method)[0]


@overload
def simulate(schedule: Planned, faults: Failing = None, liars: None = None) -> "Trace | Gossip": ...
@overload
def simulate(schedule: Planned, faults: Failing = None, *, liars: Faults | str | Sequence[str]) -> Lies: ...
@overload
def simulate(schedule: Planned, faults: Failing, liars: Faults | str | Sequence[str]) -> Lies: ...
@checks_keywords
def simulate(schedule: Planned, faults: Failing = None, liars: Failing = None) -> "Trace | Gossip | Lies":
    """Replay a schedule exactly, while nodes and links fail: which data arrives when, by which way, and which is lost?

    Nobody is told of a fault. A living node sends the data of its rows that it holds; a sum, when all is
    there that it adds to it. In a sparing schedule it leaves out data that has gone over that link before, either way.
    Where something lies, every node elects the value of most of its copies: c dead and l lying nodes or arcs fool nobody about
    data of others while c + 2 l < copies.

    Parameters
    ----------
    schedule : Schedule, str or path
        The schedule, or the file that holds it.
    faults : Faults, str or sequence of str, optional
        The faults: nodes ``2143``, links ``1234-2134``, arcs ``1234>2134``; ``@5`` behind it: from step 5 on, else from the
        start.
    liars : Faults, str or sequence of str, optional
        The nodes and links that alter data, written alike.

    Returns
    -------
    Trace, Gossip or Lies
        A trace knows when chunks arrive at nodes, and the losses of living nodes (``lost``). Of a gossip of more
        than 2^20 sends on a hypercube, a Gossip counts the missing chunks of each node. With liars, Lies tell which data is
        wrong, and where.

    Raises
    ------
    FaultError, NetworkError
        For a fault that names nothing, and when the source of all data fails before the first step, or lies.
    ScheduleError
        When there is too much to replay.
    FormatError
        When the file holds no schedule, or a wrong one.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:5", messages=400, survive=2)
    >>> trace = treecast.simulate(schedule, ["21345@7", "12345-52341"])
    >>> trace.delivered, trace.lost
    (119, [])
    """
    found = schedule_of(schedule)
    lying = faults_of(found.network, liars)
    if lying is not None:
        return replay_lies(found, lying, faults_of(found.network, faults))
    return replay.simulate(found, faults_of(found.network, faults))


@checks_keywords
def sweep(
    schedule: Planned,
    most: int | None = None,
    kind: Kind | None = None,
    *,
    liars: int = 0,
    sample: int | None = None,
    seed: int = 0,
    keep_going: bool = False,
    executor: "Executor | None" = None,
    progress: Progress | None = None,
) -> Sweep:
    """Replay a schedule under every set of at most ``most`` faults: does every living node get everything?

    The replay is exact: it goes through all moves in time, 64 sets at once. Faults are there from the start. The root of a
    collective never fails.

    Parameters
    ----------
    schedule : Schedule, str or path
        The schedule, or the file that holds it.
    most : int, optional
        The most faults of a set. The default is as many as the schedule claims to survive.
    kind : {"nodes", "arcs", "links", "nodes+arcs", "nodes+links"}, optional
        The parts that fail. A link is both arcs between two nodes. By default those that copies are against: nodes as a rule.
    liars : int
        Besides, at most so many others lie, and every honest living node is to elect everything as it is. The default of
        ``most`` is then copies - 1 - 2 liars.
    sample : int, optional
        Try that many random sets of exactly ``most`` faults instead.
    seed : int
        The seed of the random sets, from 0.
    keep_going : bool
        Count all failing sets, instead of stopping at the first.
    executor : concurrent.futures.Executor, optional
        Who does the work: threads, processes (started by spawn), or the ranks of an ``mpi4py.futures.MPIPoolExecutor``. The
        result is the same for all and for any number of workers. By default threads of this process.
    progress : callable, optional
        Told how many sets are done, how many there are, and their name.

    Returns
    -------
    Sweep
        How many sets were tried, how many of them lost something, and the first that did.

    Raises
    ------
    FaultError
        When there are no such sets, when there are too many, and for sums, which survive no fault.
    FormatError
        When the file holds no schedule, or a wrong one.
    TreecastError
        When the executor cannot do the work.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.sweep(treecast.plan("broadcast", "star:4", messages=6, survive=2))
    >>> found.holds, found.sets, found.exhaustive
    (True, 277, True)
    """
    return sweeps.sweep(
        schedule_of(schedule),
        most,
        kind,
        liars=liars,
        sample=sample,
        seed=seed,
        keep_going=keep_going,
        executor=executor,
        progress=progress,
    )


@checks_keywords
def diff(before: Planned, after: Planned) -> Difference:
    """Compare two plans: which rows are kept, moved, new or gone, and which nodes to notify.

    Parameters
    ----------
    before, after : Schedule, str or path
        Schedules of one collective, or their files. Nodes are the same if they have the same labels.

    Raises
    ------
    PlanError
        When they are schedules of different collectives.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.diff(treecast.plan("broadcast", "ring:5"), treecast.plan("broadcast", "path:5"))
    >>> found.kept, found.moved, found.new, found.gone
    (2, 0, 2, 2)
    """
    return difference(schedule_of(before), schedule_of(after))


def schedule_of(schedule: Planned) -> Schedule:
    """Return a schedule, which a file may hold."""
    return schedule if isinstance(schedule, Schedule) else treecast.load(schedule)
