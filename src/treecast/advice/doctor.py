"""A benchmark's log beside the network: what its cables allow at each size, what its rings load, and a better order."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treecast.advice.failing import slope_of
from treecast.advice.logs import Log, bus_factor, read_log
from treecast.advice.orders import Loads, OrderSearch, ring
from treecast.description import Description, Table, count_of, describe, list_few
from treecast.errors import PlanError, checks_keywords
from treecast.files import read_whole
from treecast.lower_bounds import best, bounds
from treecast.networks import Network
from treecast.networks import network as find_network
from treecast.networks.without import Without
from treecast.plans.amounts import rate_on
from treecast.plans.job import job
from treecast.schedule.sizes import sizes_as_said
from treecast.units import spell_bytes, spell_seconds

_MANY = 5040  # chunks of the bound that is named
_ADDED = "2 (N - 1) / N of the bytes enter the cables of each rank  (where switches do not add them up)"
_MUCH = 1 << 50  # bytes, so that rounding says nothing
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
    """What a log says beside what a network allows."""

    network: Network
    log: Log
    kind: str
    ranks: int
    hosts: int
    sizes: tuple[LogLine, ...]
    limit: str
    rings: Rings | None
    remarks: tuple[str, ...] = ()


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
    per_second = rate_on(network, rate)
    if per_second is None:
        raise PlanError(
            "nothing says how fast a link is: name the gpu of a matrix, as in gpu='H100', or rate='100Gbit/s'"
        )
    places, remarks = _places(network, log)
    nodes = list(dict.fromkeys(places))
    if len(nodes) < 2:
        raise PlanError(f"all ranks of the log are on {network.label(nodes[0])}, so no cable of this network is used")
    idle = set(network.ranks.tolist()) - set(nodes)
    used = Without(network, idle) if idle else network
    asked, slope, found = job(kind, used), slope_of(kind, used), list[LogLine]()
    collective = asked.collective
    bound = best(bounds(replace(collective, messages=_MANY, owners=()), used, 1, asked.model), "steps")
    limit = f"{bound.formula}  ({bound.source})"
    sizes = sizes_as_said(collective, _MUCH)
    per_byte = slope * (sizes.least(collective) if sizes else 0) / _MUCH
    # of a sum that switches do not add up, ranks receive each byte N - 1 times as parts, and N - 1 times as results
    received = 2 * (len(nodes) - 1) / sum(used.reversed().degree_at(u) for u in used.ranks.tolist())
    if collective.traits.results and received > per_byte:
        per_byte, limit = received, _ADDED
    for size, seconds in log.tables[kind]:
        if size and seconds:
            total = log.total(kind, size, len(places))
            least = total * per_byte / per_second
            bus = total * bus_factor(kind, len(places)) / (len(places) if collective.traits.blocks == "pair" else 1)
            found.append(LogLine(size, seconds, least, bus / seconds, bus / least))
    hosts = len({host for host, _ in log.hosts.values()})
    said = (kind, len(places), hosts, tuple(found), limit)
    return Diagnosis(network, log, *said, _rings(network, log, places, per_second), remarks)


def _places(network: Network, log: Log) -> tuple[list[int], tuple[str, ...]]:
    """Return the node of each rank, by the host that the log names, or else in the order of the network, and remarks."""
    found = list[int]()
    alone = len({host for host, _ in log.hosts.values()}) == 1
    for rank in range(len(log.hosts)):
        host, device = log.hosts.get(rank, ("", 0))
        names = [f"{host}/gpu{device}", host, host.partition(".")[0], *([f"gpu{device}"] if alone else [])]
        found += [network.node(name) for name in names if name in network and not name.isdigit()][:1]
    if found and len(found) == len(log.hosts):
        return found, ()
    ranks = len(log.hosts) or log.ranks or network.rank_count
    if ranks > network.rank_count:
        raise PlanError(
            f"the log has {ranks:,} ranks on hosts of other names, and {network.spec} only {network.rank_count:,}"
        )
    why = "names no host" if not log.hosts else "names hosts that the network has not"
    return network.ranks[:ranks].tolist(), (f"the log {why}: its ranks are taken in the order of the network's",)


def _rings(network: Network, log: Log, places: Sequence[int], per_second: float) -> Rings | None:
    """Return what the rings of a log load; without any, what a ring in the order of its ranks does."""
    rings = [each for each in log.rings if set(each) <= set(range(len(places)))] or [list(range(len(places)))]
    loads, nodes = Loads(network), list(dict.fromkeys(places))
    load = np.zeros(len(loads.ends))
    for each in rings:
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
    top, rings = max(found.sizes, key=lambda each: each.size, default=None), found.rings
    lines: dict[str, object] = {
        "network": found.network.spec,
        "log": f"{found.log.tool}: {found.kind}, {count_of(found.ranks, 'rank')}"
        + (f" on {count_of(found.hosts, 'host')}" if found.hosts else ""),
    }
    better = rings is not None and rings.other > rings.busbw * 1.01
    if top is not None:
        share = top.busbw / top.most
        hint = "the order of hosts" if better else "cables that are slow, and at start-up times"
        lines["reached"] = f"{share:.0%} of what the cables allow at {spell_bytes(top.size)}" + (
            f": look at {hint}" if share < _REACHED else ""
        )
    lines["limit"] = found.limit
    if rings is not None:
        what = count_of(rings.said, "ring") if rings.said else "a ring in the order of ranks"
        busy = f"{list_few(rings.busiest, 2)} ({rings.load:.3g} of a ring's hops a cable)"
        said = f"another order of hosts: {_rate(rings.other)} GB/s, by treecast place" if better else "no better order"
        lines["rings"] = [f"{what}: at most {_rate(rings.busbw)} GB/s busbw, by {busy}", said]
    if found.remarks:
        lines["remark"] = list(found.remarks)
    columns = ("size", "time", "busbw GB/s", "takes at least", "busbw at most", "reached")
    cells = list[tuple[str, ...]]()
    for each in found.sizes:
        times = spell_seconds(each.seconds), _rate(each.busbw), spell_seconds(each.least), _rate(each.most)
        cells.append((spell_bytes(each.size), *times, f"{each.busbw / each.most:.0%}"))
    figures = {
        "network": found.network.spec,
        "tool": found.log.tool,
        "collective": found.kind,
        "ranks": found.ranks,
        "limit": found.limit,
        "sizes": [vars(each) for each in found.sizes],
        "rings": None if rings is None else vars(rings),
    }
    notes = (
        "busbw: as nccl-tests counts it; at least, at most: by the cables alone, without start-up times, switches adding nothing",
    )
    return Description(figures, lines, (Table(columns=columns, rows=cells, notes=notes, of="sizes"),))
