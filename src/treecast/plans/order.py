"""The order in which a scheme uses the dimensions of a hypercube or a mesh."""

from collections.abc import Sequence

from treecast.errors import PlanError
from treecast.networks import Network
from treecast.plans.registry import Option


def check_order(dimensions: int, order: Sequence[int] | None) -> tuple[int, ...]:
    """Return the dimensions in the order in which they are used. Raises PlanError when they are not all there, once each."""
    if order is None:
        return tuple(range(dimensions))
    if not hasattr(order, "__iter__"):
        raise PlanError(f"an order of dimensions is a list of them, not {order!r}")
    whole = all(hasattr(port, "__index__") and not isinstance(port, bool) for port in order)
    if not whole or sorted(order) != list(range(dimensions)):
        raise PlanError(
            f"an order of dimensions names each of 0 … {dimensions - 1} once, not {','.join(map(str, order))}"
        )
    return tuple(order)


def _read(text: str, network: Network) -> tuple[int, ...]:
    parts = text.split(",") if text else []
    if any(not (part.isascii() and part.isdigit() and len(part) < 10) for part in parts):
        raise PlanError(f"an order is written as ports with commas between them, as in 3,2,1,0, not {text!r}")
    return tuple(map(int, parts))


def _write(order: Sequence[int], network: Network) -> str:
    if isinstance(order, str) or not hasattr(order, "__iter__"):
        raise PlanError(f"an order of dimensions is a list of them, not {order!r}")
    return ",".join(map(str, order))


ORDER = Option(
    name="order",
    summary="The dimensions (ports, from 0) in the order in which they are used, as in 3,2,1,0.",
    read=_read,
    write=_write,
)
