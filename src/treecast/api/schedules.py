"""Schedules, or their files: judged, replayed under faults, and carried out.

``verify("plan.tc")`` is ``verify(load("plan.tc"))``, ``simulate(schedule, ["21345@7"])`` reads the faults for its network.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from numpy.typing import NDArray

from treecast import lower_bounds
from treecast.errors import FormatError, checks_keywords
from treecast.files import formats
from treecast.files.formats import Told
from treecast.models import Model
from treecast.plans import Job, job
from treecast.plans.job import counted, takes
from treecast.progress import Progress
from treecast.running.execution import election, local
from treecast.running.execution.layout import bytes_of
from treecast.schedule import Schedule
from treecast.simulation import replay, sweeps
from treecast.simulation.fault_sets import Kind
from treecast.simulation.faults import Failing, Faults, faults_of
from treecast.simulation.lies import Lies, replay_lies
from treecast.simulation.sweeps import Sweep
from treecast.verification import verifier

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from treecast.files.formats import FileVerdict
    from treecast.lower_bounds import Bound
    from treecast.running.execution.election import Election
    from treecast.running.execution.local import Execution
    from treecast.simulation.bit_replay import Gossip
    from treecast.simulation.replay import Trace
    from treecast.verification.report import Report

Planned = Schedule | str | os.PathLike[str]
"""A schedule, or the file that holds it."""
Data = bytes | bytearray | memoryview | NDArray[Any]
"""An object whose bytes lie one behind the other."""


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
    told: Told | None = None,
) -> "Report | FileVerdict": ...
@checks_keywords
def verify(
    schedule: Planned, model: str | Model | None = None, *, method: str = "fast", told: Told | None = None
) -> "Report | FileVerdict":
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
    return formats.judge(schedule, told, model, method)[0]


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
def run(schedule: Planned, data: Data, faults: Failing = None, *, progress: Progress | None = None) -> "Execution":
    """Carry out a schedule on real bytes, moved step by step between one buffer per node, in this process.

    Nobody knows of ``faults``, as in ``simulate``; both agree send by send.

    Parameters
    ----------
    schedule : Schedule, str or path
        The schedule, or the file that holds it.
    data : bytes, memoryview or array
        The data of all nodes, in the order of the chunks; of an array its bytes, as they lie in memory. For sums it is
        cut into N equal parts, the last filled up with zeros: node h contributes part h, its bytes as unsigned numbers, and
        each sum is exact, in int64. Of a demand with sums it is what each rank adds, rank by rank, and then the copies.
    faults : Faults, str or sequence of str, optional
        The faults, as ``simulate`` takes them.
    progress : callable, optional
        Told how many steps are done, how many there are, and their name.

    Returns
    -------
    Execution
        Who ended with which chunks, and the SHA-256 of each node's data.

    Raises
    ------
    PlanError
        When the data has no bytes, as text, or they do not lie one behind the other; when the buffers do not fit in memory.
    FaultError, NetworkError
        For a fault that names nothing, and when the root is dead from the start.
    FormatError
        When the file holds no schedule, or a wrong one.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
    >>> done = treecast.run(schedule, b"the quick brown fox", ["2134", "4231@1"])
    >>> len(done.living), len(done.intact)
    (22, 22)
    """
    found = schedule_of(schedule)
    return local.run(found, bytes_of(data), faults_of(found.network, faults), progress=progress)


@checks_keywords
def elect(
    schedule: Planned, data: Data, liars: Failing, faults: Failing = None, *, progress: Progress | None = None
) -> "Election":
    """Carry out a schedule while ``liars`` alter data, and let each node elect the value of most of its copies.

    A liar alters, from its step on, every chunk that it passes on; a node all but its own data. In the worst case, which is
    this one, all put in the same: the chunk with every bit flipped. c dead and l lying nodes or arcs do no harm
    while c + 2 l < copies.

    Parameters
    ----------
    schedule : Schedule, str or path
        The schedule, or the file that holds it.
    data : bytes, memoryview or array
        The data of all nodes, in the order of the chunks; of an array its bytes, as they lie in memory.
    liars : Faults, str or sequence of str
        The nodes, links and arcs that lie, written as ``simulate`` takes faults.
    faults : Faults, str or sequence of str, optional
        The faults besides, as ``simulate`` takes them.
    progress : callable, optional
        Told how many steps are done, how many there are, and their name.

    Returns
    -------
    Election
        Who elected the right bytes, who wrong ones, and who could not decide.

    Raises
    ------
    FaultError, NetworkError
        For liars that do not exist, for a root that lies, for collectives that add up, and for sparing schedules.
    PlanError
        When the data has no bytes, as text, or they do not lie one behind the other; when the buffers do not fit in memory.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "star:4", messages=6, copies=3)
    >>> election = treecast.elect(schedule, b"the quick brown fox", ["2134"])
    >>> election.tolerates, len(election.right), election.fooled
    (1, 23, [])
    """
    found = schedule_of(schedule)
    lying, failing = faults_of(found.network, liars) or Faults(), faults_of(found.network, faults)
    return election.elect(found, bytes_of(data), lying, failing, progress=progress)


def schedule_of(schedule: Planned) -> Schedule:
    """Return a schedule, which a file may hold."""
    return schedule if isinstance(schedule, Schedule) else formats.load(schedule)
