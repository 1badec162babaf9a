"""The order in which a scheme uses the dimensions of a hypercube or a mesh."""

from collections.abc import Sequence

from treecast.errors import PlanError


def checked_order(dimensions: int, order: Sequence[int] | None) -> tuple[int, ...]:
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
