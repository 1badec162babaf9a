"""``treecast launch``."""

import sys
from typing import Annotated

from cyclopts import Parameter

from treecast.cli.arguments import check_numbers
from treecast.errors import PlanError


def launch(
    *program: Annotated[str, Parameter(allow_leading_hyphen=True)],
    ranks: Annotated[int | None, Parameter(alias="-n")] = None,
    timeout: float | None = None,
    tcp: bool = False,
    respawn: int = 0,
    hosts: str | None = None,
    intact: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Start a program in many ranks, so that the others live on when one dies; end all of it in time.

    They are Open MPI's, started by its mpirun, or with --tcp ranks of treecast.tcp on this machine, for which no MPI is needed.

    Also as root, and with more ranks than cores. A rank that fails ends the job, with its status. So do the time limit, Ctrl-C,
    SIGTERM and SIGHUP, and the end of this process by SIGKILL. They end what was started, and nothing else. When not all ranks
    have ended with 0, a line says who ended how. The exit status is then that of the first rank that failed, 128 + n when
    signal n killed all of them, and 0 when the others have survived.

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
    intact
        A rank that is killed is no success: the exit status is then 128 + its signal, also when the others have survived.
    """
    if timeout is not None:
        check_numbers(timeout=timeout)
    if tcp:
        from treecast.tcp.launch import launch as launch_by_sockets

        ending = launch_by_sockets(ranks, program, timeout, respawn=respawn, hosts=hosts)
    elif ranks is None or hosts or respawn:
        raise PlanError("--hosts and --respawn go with --tcp" if ranks else "how many ranks? write -n 8, say")
    else:
        from treecast.mpi.job.launch import launch as launch_by_mpi

        ending = launch_by_mpi(ranks, program, timeout)
    if ending.line:
        sys.stderr.write(f"treecast: {ending.line}\n")
    return ending.status or (128 + ending.signal if intact and ending.signal else 0)
