"""Schedules, or their files, carried out in this process: the public functions."""

from typing import Any

from numpy.typing import NDArray

from treecast.api import Planned, schedule_of
from treecast.errors import checks_keywords
from treecast.progress import Progress
from treecast.running.execution import election, local
from treecast.running.execution.election import Election
from treecast.running.execution.layout import bytes_of
from treecast.running.execution.local import Execution
from treecast.simulation.faults import Failing, Faults, faults_of

Data = bytes | bytearray | memoryview | NDArray[Any]
"""An object whose bytes lie one behind the other."""


@checks_keywords
def run(schedule: Planned, data: Data, faults: Failing = None, *, progress: Progress | None = None) -> Execution:
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
) -> Election:
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
