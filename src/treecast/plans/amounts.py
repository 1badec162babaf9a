"""How much data a job has, how it may be cut, and the cost of a send, as people say it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from treecast.errors import PlanError
from treecast.models import Cost
from treecast.networks import Network
from treecast.networks.past_relays import whole_of
from treecast.schedule.costs import Costs
from treecast.units import parse_bytes, parse_rate

NO_RATE = "nothing says how fast a link is: name the gpu of a matrix, as in gpu='H100', or rate='100Gbit/s'"


@dataclass(frozen=True)
class Amount:
    """How much data there is, and how it may be cut.

    ``total``: the bytes of all blocks together: the root's data, or that of all nodes, or the sum. ``item``: the bytes of an
    item, which is not cut. ``least_chunk``: the fewest bytes of a chunk. ``chunk``, ``messages``: the bytes of a chunk, and
    the number of chunks of a block, where they are given.
    """

    total: int
    item: int = 1
    least_chunk: int = 1
    chunk: int | None = None
    messages: int | None = None


def amount_of(
    total: int | str | None,
    *,
    item: int | str = 1,
    least_chunk: int | str = 1,
    chunk: int | str | None = None,
    messages: int | None = None,
    flits: bool = False,
) -> Amount | None:
    """Return how much data people mean; None where they do not say how much.

    ``flits``: whether chunks are flits, whose number is known, so that the bytes of one say all. Raises PlanError and
    TreecastError when a number of bytes is none, and when chunks are given without the bytes that they cut.
    """
    if total is None and chunk is None and item == 1 == least_chunk:
        return None
    items, least = parse_bytes(item), parse_bytes(least_chunk)
    if total is None:
        if flits and chunk is not None:
            return Amount(0, items, least, parse_bytes(chunk), messages)
        if chunk is not None or (items, least) != (1, 1):
            raise PlanError("item, chunk and least chunk say how bytes are cut: say how many, as in bytes='16MiB'")
        return None
    parsed = None if chunk is None else parse_bytes(chunk)
    return Amount(parse_bytes(total), items, least, parsed, messages)


def costs_of(latency: float | str | None, rate: float | str | None) -> Costs | None:
    """Return the cost of a send as people say it; None where they do not.

    Raises PlanError and TreecastError when one of both is missing, or is none.
    """
    if latency is None and rate is None:
        return None
    if latency is None or rate is None:
        hint = "" if rate is not None else " (of a matrix of GPUs gpu='H100' says the rate)"
        raise PlanError(
            f"a send costs its start-up time and its bytes: say both, as in latency='1us', rate='12.5GB/s'{hint}"
        )
    return Costs.of(latency, rate)


def with_arcs(network: Network, usual: Costs | None, arcs: Mapping[Any, Any] | None) -> Costs | None:
    """Return costs with those of some arcs, ``{(source, target): (latency, rate)}``, by numbers or labels.

    Raises PlanError, NetworkError and TreecastError for arcs that are not there, and costs that are none.
    """
    if arcs is not None and not isinstance(cast("object", arcs), Mapping):
        raise PlanError(f"write costs as {{('a', 'b'): ('20ms', '1Gbit/s')}}, not {arcs!r:.60}")
    if not arcs:
        return usual
    if usual is None:
        raise PlanError(
            "costs are of arcs that differ: say the cost of the others, as in latency='1us', rate='12.5GB/s'"
        )
    found = dict[tuple[int, int], Cost]()
    for ends, cost in arcs.items():
        try:
            if isinstance(ends, str):  # two letters would pass for a pair
                raise TypeError
            (source, target), given = ends, cost if isinstance(cost, Cost) else Costs.of(*cost).default
        except (TypeError, ValueError):
            raise PlanError(f"write costs as {{('a', 'b'): ('20ms', '1Gbit/s')}}, not {ends!r}: {cost!r}") from None
        arc = network.node(source), network.node(target)
        if int(network.port_between(*arc)) < 0:
            raise PlanError(f"no arc leads from {source} to {target}, whose cost is given")
        found[arc] = given
    return Costs(usual.default, {**usual.arcs, **found})


def own_costs_of(network: Network | None, latency: float | str | None, rate: float | str | None) -> Costs | None:
    """Return the costs of arcs that a network's file says, beside those that people say; None where neither says any.

    A latency or rate that people say is that of the arcs whose own the file does not say. Where they say none, sends start up in
    the least latency of any arc. Raises PlanError and TreecastError as ``costs_of``.
    """
    if network is None:
        return costs_of(latency, rate)
    said = whole_of(network).own_costs
    if latency is None:
        latency = min((own for own, _ in said.values() if own is not None), default=None)
    if latency is not None and rate is None:
        rate = max((own for _, own in said.values()), default=network.chunk_rate)
    usual = costs_of(latency, rate)
    if usual is None or not said:
        return usual
    start = usual.default.startup
    return Costs(
        usual.default, {ends: Cost(start if own is None else own, 1 / each) for ends, (own, each) in said.items()}
    )


def rate_on(network: Network, rate: float | str | None) -> float | None:
    """Return the rate of a link, in bytes a second: the one that is said, else that of the network's file, if it says one."""
    return network.chunk_rate if rate is None else parse_rate(rate)
