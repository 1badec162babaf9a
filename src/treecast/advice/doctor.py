"""A benchmark's log beside the network: what its cables allow at each size, what its rings load, and a better order."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treecast.advice.failing import slope_of
from treecast.advice.logs import Log, LogRow, bus_factor, read_log
from treecast.advice.orders import Loads, OrderSearch, ring
from treecast.description import Description, Table, count_of, describe, list_few
from treecast.errors import PlanError, checks_keywords
from treecast.lower_bounds import best, bounds
from treecast.networks import Network
from treecast.networks import network as find_network
from treecast.networks.without import Without
from treecast.plans.amounts import NO_RATE, rate_on
from treecast.plans.job import job
from treecast.schedule.sizes import sizes_as_said
from treecast.units import spell_bytes, spell_seconds
from treecast.writing import read_whole

_MANY = 5040  # chunks of the bound that is named
_ADDED = "2 (N - 1) / N of the bytes enter the cables of each rank  (where switches do not add them up)"
_MUCH = 1 << 50  # bytes, so that rounding says nothing
# Rates are nominal, and times are rounded.
_BEYOND = 1.02  # of what the cables allow: no log reaches so much
_REACHED = 0.8  # of what the cables allow: less is worth a look


@dataclass(frozen=True)
class LogLine:
    """One line of a table: its bytes and seconds, the least seconds by the cables, and both as bus bandwidths, bytes a second."""

    size: int
    seconds: float
    least: float
    busbw: float
    most: float


@dataclass(frozen=True)
class Rings:
    """What rings load: how many the log ``said``, the busbw that the ``busiest`` cables allow, which bear ``load`` hops of each
    ring, and the busbw and order of the best order that was found."""

    said: int
    busbw: float
    load: float
    busiest: tuple[str, ...]
    other: float
    order: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What a log says beside what a network allows.

    ``plain``: where switches add, as the network says, or the log shows, the share of the largest size that was reached of what
    the cables would allow if they did not.
    """

    network: Network
    log: Log
    kind: str
    ranks: int
    hosts: int
    sizes: tuple[LogLine, ...]
    limit: str
    rings: Rings | None
    remarks: tuple[str, ...] = ()
    plain: float | None = None


@checks_keywords
def doctor(
    log: str | os.PathLike[str], network: Any, *, collective: str = "", rate: float | str | None = None
) -> Diagnosis:
    """Set the log of a benchmark beside the network: what its cables allow at each size, and what its rings load.

    Parameters
    ----------
    log : str or path
        The file of what nccl-tests, rccl-tests, OSU or IMB printed; ``NCCL INFO`` lines among it say the rings.
    network
        A Network, its spelling, or the file of the fabric or host. Hosts of the log are found by their names.
    collective : str
        The collective, where the log does not tell, or has several.
    rate : float or str, optional
        The rate of a link in bytes a second, or ``"100Gbit/s"``, where the file says none.

    Returns
    -------
    Diagnosis
        ``sizes``: of each line the seconds, the least seconds, and both as bus bandwidths; ``rings``: what they load.

    Raises
    ------
    FormatError
        When the log has no table of a collective.
    PlanError
        When nothing says how fast links are, or ranks are not found.

    Examples
    --------
    >>> import pathlib, tempfile, treecast
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "osu.txt"
    >>> _ = log.write_text("# OSU MPI Allgather Latency Test v7.3\\n# Size  Avg Latency(us)\\n1000000  400.0\\n")
    >>> (size,) = treecast.doctor(log, "ring:8", rate="100Gbit/s").sizes
    >>> f"{size.least * 1e6:.0f} us, {size.busbw / size.most:.0%} of what is possible"
    '280 us, 70% of what is possible'
    """
    network, read = find_network(network), read_log(read_whole(os.fspath(log)).decode("utf-8", "replace"), collective)
    return _diagnosed(network, read, collective or next(iter(read.tables)), rate)


def _diagnosed(network: Network, log: Log, kind: str, rate: float | str | None) -> Diagnosis:
    if kind not in log.tables:
        raise PlanError(f"the log has no table of {kind}, but of {', '.join(log.tables)}")
    # 1. Who the ranks are, and where.
    per_second = rate_on(network, rate)
    if per_second is None:
        raise PlanError(NO_RATE)
    ranks, counted = _ranks(network, log, kind)
    places, remarks = _places(network, log, ranks)
    nodes = list(dict.fromkeys(places))
    if len(nodes) < 2:
        raise PlanError(f"all ranks of the log are on {network.label(nodes[0])}, so no cable of this network is used")
    # 2. The network as the log used it: ranks that took no part are gone.
    idle = set(network.ranks.tolist()) - set(nodes)
    used = Without(network, idle) if idle else network
    collective = job(kind, used).collective
    bus = bus_factor(kind, ranks) / (ranks if collective.traits.blocks == "pair" else 1)
    rows = [(row, log.total(kind, row.size, ranks)) for row in log.tables[kind] if row.size and row.seconds]
    # 3. The least time by the cables, where switches add or do not.
    (per_byte, limit), adds, plain = _least(kind, used), used.adds is not None, None
    # of a sum that switches do not add up, ranks receive each byte N - 1 times as parts, and N - 1 times as results
    received = 2 * (len(nodes) - 1) / sum(used.reversed().degree_at(u) for u in used.ranks.tolist())
    if collective.traits.results:
        most = max(per_byte, received)
        largest, total = max(rows, default=(LogRow(0, 1.0), 0))
        share = total * most / per_second / largest.seconds
        if not adds and used.relays is not None and share > _BEYOND:
            other = _least(kind, used.adding())
            if share * other[0] / most <= _BEYOND:  # nobody said that they add, and they must
                (per_byte, limit), adds = other, True
        if adds:
            plain = share
        elif received > per_byte:
            per_byte, limit = received, _ADDED
    # 4. Each line of the log beside it.
    found = [
        LogLine(*row, total * per_byte / per_second, bus * total / row.seconds, bus * per_second / per_byte)
        for row, total in rows
    ]
    hosts = len({host for host, _ in log.hosts.values()})
    said = (kind, ranks, hosts, tuple(found), limit)
    return Diagnosis(network, log, *said, _rings(network, log, places, per_second), (*counted, *remarks), plain)


def _least(kind: str, network: Network) -> tuple[float, str]:
    """Return the fewest bytes over a link of capacity 1 for each byte of a collective, and the bound that says so."""
    asked = job(kind, network)
    collective = asked.collective
    bound = best(bounds(replace(collective, messages=_MANY, owners=()), asked.network, 1, asked.model), "steps")
    sizes = sizes_as_said(collective, _MUCH)
    per_byte = slope_of(kind, network) * (sizes.least(collective) if sizes else 0) / _MUCH
    return per_byte, f"{bound.formula}  ({bound.source})"


def _ranks(network: Network, log: Log, kind: str) -> tuple[int, tuple[str, ...]]:
    """Return how many ranks a log is of, and remarks: its columns are right where its lines say another number, or none."""
    said, told = log.ranks or len(log.hosts), log.ranks_told(kind)
    if told is None or told[0] <= said <= told[1]:
        some = count_of(network.rank_count, "rank")
        return (said, ()) if said else (network.rank_count, (f"the log says no number of ranks: {some} are taken",))
    if told[0] == told[1]:
        other = f", where its lines name {said:,}" if said else ""
        return told[0], (f"busbw / algbw is that of {count_of(told[0], 'rank')}{other}",)
    if said or not told[0] <= network.rank_count <= told[1]:
        raise PlanError(
            f"the log's busbw is that of {told[0]:,} to {told[1]:,} ranks: give the whole log, whose lines of '# Rank' name them"
        )
    return network.rank_count, (f"busbw / algbw is that of {told[0]:,} to {told[1]:,} ranks: the network's are taken",)


def _places(network: Network, log: Log, ranks: int) -> tuple[list[int], tuple[str, ...]]:
    """Return the node of each rank, by the host that the log names, or else in the order of the network, and remarks.

    Where the network has some of the hosts, ranks on others are on the first nodes that are free.
    """
    found, lost = dict[int, int](), dict[str, list[int]]()
    alone = len({host for host, _ in log.hosts.values()}) == 1
    for rank in range(ranks):
        host, device = log.hosts.get(rank, ("", 0))
        # the most special first; a number alone may be the name of any node
        names = [f"{host}/gpu{device}", host, host.partition(".")[0], *([f"gpu{device}"] if alone else [])]
        places = [network.node(name) for name in names if name in network and not name.isdigit()]
        if places:
            found[rank] = places[0]
        else:
            lost.setdefault(host, []).append(rank)
    if log.hosts and not found and network.stored:
        raise PlanError(
            f"{network.spec} has none of the hosts of the log: it has {list_few(network.labels(network.ranks), 3)}, "
            f"the log {list_few(list(lost), 3)}"
        )
    shared = len(set(found.values())) < len(found)  # of several ranks on a host
    free = [u for u in network.ranks.tolist() if u not in set(found.values())]
    # ranks of an unknown host share a node where those of known hosts do
    groups = [[rank] for some in lost.values() for rank in some] if not (found and shared) else list(lost.values())
    if len(groups) > len(free):
        here = f"{len(free):,} nodes" + (" that are free" if found else "")
        raise PlanError(
            f"the log has {count_of(ranks, 'rank')} on hosts of other names, and {network.spec} only {here}"
        )
    found |= {rank: node for node, group in zip(free, groups, strict=False) for rank in group}
    return [found[rank] for rank in range(ranks)], _remarks(
        network, log, lost, len(found) > sum(map(len, lost.values()))
    )


def _remarks(network: Network, log: Log, lost: dict[str, list[int]], some: bool) -> tuple[str, ...]:
    """Return what is to be said of ranks whose hosts the network has not."""
    if not lost:
        return ()
    if not some:
        why = "names hosts that the network has not" if log.hosts else "names no host"
        return (f"the log {why}: its ranks are taken in the order of the network's",)
    names = [f"{host!r} is no node{network.meant(host.partition('.')[0])}" for host in lost if host]
    said = list_few(names, 3) if names else "the log names no host of some ranks"
    return (f"{said}: ranks there are taken on the first nodes that are free",)


def _rings(network: Network, log: Log, places: Sequence[int], per_second: float) -> Rings | None:
    """Return what the rings of a log load; without any, what a ring in the order of its ranks does."""
    rings = [each for each in log.rings if set(each) <= set(range(len(places)))] or [list(range(len(places)))]
    loads, nodes = Loads(network), list(dict.fromkeys(places))
    load = np.zeros(len(loads.ends))
    for each in rings:
        # what stays inside a node loads no cable
        sends = [(u, v) for u, v in ring(len(each)) if places[each[u]] != places[each[v]]]
        load += loads.of(sends, [places[rank] for rank in each]) / len(rings)
    search = OrderSearch(loads, ring(len(nodes)), nodes)
    other = loads.of(search.sends, search.best)
    if not load.max() or not other.max():
        return None
    most, order = float(load.max()), tuple(network.labels(np.array(search.best)))
    return Rings(len(log.rings), per_second / most, most, loads.busiest(load), per_second / float(other.max()), order)


def _rate(busbw: float) -> str:
    return f"{busbw / 1e9:,.4g}"


@describe.register
def _(found: Diagnosis) -> Description:
    # 1. How much was reached, and what to look at.
    top, rings = max(found.sizes, key=lambda each: each.size, default=None), found.rings
    lines: dict[str, object] = {
        "network": found.network.spec,
        "log": f"{found.log.tool}: {found.kind}, {count_of(found.ranks, 'rank')}"
        + (f" on {count_of(found.hosts, 'host')}" if found.hosts else ""),
    }
    # gains below one percent are no better order
    better = rings is not None and rings.other > rings.busbw * 1.01
    if top is not None:
        share = top.busbw / top.most
        hint = "the order of hosts" if better else "cables that are slow, and at start-up times"
        said = f"{share:.0%} of what the cables allow at {spell_bytes(top.size)}"
        if found.plain is not None:
            said += f" where switches add, by SHARP or NVLS, {found.plain:.0%} where they do not"
        said += f": look at {hint}" if max(share, found.plain or 0.0) < _REACHED else ""
        lines["reached"] = said + (": is the rate of a link right?" if share > _BEYOND else "")
    lines["limit"] = found.limit
    if rings is not None:
        what = count_of(rings.said, "ring") if rings.said else "a ring in the order of ranks"
        busy = f"{list_few(rings.busiest, 2)} ({rings.load:.3g} of a ring's hops a cable)"
        said = f"another order of hosts: {_rate(rings.other)} GB/s, by treecast place" if better else "no better order"
        lines["rings"] = [f"{what}: at most {_rate(rings.busbw)} GB/s busbw, by {busy}", said]
    if found.remarks:
        lines["remark"] = list(found.remarks)
    # 2. A row for each size.
    columns = ("size", "time", "busbw GB/s", "takes at least", "busbw at most", "reached")
    cells = list[tuple[str, ...]]()
    for each in found.sizes:
        times = spell_seconds(each.seconds), _rate(each.busbw), spell_seconds(each.least), _rate(each.most)
        cells.append((spell_bytes(each.size), *times, f"{each.busbw / each.most:.0%}"))
    # 3. Figures.
    figures = {
        "network": found.network.spec,
        "tool": found.log.tool,
        "collective": found.kind,
        "ranks": found.ranks,
        "limit": found.limit,
        "reached_if_switches_do_not_add": found.plain,
        "sizes": [vars(each) for each in found.sizes],
        "rings": None if rings is None else vars(rings),
    }
    adding = "adding" if found.plain is not None else "adding nothing"
    notes = (
        f"busbw: as nccl-tests counts it; at least, at most: by the cables alone, without start-up times, switches {adding}",
    )
    return Description(figures, lines, (Table(columns=columns, rows=cells, notes=notes, of="sizes"),))
