"""Plans of one collective that are those of another: whatever brings more to each node serves for what it lacks.

Communication model: any in which nodes keep the chunks that they relay.

*Collectives.* A plan of equal messages is one of messages of any length that happen to be equal. Where messages combine, their
length is free: so an allgather is an alltoall in which h's blocks go where h's block went, and a broadcast is a scatter; what
nobody needs is left out.

*Networks.* Where messages combine and a node has few ports, plans for hypercubes are the best known: what contains one has them.
"""

from collections.abc import Iterator
from dataclasses import replace
from sys import maxsize
from typing import Any

import numpy as np

from treecast.collectives import COLLECTIVES, Collective, Demand, Kind
from treecast.collectives.checks import check_reach
from treecast.collectives.traits import all_to_all, each_to_each, of_any_length
from treecast.errors import PlanError
from treecast.networks import Hypercube, Network
from treecast.networks.core import Ints
from treecast.networks.recognition import Likeness
from treecast.plans.built import NOTHING, Built, Job
from treecast.plans.carried import on_known
from treecast.plans.choice import build
from treecast.plans.entries import builders, fitting, least_of
from treecast.plans.registry import any_machine, builder, every_port
from treecast.plans.request import request
from treecast.plans.search import best_of
from treecast.plans.whole.one_port.dimensions_in_turn import dimensions, no_cube, node_of_label
from treecast.plans.whole.one_port.models import COMBINING
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads, Rows, Schedule

_MOST_PAIRS = 2**18  # of a block and a node that wants it


def _is_served(kind: Kind) -> bool:
    """Return whether another kind may do the work of a kind: of lengths of its own, or of blocks for one node each."""
    return kind.blocks != "class" and not kind.adds and (kind.lengths or (kind.personal and kind.direction == "from"))


def _serving(job: Job[Any]) -> list[Job[Any]]:
    """Return the jobs whose plans do a job, too: of other collectives, and for a stricter machine."""
    collective, kind, together = job.collective, job.collective.traits, job.model.combining
    sizes = collective.classes[0].size
    messages = 1 if together else int(sizes.max(initial=1))
    more = (
        replace(collective, kind=other.name, messages=messages, lengths=None)
        for other in COLLECTIVES.values()
        if not (other.adds or other.lengths or other.targets) and other.name != kind.name
        if other.starts == kind.starts and other.ends in (kind.ends, "all")
        if together or (other.blocks, other.ends) == (kind.blocks, kind.ends)
    )
    return [
        replace(job, collective=each, builder=None, options={}, said=job.said | {"model"}, likeness=None)
        for each in more
        if (together or np.array_equal(sizes, each.classes[0].size)) and _reaches(each, job.network)
    ]


def _reaches(collective: Collective, network: Network) -> bool:
    """Return whether ways lead to all whom a collective is to reach, who may be more than it serves for."""
    try:
        check_reach(collective, network)
    except PlanError:
        return False
    return True


def _fits(job: Job[Any]) -> str:
    wanting = 1 if job.collective.personal else job.network.rank_count
    pairs = job.collective.first_blocks * wanting * job.copies
    if pairs > _MOST_PAIRS:
        return f"looks at {pairs:,} blocks at those who want them, and {_MOST_PAIRS:,} at most"
    able = any(fitting(builders(each.collective.kind, each.network), each) for each in _serving(job))
    return "" if able else "follows a plan that brings as much or more, and there is none"


def _least(job: Job[Any]) -> tuple[int, int]:
    return min((least_of([each])[0] for each in _serving(job)), default=0), maxsize  # fewer sends alone are no reason


def _is_cheap(job: Job[Any]) -> bool:
    """Return True: it costs what the plan of another collective does."""
    return True


def _contains_cube(network: Network) -> str:
    itself = network.gray == 0 and network.arcs == network.nodes * dimensions(network)
    return "is a hypercube itself" if itself else no_cube(network)


@any_machine(
    "serving",
    _is_served,
    by_root=True,
    most_copies=every_port,
    fits=_fits,
    least=_least,
    cheap=_is_cheap,
    summary="as a collective that brings each node as much or more, without what it does not need",
)
def serving(job: Job[Network]) -> Built:
    """Any machine: the fewest steps of the plans of collectives that do the work of this one, too."""
    if not len(job.collective.classes[0]):
        return NOTHING

    def served() -> Iterator[Built]:
        for each in _serving(job):
            try:
                task, entries = request(each)
                made = build(task, [entry for entry in entries if job.copies == 1 or not entry.sparing]).plain()
            except PlanError:
                continue
            match = _matched(made.collective, job.collective)
            yield _pruned(job, made, match) if job.model.combining else _renumbered(job, made, match)

    return best_of(served(), lambda built: (built.claims.steps, built.claims.transmissions), 0)


def _of_equal_blocks(kind: Kind) -> bool:
    """Return whether a kind is a row of the table whose nodes may take other names, without lengths or targets."""
    return not (kind.lengths or kind.targets)


@builder(
    "serving",
    _of_equal_blocks,
    of_any_length(all_to_all),
    of_any_length(each_to_each),
    under=tuple(name for full in ("whispering", *COMBINING, "shouting") for name in (full, f"{full},half")),
    on=_contains_cube,
    most_copies=dimensions,
    orbit=False,
    backwards=False,
    summary="the plan of a hypercube that spans the network",
)
def hypercube_within(job: Job[Network]) -> Built:
    """Combining: the best plan of a hypercube whose arcs are some of the network's."""
    node = node_of_label(job.network, np.arange(job.network.nodes))  # and the label of each node, too
    known = replace(job, builder=None, said=job.said | {"model"})
    cube = Likeness(job.network, Hypercube(dimensions(job.network)), node, node)
    made = build(*request(on_known(known, cube)))
    return Built(made.rows, Claims(made.steps, made.transmissions), made.collective)


def _matched(more: Collective, collective: Collective) -> Ints:
    """Return the class of a collective that brings more beside each class of another: int64 (classes,)."""

    def key(demand: Demand) -> Ints:
        return demand.holder * more.nodes + (demand.want if more.personal else 0)

    known, sought = key(more.classes[0]), key(collective.classes[0])
    order = np.argsort(known)
    return order[np.searchsorted(known[order], sought)]


def _renumbered(job: Job[Any], made: Schedule, match: Ints) -> Built:
    """Return the rows of a plan of blocks of the same lengths, which are numbered otherwise."""
    (_, first), (_, known) = job.collective.classes, made.collective.classes
    begin = np.zeros(len(known), np.int64)
    begin[match] = first
    table = made.rows.payloads.within_blocks_of(made.collective)
    of = np.searchsorted(known, table.first, side="right") - 1
    shift = begin[of] - known[of]
    payloads = Payloads(table.start, table.first + shift, table.stop + shift)
    return Built(Rows.of(payloads, **made.rows.columns()), Claims(made.steps, made.transmissions))


def _pruned(job: Job[Any], made: Schedule, match: Ints) -> Built:
    """Return the sends of a plan of single chunks, each with all that goes the same way: back from each node that wants some."""
    # 1. By which send each node hears of each chunk first, in each tree.
    sends, nodes, (demand, first) = [*made.expand()], job.network.nodes, job.collective.classes
    step = np.repeat([each.step for each in sends], [len(each.src) for each in sends])
    src, dst, port, tree, chunk = (
        np.concatenate([getattr(each, name) for each in sends]) for name in ("src", "dst", "port", "tree", "chunk")
    )
    tree = tree if job.copies > 1 else tree * 0
    place = (tree * nodes + dst) * made.collective.chunks + chunk
    heard, by = np.unique(place, return_index=True)
    # 2. Back from each target of a class to its holder.
    of, node = demand.wanted
    ways = np.unique(tree)
    of, node, way = np.repeat(of, len(ways)), np.repeat(node, len(ways)), np.tile(ways, len(of))
    holder, source = demand.holder, made.collective.classes[1][match]
    taken = list[Ints]()
    while len(of):
        wanted = (way * nodes + node) * made.collective.chunks + source[of]
        at = np.minimum(np.searchsorted(heard, wanted), len(heard) - 1)
        there = heard[at] == wanted  # of many trees a few lead to each
        of, way, send = of[there], way[there], by[at[there]]
        taken.append(np.stack([send, of]))
        node = src[send]
        onward = node != holder[of]
        of, way, node = of[onward], way[onward], node[onward]
    # 3. A row for each send of a message from node to node.
    send, of = np.unique(np.concatenate(taken, axis=1), axis=1)
    columns = np.stack([step[send], src[send], dst[send], port[send], tree[send]])
    row, number = np.unique(columns, axis=1, return_inverse=True)
    order = np.lexsort((first[of], number.reshape(-1)))
    begin, count = first[of[order]], np.bincount(number.reshape(-1), minlength=row.shape[1])
    ranges = Payloads(starts(count), begin, begin + demand.size[of[order]])
    names = ("step", "src", "dst", "port", *(("tree",) if job.copies > 1 else ()))
    rows = Rows.of(ranges.merged(), steps=1, **dict(zip(names, row, strict=False)))
    return Built(rows, Claims(int(row[0].max()) + job.model.latency, int(demand.size[of].sum())))
