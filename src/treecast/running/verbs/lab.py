"""Build a network out of network namespaces on this machine (Linux, root), and run programs across it."""

import shlex
from typing import Annotated

from cyclopts import App, Parameter

from treecast.cli import console
from treecast.cli.slips import check_command

lab = App(name="lab", help_format="plaintext")


@lab.command
def run(
    network: Annotated[str, Parameter(help="The network: at most 64 nodes, as in hypercube:3 or star:4.")],
    /,
    *command: Annotated[
        str, Parameter(allow_leading_hyphen=True, help="The command of each host; write it behind --.")
    ],
    rate: Annotated[str, Parameter(help="The rate of each link, each way: 100Mbit/s, 2.5Gbit/s.")] = "100Mbit/s",
    cut_links: Annotated[
        tuple[str, ...],
        Parameter(
            consume_multiple=True,
            show_default=False,
            help="Links to cut in mid-run: A-B@SECONDS after COMMAND has started on all hosts, or A-B@mark+SECONDS after it has "
            "made the file $TREECAST_LAB/mark.",
        ),
    ] = (),
    switch: Annotated[bool, Parameter(show_default=False)] = False,
    no_mpi: Annotated[bool, Parameter(show_default=False)] = False,
    once: Annotated[bool, Parameter(show_default=False)] = False,
    mpirun: Annotated[str, Parameter(allow_leading_hyphen=True)] = "",
    timeout: float | None = None,
) -> int:
    """Run a command on every host of an emulated network, by mpirun, one rank per node; then take everything down.

    Example: treecast lab run hypercube:3 --rate 100Mbit/s --cut-links 000-001@2.5 -- python program.py

    Parameters
    ----------
    switch
        Join all hosts by one switch, with one port of that rate each, instead of a link for every two: complete:8 --switch.
    no_mpi
        Run COMMAND on every host without MPI.
    once
        Run COMMAND once, in the lab but on no host, for debugging: -- ip netns exec h3 ping h5.
    mpirun
        More options for mpirun, in quotes: "--mca coll_tuned_priority 50".
    timeout
        Seconds after which everything is taken down.
    """
    from treecast import networks
    from treecast.errors import LabError
    from treecast.running.lab import outside
    from treecast.running.lab.wiring import parse_cuts, plan_wiring
    from treecast.units import parse_rate

    # 1. What can be wrong, before anything is built: that takes seconds, and root.
    check_command("lab run", command)
    if no_mpi and once:
        raise LabError("--no-mpi runs COMMAND on every host, --once on none: choose one")
    if timeout is not None and not 0 < timeout < 10**6:
        raise LabError(f"{timeout:g} seconds will not do as a time limit")
    try:
        options = shlex.split(mpirun)
    except ValueError as error:
        raise LabError(f"--mpirun {mpirun!r} cannot be split into words: {error}") from None
    where = networks.network(network)
    if switch and cut_links:
        raise LabError(
            "--cut-links takes down links between hosts, and behind a --switch there are none: leave one of them out"
        )
    # 2. The wiring, and the lines that tell of it.
    plan = plan_wiring(where, round(parse_rate(rate) * 8), switched=switch)
    joined = f"one port of {rate} each behind a switch" if switch else f"{len(plan.links)} links of {rate}"

    def ready(seconds: float) -> None:
        console.say(f"{where.spec}: {where.nodes} hosts, {joined}, built in {seconds:.2f} s")

    # 3. The run, and which links were cut when.
    how = "hosts" if no_mpi else "once" if once else "mpi"
    cuts = parse_cuts(where, cut_links)
    done = outside.run_in_lab(plan, command, how, cuts=cuts, options=options, timeout=timeout, ready=ready)
    for u, v, seconds in done.cuts:
        console.say(f"cut: {where.label(u)}-{where.label(v)} after {seconds:.2f} s")
    return done.status
