"""Which rank this process is, of how many, and where they meet: from the environment that its launcher has left."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from treecast.errors import PlanError
from treecast.networks import Network

Address = tuple[str, int]


class Start(NamedTuple):
    """Which rank this is, of how many, where they meet, and whether rank 0 itself has to hold the meeting place."""

    rank: int
    size: int
    places: tuple[Address, ...] = ()
    held_by_zero: bool = True


def read_places(text: str) -> tuple[Address, ...]:
    """Return the addresses of a list of ``host:port``. Raises PlanError for others.

    >>> read_places("10.0.0.1:4000,node7:4000")
    (('10.0.0.1', 4000), ('node7', 4000))
    """
    found: list[Address] = []
    for word in filter(None, text.split(",")):
        host, _, port = word.strip().rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
            raise PlanError(f"{word!r} is no place to meet: write host:port, with commas between several")
        found.append((host.strip("[]"), int(port)))
    return tuple(found)


def at_links(places: Iterable[Address], where: Network | None, size: int) -> list[Address] | None:
    """Return where each rank listens, when the place to meet names that of each; its neighbours connect to it there.

    ``{rank}`` in the name of a host is the number of the rank, ``{name}`` that of its node.

    >>> from treecast.networks import network
    >>> at_links([("h{rank}", 7000)], network("ring:3"), 3)
    [('h0', 7000), ('h1', 7000), ('h2', 7000)]
    """
    for host, port in places:
        if "{" in host:
            names = [str(rank) for rank in range(size)] if where is None else where.labels()
            return [(host.replace("{rank}", str(k)).replace("{name}", names[k]), port) for k in range(size)]
    return None


def find_start(environment: Mapping[str, str] = os.environ) -> Start:
    """Return how a launcher has started this process; rank 0 of 1 where none has.

    Raises PlanError when a launcher has said who this is, but nobody where to meet.

    >>> find_start({"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "node0", "MASTER_PORT": "29500"})
    Start(rank=1, size=4, places=(('node0', 29501),), held_by_zero=True)
    """
    meet = read_places(environment.get("TREECAST_MEET", ""))
    for name, (rank, size, place) in _LAUNCHERS.items():
        if rank not in environment or size not in environment:
            continue
        ours, number = _number(environment, rank), _number(environment, size)
        places = meet or place(environment)
        if number > 1 and not places:
            raise PlanError(
                f"{name} has started rank {ours} of {number}, but where they meet is open: TREECAST_MEET=host:port"
            )
        if not 0 <= ours < number:
            raise PlanError(f"{rank}={ours} is no rank of {size}={number}")
        return Start(ours, number, places, rank != "TREECAST_RANK")
    return Start(0, 1)


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise PlanError(f"{name}={environment[name]!r} is no number") from None


def _beside_master(environment: Mapping[str, str]) -> tuple[Address, ...]:
    """Return the port after that of torchrun's agent, which holds its own."""
    if "MASTER_ADDR" not in environment or "MASTER_PORT" not in environment:
        return ()
    return ((environment["MASTER_ADDR"], _number(environment, "MASTER_PORT") + 1),)


def _of_slurm(environment: Mapping[str, str]) -> tuple[Address, ...]:
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_NODELIST", "")
    if not nodes:
        return ()
    job, step = (int(environment.get(name, "0") or 0) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
    return ((first_host(nodes), 20_000 + (job * 97 + step) % 20_000),)


def first_host(nodes: str) -> str:
    """Return the first host of Slurm's list of nodes.

    >>> first_host("gpu[007-012,20],login1"), first_host("a1,b2")
    ('gpu007', 'a1')
    """
    found = re.match(r"([^,\[]*)(?:\[([^\],-]*)[^\]]*\]([^,]*))?", nodes)
    return "".join(filter(None, found.groups())) if found else nodes


_LAUNCHERS: Mapping[str, tuple[str, str, Callable[[Mapping[str, str]], tuple[Address, ...]]]] = {
    "treecast launch": ("TREECAST_RANK", "TREECAST_SIZE", lambda _: ()),
    "torchrun": ("RANK", "WORLD_SIZE", _beside_master),
    "mpirun": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", _beside_master),
    "mpiexec": ("PMI_RANK", "PMI_SIZE", _beside_master),
    "srun": ("SLURM_PROCID", "SLURM_NTASKS", _of_slurm),
    "Kubernetes": ("JOB_COMPLETION_INDEX", "TREECAST_SIZE", lambda _: ()),
}
"""By launcher: the variables of rank and size, and where ranks meet when TREECAST_MEET does not say so."""
