"""The paper's tables of lower bounds by formula, Tables 1 to 3 of Fragopoulou & Akl, for star networks and hypercubes."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from treecast.collectives import Collective
from treecast.description import Description, Table, describe
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds
from treecast.models import MODELS
from treecast.networks import Network


def letter_of(network: Network) -> str:
    """Return the paper's letter for the size of a network: n of the star network, k of the hypercube; "" of others."""
    if not network.ports_alike:
        return ""
    return "k" if network.flips_bits else "n"


@dataclass(frozen=True)
class Line:
    """One problem of a table: formula and value of the lower bounds of steps and transmissions."""

    problem: str
    steps_formula: str
    steps: int
    transmissions_formula: str
    transmissions: int


@dataclass(frozen=True)
class BoundTable:
    """One of the paper's tables of lower bounds: its title, the meaning of its letters, and its lines."""

    title: str
    letters: str
    lines: tuple[Line, ...]


@describe.register
def _(table: BoundTable) -> Description:
    rows = [(ln.problem, ln.steps_formula, ln.steps, ln.transmissions_formula, ln.transmissions) for ln in table.lines]
    columns = ("problem", "steps", "", "transmissions", "")
    return Description(asdict(table), tables=(Table(columns, rows, f"{table.title}\n{table.letters}"),))


def tables(network: Network, messages: int = 1, copies: int = 1) -> list[BoundTable]:
    """Return the paper's Tables 1 and 2 of a star network, or 3 of a hypercube, for M messages and x copies.

    Raises PlanError for other networks, and for more copies than the network has disjoint trees.
    """
    if not letter_of(network):
        raise PlanError(f"the paper has tables of star networks and hypercubes, not of {network.spec}")
    if not 1 <= copies <= max(1, network.ports):
        raise PlanError(f"{network.spec} cannot have {copies} copies: it has {network.ports} disjoint trees")
    Collective.over(network, "broadcast", messages)  # raises when the messages are too many or too few
    if network.flips_bits:
        return [_table("Table 3", network, messages, copies)]
    return [_table("Table 1", network, messages, network.ports), _table("Table 2", network, messages, copies)]


_LINES = ("broadcast", "broadcast, x copies", "allgather", "scatter", "alltoall")
_FORMULAS: dict[str, Sequence[tuple[str, str]]] = {
    "Table 1": (  # x = n - 1
        ("⌈M/(n-1)⌉ + D - 1", "M(N-1)"),
        ("M + D - 1", "M(n-1)(N-1)"),
        ("M(N-1)", "M(n-1)N(N-1)"),
        ("M(N-1)", "M(n-1)t"),
        ("Mt", "M(n-1)Nt"),
    ),
    "Table 2": (
        ("⌈M/(n-1)⌉ + D - 1", "M(N-1)"),
        ("⌈Mx/(n-1)⌉ + D - 1", "Mx(N-1)"),
        ("⌈Mx(N-1)/(n-1)⌉", "MxN(N-1)"),
        ("⌈Mx(N-1)/(n-1)⌉", "Mxt"),
        ("⌈Mxt/(n-1)⌉", "MxNt"),
    ),
}
# of the hypercube, whose degree and diameter are k
_FORMULAS["Table 3"] = [(steps.replace("(n-1)", "k").replace("D", "k"), sends) for steps, sends in _FORMULAS["Table 2"]]


def _table(name: str, network: Network, messages: int, copies: int) -> BoundTable:
    nodes, degree, far = network.nodes, max(1, network.ports), max(1, network.diameter)
    t, total = sum_of_distances(network), messages * copies
    sends = (messages * (nodes - 1), total * (nodes - 1), total * nodes * (nodes - 1), total * t, total * nodes * t)
    # What crosses the arcs of the busiest node, which has `degree` of them.
    through = (messages, total, total * (nodes - 1), total * (nodes - 1), total * t)  # over the arcs of one node
    steps = [-(-most // degree) for most in through]
    steps[0], steps[1] = steps[0] + far - 1, steps[1] + far - 1
    lines = (
        Line(problem, formula, at_least, of_sends, value)
        for problem, (formula, of_sends), at_least, value in zip(_LINES, _FORMULAS[name], steps, sends, strict=True)
    )
    if not network.flips_bits:
        where = (
            f"n = {network.ports + 1}, D = ⌊3(n-1)/2⌋ = {far:,}, N = n! = {nodes:,}, t = N (n + 2/n + H_n - 4) = {t:,}"
        )
    else:
        where = f"k = {network.ports}, N = 2^k = {nodes:,}, t = k N / 2 = {t:,}"
    letters = f"{where}, M = {messages:,}, x = {'n - 1 = ' if name == 'Table 1' else ''}{copies:,}"
    return BoundTable(f"{name}: lower bounds on {network.spec}", letters, tuple(lines))


def sum_of_distances(network: Network) -> int:
    """Return Σ distances from node 0, of a network that looks the same from every node."""
    one = Collective.over(network, "scatter")
    return best(bounds(one, network, 1, MODELS["all-port"]), "transmissions").value
