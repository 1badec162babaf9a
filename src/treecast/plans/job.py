"""A job as people ask for it, by its words. Every verb that takes a job takes the words as well."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import cleandoc, getdoc, signature
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from treecast.collectives import COLLECTIVES, Collective, Demand, find_kind
from treecast.collectives.checks import check_reach
from treecast.errors import PlanError, did_you_mean
from treecast.models import MODELS, Model, Ticks
from treecast.models import model as find_model
from treecast.networks import Network, NodeName
from treecast.networks import network as find_network
from treecast.networks.arcs import arcs_over
from treecast.networks.past_relays import PAST, straight_of, whole_of
from treecast.plans.amounts import amount_of, own_costs_of, with_arcs
from treecast.plans.built import Job
from treecast.plans.copies import against_of, copies_of
from treecast.plans.entries import all_options, builders
from treecast.plans.lengths import lengths_by_block, node_of
from treecast.schedule import Schedule
from treecast.schedule.costs import Costs, over_routes
from treecast.schedule.recipe import RENAMED

Words = ParamSpec("Words")
Found = TypeVar("Found")
_THE_WORDS = "job\n    A job, or its words: see ``treecast.job``."


def job(
    collective: Any,
    network: Any = None,
    *,
    root: NodeName | None = None,
    messages: int | None = None,
    copies: int | None = None,
    survive: int | None = None,
    against: str | None = None,
    model: str | Model | None = None,
    builder: str | None = None,
    targets: Sequence[NodeName] = (),
    lengths: int | Sequence[int] | Mapping[Any, int] | None = None,
    bytes: int | str | None = None,  # noqa: A002
    latency: float | str | None = None,
    rate: float | str | None = None,
    costs: Costs | Mapping[Any, Any] | None = None,
    item: int | str = 1,
    least_chunk: int | str = 1,
    chunk: int | str | None = None,
    **options: Any,
) -> Job[Any]:
    """Return a job, which ``plan``, ``program``, ``bounds``, ``alternatives`` and ``repair`` take. They also take its words.

    Parameters
    ----------
    collective
        The collective: ``"broadcast"``, ``"allgather"``, … Or a demand, or what ``treecast.demand`` makes one of: who has which
        chunk, and who wants it. Or a job, or a schedule, which is the job that it was planned for: beside these stand no words
        but those of bytes.
    network
        Where: a Network, its spelling (``"star:5"``), or a networkx graph.
    root
        The node, or its label, that all data comes from or goes to; the default is the first rank.
    messages
        The number of chunks of each source; 1 by default, or the number that takes the least time for the bytes. Of a demand: how
        often there is each of its chunks.
    copies, survive
        Over how many disjoint paths each chunk reaches each node, or how many unannounced faults must do no harm:
        ``survive`` = ``copies`` - 1. The default is one copy.
    against
        Against which faults the copies are: dead ``"nodes"`` (the default; they cover links and arcs), ``"links"`` or ``"arcs"``.
        A network may survive more dead links, or arcs, than nodes.
    model
        The machine: a Model or the name of a preset. The default is ``all-port``, or the model of the builder.
    builder
        The name of a builder. The default is the one that takes the fewest steps, then the fewest transmissions.
    targets
        The nodes or labels that a multicast is to reach.
    lengths
        The flits of each node's message, of a scatterv, gatherv or allgatherv: one number for all, one for each node, or a
        mapping from nodes or labels; a root's counts as 0. Of an alltoallv a matrix: the flits of each node (row) for each
        (column).
    bytes
        How much data there is: ``"16MiB"``, or a number of bytes; all blocks together, those of all nodes or the sum.
    latency, rate
        The costs of a send: its start-up time (``"1us"``, or seconds), and the rate of arcs (``"12.5GB/s"``, ``"100Gbit/s"``, or
        bytes a second). Then the builder and the number of chunks are those that take the least time.
    costs
        The costs of arcs that are unlike the others: a mapping from pairs of nodes or labels to their latency and rate, as in
        ``{("a", "b"): ("20ms", "1Gbit/s")}``. Then plans are shaped by the costs of each arc.
    item
        The bytes of an item, which is not cut, as 8 of a float64.
    least_chunk
        The fewest bytes of a chunk.
    chunk
        The bytes of a chunk, where they are given; where there are lengths, of a flit, which says how many bytes there are.
    **options
        Options of the builder: ``treecast.builders(collective, network)`` lists those of each.

    Returns
    -------
    Job
        Its words are read: names and numbers that cannot be are refused. Whether there is a plan is for ``plan`` to say.

    Raises
    ------
    PlanError, NetworkError
        For a collective, network, node or option that does not exist, and for words that contradict each other.

    Examples
    --------
    >>> import treecast
    >>> job = treecast.job("broadcast", "torus:4x4x4", messages=600, survive=1)
    >>> schedule, bounds = treecast.plan(job), treecast.bounds(job)
    >>> schedule.steps, max(bound.value for bound in bounds if bound.of == "steps")
    (206, 205)
    >>> len(treecast.program(job, "0,0,1")), treecast.plan(treecast.job(schedule)) == schedule
    (11, True)
    """
    if isinstance(collective, Job | Schedule):  # 1. What is a job already keeps all but the bytes.
        words = (network, root, messages, copies, survive, against, model, builder, lengths, *options)
        if np.size(targets) or any(word is not None for word in words):
            raise PlanError(
                "a job fixes all but the bytes: pass bytes, latency and rate alone, or write another job(…)"
            )
        found = cast("Job[Any]", collective)
        if isinstance(collective, Schedule):
            found = job_over(collective, collective.network)
    else:
        wanted, count = copies_of(copies, survive), 1 if messages is None else messages  # 2. Network and collective.
        machine = None if model is None else find_model(model)
        if isinstance(collective, str):
            where = place_of(collective, network)
            if find_kind(collective).adds and (straight := _past(where, machine)) is not where:
                root = None if root is None else where.label(root_of(where, root))
                where = straight
            wished = collective_of(collective, where, root=root, messages=count, targets=targets, lengths=lengths)
        else:
            where, wants = find_network(network), Demand.of(collective).times(count)
            where = _past(where, machine) if wants.sums else where
            if root is not None or np.size(targets) or lengths is not None:
                raise PlanError(
                    "a demand says who has its chunks, who wants them, and how many: leave root, targets and lengths out"
                )
            wished = demanded(where, wants)
        if machine is not None and machine.arcs and where.past_routes is not None and not _is_past(network):
            raise PlanError(
                f"machine {machine.name} says the arcs of relays, which sums go past here: say that they add, by --relays-add"
            )
        # 3. Machine, copies, options.
        usual = "bufferless" if wished.traits.one_way and wanted == 1 else next(iter(MODELS))
        found = Job(
            where,
            wished,
            find_model(usual) if machine is None else machine,
            wanted,
            _named(options),
            against_of(against, wanted),
            builder=builder and RENAMED.get(builder, builder),
            said=frozenset(word for word, value in (("messages", messages), ("model", model)) if value is not None),
        )
    flits, given = found.collective.lengths is not None, found.collective.messages if "messages" in found.said else None
    amount = amount_of(bytes, item=item, least_chunk=least_chunk, chunk=chunk, messages=given, flits=flits)  # 4. Bytes.
    if not isinstance(costs, Costs):  # 5. Costs, unless they are those of the job's own network.
        silent = amount is None and latency is None and rate is None
        default = None if silent else own_costs_of(found.network, latency, rate)
        costs = with_arcs(whole_of(found.network), default, costs)
        if costs is not None and (straight := straight_of(found.network)) is not None:
            costs = over_routes(costs, straight)
    if amount is None and costs is not None:
        raise PlanError("latency and rate are for bytes: say how many, as in bytes='16MiB'")
    return found if amount is None else replace(found, amount=amount, costs=costs)


def _past(network: Network, machine: Model | None) -> Network:
    """Return a network past the relays that do not add.

    Without buffers it is past all, where one does not, or has one port: it hears one contribution at a time.
    """
    past = network.past_relays()
    alone = machine is not None and not machine.buffered and (machine.room or past is not network)
    return network.adding(False).past_relays() if alone and network.adds is not None else past


def _is_past(network: object) -> bool:
    """Return whether somebody names a network past its relays, whose arcs are routes."""
    return straight_of(network) is not None or (isinstance(network, str) and network.endswith(PAST))


def job_over(schedule: Schedule, network: Network) -> Job[Any]:
    """Return the job that a schedule was planned for, with the nodes that are left of it in a network of the same labels."""
    recipe, collective, before = schedule.recipe, schedule.collective, schedule.network
    demand, lengths = collective.demand, None if collective.demand is not None else collective.lengths
    if lengths is not None and network is not before:
        left = [before.node(label) for label in network.labels(range(network.nodes))]
        lengths = collective.lengths_among(np.array(left))
    return job(
        collective.kind if demand is None else demand.named(before).within(network),
        network,
        root=None if collective.all_source else before.label(collective.root),
        messages=collective.messages,
        targets=[label for label in before.labels(collective.targets) if label in network],
        lengths=None if lengths is None else lengths.flits.tolist(),
        copies=recipe.copies or schedule.copies,
        against=None if schedule.against == "nodes" else schedule.against,
        model=_over(schedule.model, before, network),
        builder=recipe.builder or None,
        **options_of(schedule),
    )


def _over(machine: Model, before: Network, network: Network) -> Model:
    """Return the machine with the arcs that are left of it on a network of the same labels."""
    if not machine.arcs or network is before:
        return machine
    ticks = {each[:2]: each[2:] for each in machine.arcs}
    kept = arcs_over(ticks, before, network).items()
    return replace(machine, arcs=tuple(Ticks(*ends, *ticks[arc]) for arc, ends in kept))


def takes(make: Callable[Words, Job[Any]]) -> Callable[[Callable[[Job[Any]], Found]], Callable[Words, Found]]:
    """Return a decorator that lets a function of a job take the words that make one; it then has their documentation, too."""
    listed = (getdoc(make) or "").partition("----------\n")[2].partition("\n\nReturns")[0]

    def taking(verb: Callable[[Job[Any]], Found]) -> Callable[Words, Found]:
        @wraps(verb)
        def taken(*place: Words.args, **words: Words.kwargs) -> Found:
            return verb(make(*place, **words))

        of_words = signature(make).replace(return_annotation=signature(verb).return_annotation)
        taken.__dict__["__signature__"] = of_words
        taken.__doc__ = cleandoc(verb.__doc__ or "").replace(_THE_WORDS, listed)
        return taken

    return taking


def counted(job: Job[Any]) -> Job[Any]:
    """Return a job of a number of messages. Raises PlanError where bytes are to say how many."""
    if job.amount is not None:
        raise PlanError("into how many messages bytes are cut is for plan() to say: give messages instead of bytes")
    return job


def demanded(network: Network, demand: Demand) -> Collective:
    """Return the collective that a demand is on a network. Raises PlanError and NetworkError where there cannot be such a one."""
    found = Collective.of_demand(network, demand)
    check_reach(found, network)
    return found


def collective_of(
    kind: str,
    network: Network,
    *,
    root: NodeName | None = None,
    messages: int = 1,
    targets: Any = (),
    lengths: Any = None,
) -> Collective:
    """Return a collective on a network, from nodes or labels as people give them.

    ``root``: by default the first rank; collectives in which every node has the same part have none. ``messages``: the chunks
    of each source. ``targets``: those of a multicast. ``lengths``: see ``lengths_by_node`` and ``lengths_by_pair``. Raises
    PlanError and NetworkError for a kind, node or length that does not exist, for a relay as a root or target, and for ranks
    that are not reached.
    """
    # 1. The root and the targets, by their names.
    start = root_of(network, root)
    if isinstance(targets, str) or not np.iterable(targets):
        raise PlanError(f"targets are several nodes or labels, not {targets!r}: write [{targets!r}]")
    named = [node_of(network, target, "a target") for target in targets]
    aims = set(named)
    if len(aims) < len(named):
        twice = next(target for target in named if named.count(target) > 1)
        raise PlanError(f"target {network.label(twice)} is named twice: name each once")
    if aims == {start} and find_kind(kind).targets:
        raise PlanError(f"the root {network.label(start)} has the data and is no target: name other nodes")
    for target in sorted(aims):
        _refuse_relay(network, target, "target")
    # 2. Who has a root, and how long blocks are.
    rootless = find_kind(kind).all_source
    if rootless and root is not None and start:  # node 0 may be named: it is what others take by default
        raise PlanError(f"{kind} has no root: every node has data of its own")
    flits = None if lengths is None else lengths_by_block(network, find_kind(kind), start, lengths)
    found = Collective.over(
        network,
        kind,
        messages,
        root=0 if rootless else start,
        targets=tuple(sorted(aims - {start})),
        lengths=flits,
    )
    check_reach(found, network)  # some node may have no way from the root
    return found


def place_of(kind: str, network: Any) -> Network:
    """Return the network on which a collective of some kind is to take place.

    Raises PlanError and NetworkError when there is no such network; the message says so where the two stand the wrong way
    round.
    """
    if isinstance(network, str) and network in COLLECTIVES and kind not in COLLECTIVES:
        raise PlanError(f"{network!r} is no network but a collective: write it first, and then {kind!r}")
    return find_network(network)


def root_of(network: Network, root: NodeName | None) -> int:
    """Return the node that a root is given by: a number or label; by nothing, the first rank.

    Raises PlanError and NetworkError for a value that names no node, and for a relay.
    """
    if root is None:
        return 0 if network.relays is None else int(network.ranks[0])
    start = node_of(network, root, "root") if root else network.node(root)
    _refuse_relay(network, start, "root")
    return start


def _refuse_relay(network: Network, node: int, role: str) -> None:
    if network.relays is not None and network.relays[node]:
        some = network.label(int(network.ranks[0]))
        raise PlanError(
            f"{role} {network.label(node)} is a relay, which has nothing and wants nothing: take a rank, as {some}"
        )


def options_of(schedule: Schedule) -> dict[str, Any]:
    """Return the options of a recipe by keyword; of a file that does not say them, the defaults of its time."""
    recipe, network = schedule.recipe, schedule.network
    said = {name.replace("-", "_"): value for name, value in recipe.options.items()}
    if recipe.whole:
        return said
    named = [
        entry for entry in builders(schedule.collective.kind, network, {recipe.builder}) if entry.name == recipe.builder
    ]
    meant = {option.keyword: option.before(network) for entry in named for option in entry.options}
    return {keyword: value for keyword, value in meant.items() if value} | said


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are given, and not switched off. Raises PlanError for one that no builder has."""
    asked = {keyword: value for keyword, value in options.items() if value is not None and value is not False}
    known, words = all_options() if asked else {}, job.__kwdefaults__ or {}
    for keyword in asked:
        if keyword not in known:
            there = f"; there is: {', '.join(sorted(known))}; and a job has: {', '.join(words)}"
            hint = did_you_mean(keyword, [*known, *words]) or there
            raise PlanError(f"no builder has an option {keyword!r}{hint}")
    return asked
