"""``treecast launch``."""

from typing import Annotated

from cyclopts import Parameter

from treecast.cli.arguments import check_numbers


def launch(
    *program: Annotated[str, Parameter(allow_leading_hyphen=True)],
    ranks: Annotated[int, Parameter(alias="-n")],
    timeout: float | None = None,
    tcp: bool = False,
    respawn: int = 0,
) -> int:
    """Start a program in many ranks, so that the others live on when one dies; end all of it in time.

    They are Open MPI's, started by its mpirun, or with --tcp ranks of treecast.tcp on this machine, for which no MPI is needed.

    Also as root, and with more ranks than cores. A rank of a Python program that fails ends the job, with its status. So do the
    time limit, Ctrl-C, SIGTERM and SIGHUP, and the end of this process by SIGKILL. They end what was started, and nothing else.

    Example: treecast launch -n 24 --timeout 60 -- python my_program.py

    Parameters
    ----------
    program
        The program and its arguments, behind --.
    ranks
        How many.
    timeout
        Seconds after which all ranks are ended; the exit status is then 124.
    tcp
        Whether ranks meet by sockets (treecast.tcp) and not by MPI.
    respawn
        With --tcp: how many ranks that a signal has ended are started anew, for Comm.admit to take them in.
    """
    if timeout is not None:
        check_numbers(timeout=timeout)
    if tcp:
        from treecast.tcp.launch import launch as launch_by_sockets

        return launch_by_sockets(ranks, program, timeout, respawn=respawn)
    from treecast.mpi.job import launch as launcher

    return launcher.launch(ranks, program, timeout)
