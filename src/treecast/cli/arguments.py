"""Arguments of several verbs: their annotated types, and how their texts are read."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from cyclopts import Parameter, Token

from treecast.against import AGAINST
from treecast.asked import OPTIONS, field_of, spell_asked
from treecast.cli import console
from treecast.cli.demands import DemandOptions, kind_of, network_of
from treecast.cli.options import Flag, check_numbers, options_under, with_options
from treecast.collectives import COLLECTIVES
from treecast.description import values_of
from treecast.errors import PlanError, TreecastError
from treecast.models import MODELS
from treecast.units import parse_bytes, parse_count, parse_rate

if TYPE_CHECKING:
    from treecast.networks import Network
    from treecast.schedule import Schedule
    from treecast.schedule.costs import Costs
    from treecast.simulation.faults import Faults


_Read = TypeVar("_Read")


def _read_by(parse: Callable[[str], _Read]) -> Callable[[Any, Sequence[Token]], _Read]:
    def read(type_: Any, tokens: Sequence[Token]) -> _Read:
        return parse(tokens[0].value)

    return read


File = Annotated[str, Parameter(allow_leading_hyphen=True, help="The schedule; - is standard input.")]
Kind = Annotated[
    str,
    Parameter(
        converter=_read_by(kind_of),
        help=f"The collective: {', '.join(COLLECTIVES)}; distribute, dispatch, combine; or several of groups at once, as "
        "'allreduce tp + alltoall dp'.",
    ),
]
Spec = Annotated[
    str,
    Parameter(
        converter=_read_by(network_of),
        help="The network: star:5, mesh:8x8, the file of a cluster, … ('treecast networks' lists all families).",
    ),
]
Root = Annotated[str, Parameter(help="The node that all data comes from, or goes to: a label (21345) or a number.")]
Messages = Annotated[
    int, Parameter(converter=_read_by(parse_count), help="The number of messages (chunks); 64k and 1e6 are understood.")
]
Copies = Annotated[
    int | None, Parameter(help="The number of disjoint paths over which each message reaches each node.")
]
Survive = Annotated[int | None, Parameter(help="The number of faults to survive, which nobody detects: copies - 1.")]
AgainstWhat = Annotated[
    str | None,
    Parameter(
        help=f"The parts that may fail: {', '.join(AGAINST)}. Node-disjoint copies, the default, tolerate faulty links and arcs, "
        "too; a network may tolerate more of these than faulty nodes.",
    ),
]
ModelName = Annotated[
    str | None,
    Parameter(
        name="--model",
        help=f"The machine: {', '.join(MODELS)}; ',half' behind it for half duplex, ',combining' where messages combine, "
        "',ports=2' for two ports, ',latency=3' where chunks arrive in three steps.",
    ),
]
FLIT_BYTES = 4096
"""The bytes of a flit of files, where nobody says."""
Flit = Annotated[
    int | None, Parameter(converter=_read_by(parse_bytes), help="The bytes of a flit; by default as planned, or 4,096.")
]
Output = Annotated[str | None, Parameter(alias="-o", allow_leading_hyphen=True)]
Seed = Annotated[int, Parameter(help="The seed of all random choices.")]
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=1, show_default=False)]


@with_options(
    "The file of a network",
    4,
    [(field_of(name), name, option.summary, option.kind) for name, option in OPTIONS.items()],
)
class FileOptions:
    """The options of the file of a network."""


@options_under("Broken parts", 3)
class BrokenParts:
    """The broken parts of a network, which plans leave out."""

    dead_nodes: Annotated[Names, Parameter(help="Nodes that are dead before the plan is made.")] = ()
    cut_links: Annotated[
        Names, Parameter(help="Links that are cut before the plan is made: A-B both ways, A>B one way (in quotes).")
    ] = ()


@options_under("Broken parts", 3)
class BrokenOptions(FileOptions, BrokenParts):
    """The options of the file of a network, and the broken parts of the network."""

    def other(self, network: str, compare_with: str | None) -> str | None:
        """Return how the network to compare with is spelled: for ``whole``, that of the file with its missing parts put back."""
        if compare_with != "whole":
            return compare_with
        return replace(self, whole=True, dead_nodes=(), cut_links=()).less(network)

    def read(self, network: str) -> "Network":
        """Return a network without these parts; a remark on how its file was read goes to standard error."""
        from treecast.networks import families
        from treecast.networks import network as find

        found = find(self.less(network))
        for note in found.notes if network.partition(":")[0] not in families() or network.startswith("file:") else ():
            console.warn(f"{network}: {note}")
        return found

    def less(self, network: str) -> str:
        """Return how a network, as it is asked for, without these parts is spelled."""
        network += spell_asked({name: getattr(self, field_of(name)) for name in OPTIONS})
        for parts, word in ((self.cut_links, "links"), (self.dead_nodes, "nodes")):
            network += f" without {word} {' '.join(parts)}" if parts else ""
        return network


@options_under("The job", 1)
class JobOptions(DemandOptions):
    """A collective on a network, beyond their names."""

    root: Annotated[
        str | None,
        Parameter(
            help="The node that all data comes from, or goes to: a label (21345) or a number; by default the first rank."
        ),
    ] = None
    messages: Messages | None = None
    copies: Copies = None
    survive: Survive = None
    against: AgainstWhat = None
    model: ModelName = None
    targets: Annotated[Names, Parameter(help="The nodes that a multicast is to reach.")] = ()
    lengths: Annotated[
        str | None,
        Parameter(
            help="The flits of each node's message, of a scatterv, gatherv or allgatherv: 3 (all), 0,3,2,… (by node), random:9 "
            "(0 to 9), or a file with a node and its length a line. Of an alltoallv for each pair: also a matrix, as CSV or .npy."
        ),
    ] = None
    files: Annotated[
        str | None, Parameter(help="A folder with a file for each node, for the lengths of their messages.")
    ] = None
    flit: Annotated[
        int | None,
        Parameter(converter=_read_by(parse_bytes), help="The bytes of a flit, for --files; 4,096 by default."),
    ] = None
    seed: Seed = 0

    @property
    def flit_bytes(self) -> int:
        """The bytes of a flit of --files."""
        return FLIT_BYTES if self.flit is None else self.flit

    def read_lengths(self, kind: str, network: "str | Network") -> Any:
        """Return the lengths of a collective that are asked for, as plans take them, or None."""
        from treecast import networks
        from treecast.cli.lengths import parse_lengths
        from treecast.collectives import find_kind
        from treecast.plans.job import root_of

        check_numbers(seed=self.seed)
        if self.flit is not None and self.files is None:
            raise TreecastError(
                "--flit says how long the files of --files are: name a folder of files, or leave it out"
            )
        if self.lengths is not None and self.files is not None:
            raise TreecastError("lengths are given by --lengths, or by the sizes of --files: choose one")
        if self.lengths is None and self.files is None:
            return None
        from treecast.networks.node_files import flits_of, node_files

        where = networks.network(network)
        if self.lengths is not None:
            return parse_lengths(where, self.lengths, self.seed, pairs=find_kind(kind).blocks == "pair")
        if find_kind(kind).blocks == "pair":
            raise TreecastError(f"{kind} has a length for each pair of nodes: give --lengths, not --files")
        root = None if find_kind(kind).all_source else root_of(where, self.root)
        return flits_of(where, node_files(where, self.files or "", root), self.flit_bytes)

    def asked(self, kind: str, network: "str | Network") -> dict[str, Any]:
        """Return all that is asked for, as ``treecast.plan`` takes it, the collective and the network among it."""
        given = values_of(self, "root", "messages", "copies", "survive", "against", "model", "targets")
        collective = self.read(kind, network)
        lengths = self.read_lengths(kind, network) if collective == kind else None
        return given | {"collective": collective, "network": network, "lengths": lengths}


_Signed = Parameter(show_default=False, allow_leading_hyphen=True)  # so that -1us is answered as a time that is none
_USUAL_LATENCY = "2us"
_Amount = Annotated[str | None, _Signed]


@options_under("Bytes and seconds", 2)
class TimeOptions:
    """The cost of a send, in the units that people have."""

    latency: Annotated[_Amount, Parameter(help="The start-up time of a send: 1us, 200ns.")] = None
    rate: Annotated[_Amount, Parameter(help="The rate of a link, each way: 12.5GB/s, 100Gbit/s.")] = None
    costs: Annotated[
        _Amount, Parameter(help="A CSV file of arcs with costs of their own: source,target,latency,rate.")
    ] = None

    def usual(self, network: "Network | None" = None) -> "Costs | None":
        """Return the cost of a send where the table of costs does not say it; None where nobody does, or the file of a network
        may, which is not given."""
        from treecast.plans.amounts import own_costs_of

        if network is None and self.latency is not None and self.rate is None:
            return None
        usual = own_costs_of(network, self.latency, self.rate)
        if usual is None and self.costs is not None:
            raise TreecastError("--costs names arcs that differ: say the cost of the others, by --latency and --rate")
        return usual

    def with_latency(self, network: "str | Network") -> Self:
        """Return the options with a usual latency where a rate is known, and a remark on it; a file may say the rate."""
        from treecast.networks import network as find
        from treecast.networks.past_relays import whole_of
        from treecast.plans.amounts import NO_RATE

        where = whole_of(find(network))
        if self.latency is not None or any(own is not None for own, _ in where.own_costs.values()):
            return self
        if self.rate is None and where.chunk_rate is None and not where.own_costs:
            if "gpu" in where.kinds:
                raise PlanError(NO_RATE)
            return self
        console.warn(f"nobody says how long a send takes to start: {_USUAL_LATENCY} is taken (--latency)")
        return replace(self, latency=_USUAL_LATENCY)

    def read(self, network: "Network") -> "Costs | None":
        """Return the costs of sends on a network; None where nothing is said."""
        from treecast.networks.past_relays import straight_of, whole_of
        from treecast.schedule.costs import over_routes, read_costs

        usual, own = self.usual(network), network.chunk_rate
        if self.rate is not None and own is not None and abs(parse_rate(self.rate) / own - 1) > 1e-9:
            console.warn(
                f"--rate {self.rate} takes the place of the rate in the file, {own * 8 / 1e9:,.6g}Gbit/s an arc"
            )
        if usual is None:
            return None
        found = usual if self.costs is None else read_costs(whole_of(network), self.costs, usual)
        return found if (straight := straight_of(network)) is None else over_routes(found, straight)


@options_under("Bytes and seconds", 2)
class DataOptions(TimeOptions):
    """The amount of data, and the costs of sends."""

    size: Annotated[
        _Amount,
        Parameter(
            name="--bytes", help="How much data there is, all blocks together: 16MiB; of a sum, the whole vector."
        ),
    ] = None
    chunk: Annotated[_Amount, Parameter(help="The bytes of a chunk: 64KiB.")] = None

    def filled(self, network: "str | Network", counted: bool) -> Self:
        """Return the options with a usual latency where bytes are given, and nobody says their messages (``counted``)."""
        return self if self.size is None or self.chunk is not None or counted else self.with_latency(network)

    def timed(self, schedule: "Schedule") -> "Schedule":
        """Return a schedule with the bytes and costs that are said; the others stay as planned."""
        from treecast.schedule.sizes import sizes_as_said

        sizes = sizes_as_said(schedule.collective, self.size, self.chunk) or schedule.sizes
        return replace(schedule, sizes=sizes, costs=self.read(schedule.network) or schedule.costs)


@options_under("Bytes and seconds", 2)
class BytesOptions(DataOptions):
    """The amount of data, the costs of sends, and how data may be cut: then the plan takes the least time."""

    item: Annotated[str, _Signed, Parameter(help="The bytes of an element: chunks are multiples of it.")] = "1"
    least_chunk: Annotated[str, _Signed, Parameter(help="The fewest bytes of a chunk: 4KiB.")] = "1"

    @property
    def asked(self) -> dict[str, Any]:
        """The costs and the cut, as ``treecast.plan`` takes them."""
        return values_of(self, "latency", "rate", "item", "least_chunk")


class _NodesAndLinks:
    """Options of which the first two name nodes and links."""

    def __bool__(self) -> bool:
        return any(list(vars(self).values())[:2])

    def read(self, schedule: "Schedule") -> "Faults":
        """Return the faults that are asked for, or the liars."""
        from treecast.simulation.faults import parse_faults

        return parse_faults(schedule.network, *list(vars(self).values())[:2])


@options_under("Faults", 3)
class FaultOptions(_NodesAndLinks):
    """The faults."""

    dead_nodes: Annotated[Names, Parameter(help="Nodes that fail: NODE, or NODE@STEP.")] = ()
    cut_links: Annotated[
        Names,
        Parameter(
            help="Links that fail: A-B both ways, A>B one way (in quotes), A-B#0 the first of parallel cables; with "
            "@STEP behind if not from the start."
        ),
    ] = ()


@options_under("Faults", 3)
class RandomFaultOptions(FaultOptions):
    """The faults, some of them by chance."""

    random_faults: Annotated[int, Parameter(help="The number of random nodes that fail besides, from the start.")] = 0
    seed: Seed = 0

    def __bool__(self) -> bool:
        return bool(super().__bool__() or self.random_faults)

    def read(self, schedule: "Schedule") -> "Faults":
        """Return the faults that are asked for, those by chance among the other nodes; the root never fails by chance."""
        from treecast.simulation.faults import Faults, random_faults

        check_numbers(seed=self.seed)
        given = super().read(schedule)
        spared = {schedule.collective.root, *given.nodes}
        chosen = random_faults(schedule.network, self.random_faults, self.seed, spared)
        return Faults({**given.nodes, **chosen.nodes}, given.arcs)


@options_under("Faults", 3)
class LiarOptions(_NodesAndLinks):
    """The liars: nodes and links that alter the data that they pass on."""

    lying_nodes: Annotated[
        Names, Parameter(help="Nodes that alter the data that they pass on: NODE, or NODE@STEP.")
    ] = ()
    lying_links: Annotated[
        Names, Parameter(help="Links that alter their data: A-B both ways, A>B one way (in quotes), also with @STEP.")
    ] = ()


@options_under("Over MPI", 4)
class MpiOptions:
    """How a run over MPI goes."""

    mpi: Annotated[
        Flag,
        Parameter(
            help="Over MPI, with a process for each node: started here, or by the mpirun that this runs under. The --dead-nodes "
            "5@3 17@10 kill themselves (SIGKILL) in the middle of a transfer of steps 3 and 10."
        ),
    ] = False
    deadline: Annotated[
        float,
        Parameter(
            help="With --mpi: seconds without any message after which a rank takes the links that it waits for as cut."
        ),
    ] = 30.0
    timeout: Annotated[float, Parameter(help="With --mpi: seconds after which everything is ended.")] = 600.0


def read_steps(text: str | None) -> tuple[int, int]:
    """Return the first step and the one behind the last of ``A:B``; each may be left out."""
    first, colon, last = (text or ":").partition(":")
    if not colon or any(part and not _is_whole(part) for part in (first, last)):
        raise TreecastError(f"--steps is written A:B, as in 3:8, not {text!r}")
    return int(first or 0), int(last or 2**31 - 1)  # beyond all steps


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10  # so it is below 2^31
