"""Networks and plans for a number of ranks, compared: the public function."""

from collections.abc import Iterable
from typing import Any, Literal

from treecast.advice.cables import Switchless, switchless
from treecast.advice.networks import Advice, RatePer
from treecast.advice.networks import advise as ask
from treecast.errors import PlanError, checks_keywords
from treecast.plans import plan
from treecast.plans.amounts import amount_of, costs_of
from treecast.verification.verifier import verify

_MOST_SIZES = 1000


@checks_keywords
def advise(
    collective: str,
    nodes: int | Iterable[int],
    *,
    size: int | str,
    latency: float | str,
    rate: float | str,
    item: int | str = 1,
    least_chunk: int | str = 1,
    survive: int = 0,
    max_degree: int | None = None,
    rate_per: RatePer = "link",
    sort: Literal["time", "links"] = "time",
    ports: int | None = None,
) -> Advice | Switchless:
    """Compare networks and plans for a number of ranks. The options that nothing beats are planned and verified.

    Parameters
    ----------
    collective : str
        The collective.
    nodes : int or iterable of int
        How many ranks there are, or which numbers will do: at most 1,000.
    size, item, least_chunk : int or str
        The bytes of all blocks together, of an element (chunks are multiples of it), and the least of a chunk: ``"16MiB"``.
    latency, rate : float or str
        The cost of a send: seconds and bytes a second, or ``"1us"`` and ``"12.5GB/s"``.
    survive : int
        How many unannounced faults must do no harm.
    max_degree : int, optional
        The most links of a node.
    rate_per : {"link", "node"}
        Whether each link carries the whole rate, or a node's links share it.
    sort : {"time", "links"}
        The order of the options.
    ports : int, optional
        The ports of a machine: then machines are joined without a switch, and every graph of up to ten of them is looked at.

    Returns
    -------
    Advice, or Switchless where ports are given
        The options, the best first.

    Raises
    ------
    PlanError
        When nothing fits, or sizes are none.

    Examples
    --------
    >>> import treecast
    >>> treecast.advise("broadcast", 16, size="1MiB", latency="1us", rate="12.5GB/s", max_degree=4).options[0].ranks
    16
    """
    # 1. What is asked: sizes, data, costs.
    wanted = [nodes] if isinstance(nodes, int) else list(nodes)
    if not wanted or min(wanted) < 1 or len(wanted) > _MOST_SIZES:
        raise PlanError(f"networks are compared for 1 to {_MOST_SIZES:,} sizes, from 1 rank on")
    much, costs = amount_of(size, item=item, least_chunk=least_chunk), costs_of(latency, rate)
    if much is None or costs is None:
        raise PlanError(
            "say how much data there is and how much sends cost, as in size='16MiB', latency='1us', rate='12.5GB/s'"
        )
    if ports is not None:  # without switches: machines whose own ports are joined
        if len(wanted) > 1:
            raise PlanError("machines with so many ports are joined for one number of them, not for several")
        return switchless(collective, wanted[0], ports, much, costs, survive=survive)
    # 2. Compare by closed forms.
    kept: dict[str, Any] = {"survive": survive, "most_degree": max_degree, "rate_per": rate_per, "sort": sort}
    found = ask(collective, wanted, much, costs, **kept)
    # 3. The comparison goes by closed forms: what is recommended is made and verified once.
    for each in found.options:
        if each.front:
            how: dict[str, Any] = {"survive": each.survives, "model": each.model, "builder": each.builder}
            schedule = plan(collective, each.network, messages=each.sizes.messages, **how)
            if not verify(schedule) or schedule.steps != each.steps:
                raise PlanError(f"{each.builder} on {each.network} does not take the {each.steps} steps that it claims")
    return found
