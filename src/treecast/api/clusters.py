"""Questions of whoever has a cluster: which cable hurts."""

from typing import TYPE_CHECKING, Any

from treecast.keywords import checks_keywords
from treecast.networks import NodeName
from treecast.plans.job import place_of

if TYPE_CHECKING:
    from treecast.advice.failing import Failures
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
