"""Which rank goes where: an order of hosts for rings, trees and groups, and how launchers are told of it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treecast.advice.orders import Loads, OrderSearch, Sends, groups_of, ring, tree
from treecast.collectives.demands.layouts import RankMesh
from treecast.description import Description, count_of, describe, list_few
from treecast.errors import PlanError, checks_keywords, did_you_mean
from treecast.networks import Network, NodeName
from treecast.networks import network as find_network
from treecast.networks.reading.hosts import hosts_of
from treecast.plans.amounts import rate_on

_HOST = re.compile(r"\w[\w.:/-]*", re.ASCII)  # which neither shells nor YAML take for more
SHAPES: Mapping[str, Callable[[int], Sends]] = {"ring": ring, "tree": tree}


@dataclass(frozen=True)
class Load:
    """What an order of hosts loads: how many streams the busiest ``cables`` bear, and how many all cables bear together."""

    most: float
    whole: float
    cables: tuple[str, ...]


@dataclass(frozen=True)
class Placement:
    """An order of hosts: rank r goes to host ``r // slots`` of ``hosts``; what it loads, and what the order of today does.

    ``rate``: of a cable, in bytes a second; None where nobody says it.
    """

    network: Network
    shape: str
    hosts: tuple[str, ...]
    slots: int
    load: Load
    today: Load
    rate: float | None

    @property
    def gain(self) -> float:
        """How many times as much each stream gets as in the order of today."""
        return self.today.most / self.load.most if self.load.most else 1.0

    def written(self, form: str) -> str:
        """Return the text that tells a launcher. Raises PlanError for a form that there is not, or labels that are no hosts."""
        if form not in FORMS:
            raise PlanError(
                f"{form!r} is no form of a placement: write one of {', '.join(FORMS)}{did_you_mean(form, FORMS)}"
            )
        if odd := next((host for host in self.hosts if not _HOST.fullmatch(host)), ""):
            raise PlanError(
                f"{odd[:40]!r} is no name of a host: letters, digits and . _ : / - are, behind a letter or digit"
            )
        return "".join(f"{line}\n" for line in FORMS[form](self))


@checks_keywords
def place(
    network: Any,
    shape: str = "ring",
    *,
    hosts: Sequence[NodeName] = (),
    slots: int | None = None,
    rate: float | str | None = None,
) -> Placement:
    """Find which rank goes where: an order of hosts in which what they send loads the busiest cable least.

    Parameters
    ----------
    network
        A Network, its spelling, or the file of the fabric.
    shape : str
        Who sends to whom: ``"ring"``, ``"tree"`` (two binary trees), or the mesh of all ranks, neighbours first, as in
        ``"tp8,pp2,dp4"``: each row along each axis is a ring, and the first ranks share a host.
    hosts : sequence of str or int
        The hosts of the job, in the order of today, also as Slurm writes them, ``"node[01-08]"``; by default all, by name.
    slots : int, optional
        The ranks of a host, for the files of launchers.
    rate : float or str, optional
        The rate of a link in bytes a second, or ``"100Gbit/s"``, where the file says none.

    Returns
    -------
    Placement
        ``hosts`` in the best order that was found, by exchanges of two hosts from several starts, what it loads, and the order of
        today; ``written("slurm")`` tells a launcher.

    Raises
    ------
    PlanError
        When a host is none, ``slots`` below 1, or ranks do not fill the hosts.

    Examples
    --------
    >>> import treecast
    >>> found = treecast.place("ring:8", hosts=[0, 4, 1, 5, 2, 6, 3, 7])
    >>> found.today.most, found.load.most, found.gain
    (3.0, 1.0, 3.0)
    """
    # 1. The hosts: those named, else all, in the order of people, node2 before node10.
    network = find_network(network)
    nodes = [network.node(each) for host in hosts for each in _ranged(network, host)] or sorted(
        network.ranks.tolist(),
        # letters and digits take turns, so numbers meet numbers
        key=lambda u: [int(part) if part.isdigit() else part for part in _parts(network.label(u))],
    )
    relays = [u for u in nodes if network.relays is not None and network.relays[u]]  # a relay is no host
    if relays or len(set(nodes)) < len(nodes):
        odd = network.label(relays[0]) if relays else "a host"
        raise PlanError(f"{odd} {'is a switch' if relays else 'stands twice'}: name the hosts of the job, each once")
    # 2. The shape: whom each rank sends to, and how many ranks a host has.
    if shape not in SHAPES and not re.search(r"[a-z][0-9]", shape):
        raise PlanError(
            f"{shape!r} is none of {', '.join(SHAPES)}, and no mesh like tp8,pp2,dp4{did_you_mean(shape, SHAPES)}"
        )
    if slots is not None and slots < 1:
        raise PlanError(f"slots are {slots}: write a whole number from 1, the ranks of a host")
    sends = SHAPES[shape](len(nodes)) if shape in SHAPES else groups_of(shape, len(nodes))
    each = slots or (1 if shape in SHAPES else RankMesh.of(shape).ranks // len(nodes))
    if shape not in SHAPES and each * len(nodes) != RankMesh.of(shape).ranks:
        raise PlanError(
            f"{shape} on {count_of(len(nodes), 'host')} is {RankMesh.of(shape).ranks / len(nodes):g} ranks a host, not {each}"
        )
    # 3. The best order that is found, and what it loads beside the order of today.
    loads = Loads(network)
    found = OrderSearch(loads, sends, nodes).best
    per_second = rate_on(network, rate)
    before, after = (_loaded(loads, sends, order) for order in (nodes, found))
    if after.most >= before.most - 1e-9 and after.whole >= before.whole - 1e-9:  # 1e-9: loads are floats
        found, after = nodes, before  # nobody moves for nothing
    return Placement(network, shape, tuple(map(network.label, found)), each, after, before, per_second)


def _ranged(network: Network, host: NodeName) -> Sequence[NodeName]:
    """Return the hosts that Slurm's word for several stands for, or the host itself."""
    if not isinstance(host, str) or "[" not in host or host in network:
        return [host]
    try:
        return hosts_of(host)
    except ValueError as error:
        raise PlanError(str(error)) from None


def _parts(label: str) -> list[str]:
    """Return a label in parts, so that host10 comes after host9; letters and digits take turns."""
    return re.split(r"([0-9]+)", label)


def _loaded(loads: Loads, sends: Sends, order: Sequence[int]) -> Load:
    load = loads.of(sends, order)
    return Load(float(load.max(initial=0.0)), float(load @ loads.cables), loads.busiest(load))


# --- how launchers are told ---


def _hostfile(found: Placement) -> Iterator[str]:
    yield from (f"{host} slots={found.slots}" for host in found.hosts)


def _rankfile(found: Placement) -> Iterator[str]:
    for rank in range(len(found.hosts) * found.slots):
        yield f"rank {rank}={found.hosts[rank // found.slots]} slot={rank % found.slots}"


def _slurm(found: Placement) -> Iterator[str]:
    yield from (host for host in found.hosts for _ in range(found.slots))


def _torchrun(found: Placement) -> Iterator[str]:
    words = f"--nnodes={len(found.hosts)} --nproc-per-node={found.slots} --master-addr={found.hosts[0]}"
    yield from (f"{host}: torchrun {words} --node-rank={rank}" for rank, host in enumerate(found.hosts))


def _jobset(found: Placement) -> Iterator[str]:
    yield from (
        "apiVersion: jobset.x-k8s.io/v1alpha2",
        "kind: JobSet",
        "metadata: {name: placed}",
        "spec:",
        "  replicatedJobs:",
    )
    for rank, host in enumerate(found.hosts):
        yield f"  - name: node-{rank}"
        yield "    template: {spec: {template: {spec: {"
        yield f'      nodeSelector: {{kubernetes.io/hostname: "{host}"}}, restartPolicy: Never,'
        yield f'      containers: [{{name: main, image: IMAGE, env: [{{name: NODE_RANK, value: "{rank}"}}]}}]}}}}}}}}'


FORMS: Mapping[str, Callable[[Placement], Iterator[str]]] = {
    "hostfile": _hostfile,
    "rankfile": _rankfile,
    "slurm": _slurm,
    "torchrun": _torchrun,
    "jobset": _jobset,
}
"""The texts that tell launchers: of Open MPI, of Open MPI rank by rank, SLURM_HOSTFILE for ``srun --distribution=arbitrary``,
a command a host, and Kubernetes."""


def _spell(load: Load, rate: float | None) -> str:
    said = (
        f"{load.most:.3g} {'stream' if load.most == 1 else 'streams'} on the busiest cable ({list_few(load.cables, 2)})"
    )
    return said + ("" if rate is None or not load.most else f", {rate / load.most / 1e9:,.4g} GB/s each")


@describe.register
def _(found: Placement) -> Description:
    moved = found.load != found.today
    lines: dict[str, object] = {
        "network": found.network.spec,
        "hosts": f"{len(found.hosts):,}, of {count_of(found.slots, 'rank')} each; {found.shape}",
        "today": _spell(found.today, found.rate),
        "best": _spell(found.load, found.rate) if moved else "today's order: none that was tried loads less",
    }
    if moved:
        lines["gain"] = (
            f"{found.gain:.3g} x on the busiest cable, {found.today.whole / max(found.load.whole, 1e-9):.3g} x on all together"
        )
        lines["order"] = " ".join(found.hosts)
    figures = {
        "network": found.network.spec,
        "shape": found.shape,
        "hosts": list(found.hosts),
        "slots": found.slots,
        "load": vars(found.load),
        "today": vars(found.today),
        "gain": found.gain,
        "rate": found.rate,
    }
    return Description(figures, lines)
