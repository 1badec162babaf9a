"""Questions of whoever has a cluster: which cable hurts, how far a benchmark is from its cables, which rank goes where."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treecast.files import read_whole
from treecast.keywords import checks_keywords
from treecast.networks import NodeName
from treecast.plans.job import place_of

if TYPE_CHECKING:
    from treecast.advice.doctor import Diagnosis
    from treecast.advice.failing import Failures
    from treecast.advice.placing import Placement
    from treecast.models import Model


@checks_keywords
def cables(
    network: Any,
    collective: str = "alltoall",
    *,
    bytes: int | str | None = None,  # noqa: A002
    rate: float | str | None = None,
    plans: int | None = None,
    root: NodeName | None = None,
    model: "str | Model | None" = None,
) -> "Failures":
    """Return what each cable and each switch would cost if it died alone, the dearest first.

    Parameters
    ----------
    network
        A Network, its spelling, a file, or a networkx graph. Cables of a file have the names of their ports, if it says them.
    collective : str
        The collective that gets longer: by lower bounds, without start-up times.
    bytes : int or str, optional
        How much data there is, all blocks together: ``"16MiB"``; 1 GB by default.
    rate : float or str, optional
        The rate of a link in bytes a second, or ``"100Gbit/s"``, where the file says none.
    plans : int, optional
        For how many of the dearest plans are made as well; by default 3 where at most 64 ranks take part, else none.
    root : int or str, optional
        The node that all data comes from, or goes to.
    model : Model or str, optional
        The machine; ``all-port`` by default.

    Returns
    -------
    Failures
        ``found``: parts that look alike, the share by which the collective gets longer (``more``), and the ranks that are cut
        off. Parts that look alike from all around, to a colour refinement, are tried once.

    Raises
    ------
    PlanError
        When no bound is known, and for too many parts.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.cables([("a", "b", 2), ("b", "c", 2), ("c", "a")], "alltoall", rate="100Gbit/s")
    >>> [(each.parts[0].name, len(each.parts), each.more) for each in found.found]
    [('a - b #0', 4, 0.5), ('a - c', 1, 0.5)]
    """
    from treecast.advice.failing import failures

    where = place_of(collective, network)
    return failures(where, collective, size=bytes, rate=rate, plans=plans, root=root, model=model)


@checks_keywords
def doctor(
    log: "str | os.PathLike[str]", network: Any, *, collective: str = "", rate: float | str | None = None
) -> "Diagnosis":
    """Set the log of a benchmark beside the network: what its cables allow at each size, and what its rings load.

    Parameters
    ----------
    log : str or path
        The file of what nccl-tests, rccl-tests, OSU or IMB printed; ``NCCL INFO`` lines among it say the rings.
    network
        A Network, its spelling, or the file of the fabric or host. Hosts of the log are found by their names.
    collective : str
        The collective, where the log does not tell, or has several.
    rate : float or str, optional
        The rate of a link in bytes a second, or ``"100Gbit/s"``, where the file says none.

    Returns
    -------
    Diagnosis
        ``sizes``: of each line the seconds, the least seconds, and both as bus bandwidths; ``rings``: what they load.

    Raises
    ------
    FormatError
        When the log has no table of a collective.
    PlanError
        When nothing says how fast links are, or ranks are not found.

    Examples
    --------
    >>> import pathlib, tempfile, treecast
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "osu.txt"
    >>> _ = log.write_text("# OSU MPI Allgather Latency Test v7.3\\n# Size  Avg Latency(us)\\n1000000  400.0\\n")
    >>> (size,) = treecast.doctor(log, "ring:8", rate="100Gbit/s").sizes
    >>> f"{size.least * 1e6:.0f} us, {size.busbw / size.most:.0%} of what is possible"
    '280 us, 70% of what is possible'
    """
    from treecast.advice.doctor import diagnose
    from treecast.advice.logs import read_log
    from treecast.networks import network as find_network

    text = read_whole(os.fspath(log)).decode("utf-8", "replace")
    return diagnose(find_network(network), read_log(text, collective), collective, rate)


@checks_keywords
def place(
    network: Any,
    shape: str = "ring",
    *,
    hosts: Sequence[NodeName] = (),
    slots: int | None = None,
    rate: float | str | None = None,
) -> "Placement":
    """Find which rank goes where: an order of hosts in which what they send loads the busiest cable least.

    Parameters
    ----------
    network
        A Network, its spelling, or the file of the fabric.
    shape : str
        Who sends to whom: ``"ring"``, ``"tree"`` (two binary trees), or the mesh of all ranks, neighbours first, as in
        ``"tp8,pp2,dp4"``: each row along each axis is a ring, and the first ranks share a host.
    hosts : sequence of str or int
        The hosts of the job, in the order of today; by default all, by name.
    slots : int, optional
        The ranks of a host, for the files of launchers.
    rate : float or str, optional
        The rate of a link in bytes a second, or ``"100Gbit/s"``, where the file says none.

    Returns
    -------
    Placement
        ``hosts`` in the best order that was found, by exchanges of two hosts from several starts, what it loads, and the order of
        today; ``written("slurm")`` tells a launcher.

    Raises
    ------
    PlanError
        When a host is none, or ranks do not fill the hosts.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.place("ring:8", hosts=[0, 4, 1, 5, 2, 6, 3, 7])
    >>> found.today.most, found.load.most, found.gain
    (3.0, 1.0, 3.0)
    """
    from treecast.advice.placing import place as placed
    from treecast.networks import network as find_network

    return placed(find_network(network), shape, hosts=hosts, slots=slots, rate=rate)
