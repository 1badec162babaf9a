"""``treecast launch``."""

import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from treecast.cli.options import check_numbers
from treecast.cli.slips import check_command
from treecast.errors import PlanError

_MOST_HERE = 4096  # ranks: each is a process


def launch(
    *program: Annotated[str, Parameter(allow_leading_hyphen=True)],
    ranks: Annotated[int | None, Parameter(alias="-n")] = None,
    timeout: float | None = None,
    tcp: bool = False,
    respawn: int = 0,
    hosts: str | None = None,
    network: str | None = None,
    tie: Annotated[bool, Parameter(negative=())] = False,
    intact: Annotated[bool, Parameter(negative=())] = False,
    tag: Annotated[bool, Parameter(negative=())] = False,
    logs: str | None = None,
) -> int:
    """Start a program in many ranks, so that the others live on when one dies; end all of it in time.

    They are Open MPI's, started by its mpirun, or with --tcp ranks of treecast.tcp on this machine, for which no MPI is needed.

    Also as root, and with more ranks than cores. A rank that fails ends the job, with its status. So do the time limit, Ctrl-C,
    SIGTERM and SIGHUP, and the end of this process by SIGKILL (with --tcp where --tie is given). They end these processes, and
    nothing else. When not all ranks have ended with 0, a line says who ended how. The exit status is then that of the first rank
    that failed, 128 + n when signal n killed all of them, and 0 when the others have survived.

    Example: treecast launch -n 24 --timeout 60 -- python my_program.py

    Parameters
    ----------
    program
        The program and its arguments, behind --.
    ranks
        How many; with --hosts by default as many as the file has room for.
    timeout
        Seconds after which all ranks are ended; the exit status is then 124.
    tcp
        Whether ranks meet by sockets (treecast.tcp) and not by MPI.
    respawn
        With --tcp: how many ranks that a signal has ended are started anew, for Comm.admit to take them in.
    hosts
        With --tcp: a file of the hosts on which ranks are started, by ssh: HOST slots=2, a line for each.
    network
        With --tcp: the network whose links are the only connections, a rank for each node: ring:6, or a file of cables.
    tie
        With --tcp: ranks on this machine end when this process is killed; else they go on. Those elsewhere end in any case.
    intact
        A rank that is killed is no success: the exit status is then 128 + its signal, also when the others have survived.
    tag
        The number of its rank stands before each line that one prints: [2] text.
    logs
        A folder. The lines of rank 2 go into its file rank-2.log, too; one that is there is written anew.
    """
    # 1. Numbers that make sense. An option that launch does not have would be taken for the program.
    check_command("launch", program)
    check_numbers(respawn=respawn, timeout=timeout or 0.0)
    if timeout == 0:
        raise PlanError("--timeout 0 leaves no time: write seconds, as in --timeout 60, or leave it out")
    if (ranks or 0) > _MOST_HERE and not hosts:
        raise PlanError(
            f"{ranks:,} ranks are too many for one machine: write -n {_MOST_HERE} or less, or --tcp --hosts FILE"
        )
    # 2. By sockets, or by MPI; each module is loaded only where it is asked for.
    asked = _asked(tag, logs)
    if tcp:
        from treecast.tcp.launch import launch as launch_by_sockets

        asked |= {"TREECAST_NETWORK": network} if network else {}
        ending = launch_by_sockets(ranks, program, timeout, respawn=respawn, hosts=hosts, tie=tie, environment=asked)
    elif ranks is None or hosts or respawn or tie or network:
        raise PlanError(
            "--hosts, --respawn, --network and --tie go with --tcp" if ranks else "how many ranks? write -n 8, say"
        )
    else:
        from treecast.mpi.job.launch import launch as launch_by_mpi

        ending = launch_by_mpi(ranks, program, timeout, environment=asked)
    # 3. One line, and the status of the job.
    if ending.line:
        sys.stderr.write(f"treecast: {ending.line}\n")
    return ending.status or ending.first * intact


def _asked(tag: bool, logs: str | None) -> dict[str, str]:
    """Return the variables that ask the watchers of ranks for tags and files. Raises PlanError when there can be no files."""
    asked = {"TREECAST_TAG": "1"} if tag else {}
    if logs is None:
        return asked
    try:
        os.makedirs(logs, exist_ok=True)
        # Files of an earlier, larger job would be taken for ranks of this one.
        for old in Path(logs).glob("rank-*.log"):
            old.unlink()
    except OSError as error:
        raise PlanError(f"--logs {logs} is no folder that can be written: {error.strerror}") from None
    return {**asked, "TREECAST_LOGS": os.path.abspath(logs)}
