"""Lower bounds: what no schedule can beat, each with its formula and its source."""

from dataclasses import dataclass

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.models import Model
from treecast.networks import Network


@dataclass(frozen=True)
class Bound:
    """A lower bound: of what (``steps`` or ``transmissions``), its value, its formula, and where it comes from."""

    of: str
    value: int
    formula: str
    source: str


def bounds(network: Network, collective: Collective, copies: int, model: Model) -> list[Bound]:
    """Return the lower bounds that are known, for schedules by which every chunk reaches every node over ``copies`` ways.

    Raises PlanError when the root has fewer arcs than copies.
    """
    degree = network.degree_at(collective.root)
    if network.nodes > 1 and copies > degree:
        raise PlanError(
            f"{copies} copies need {copies} disjoint ways, but {degree} arcs leave the root on {network.spec}"
        )
    return _broadcast(network, collective, copies, model, degree) if collective.kind == "broadcast" else []


def best(found: list[Bound], of: str) -> Bound:
    """Return the greatest of the bounds of ``steps`` or of ``transmissions``."""
    return max((bound for bound in found if bound.of == of), key=lambda bound: bound.value)


def _broadcast(network: Network, collective: Collective, copies: int, model: Model, degree: int) -> list[Bound]:
    """Return the bounds of broadcast from a root that ``degree`` arcs leave.

    A node at distance e from the root hears all M messages x times, over ways that begin with M x sends of the root; the
    last of these begins no earlier than step ⌈M x / ports⌉, and needs e steps.
    """
    messages, nodes = collective.messages, network.nodes
    total = messages * copies
    if nodes == 1:
        return [Bound("steps", 0, "0", "one node"), Bound("transmissions", 0, "0", "one node")]
    far = network.eccentricity(collective.root)
    found = [
        Bound(
            "transmissions",
            total * (nodes - 1),
            "M x (N - 1)",
            "each node but the root hears M messages x times",
        )
    ]
    if model.combining:
        # any number of chunks in a step: only distance counts, and with one port that informed nodes double
        found.append(Bound("steps", far, "eccentricity", "a chunk goes one arc a step"))
        if model.ports == "one":
            found.append(Bound("steps", (nodes - 1).bit_length(), "⌈log2 N⌉", "informed nodes at most double"))
    elif model.ports == "all":
        found.append(
            Bound(
                "steps",
                -(-total // degree) + far - 1,
                "⌈M x / degree⌉ + eccentricity - 1",
                "Fragopoulou & Akl, Table 1",
            )
        )
    else:
        found.append(Bound("steps", total + far - 1, "M x + eccentricity - 1", "the root's one port"))
        found.append(
            Bound(
                "steps",
                messages - 1 + (nodes - 1).bit_length(),
                "M - 1 + ⌈log2 N⌉",
                "informed nodes at most double",
            )
        )
    return found
