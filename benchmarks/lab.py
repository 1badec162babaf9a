"""Measure across emulated networks: treecast beside every algorithm of Open MPI, and past a link cut in mid-run.

Broadcasts, and behind a switch an allgatherv in which one host has half of all.

    make bench-lab                           as root, on Linux: hypercube:3, star:4, 8 and 16 hosts behind a switch, and cuts
    make bench-lab ARGS="--only switch:8"    one of: hypercube, star, switch:8, switch:16, cut

MPI does not know the network: its ranks are the nodes in order, and what it sends to no neighbour is routed over several links.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TREECAST = [sys.executable, "-m", "treecast"]
MPI = str(Path(__file__).with_name("mpi.py"))
BEHIND_A_SWITCH = (8, 16)


def across(network: str, rate: str, size: int, runs: int) -> int:
    """Measure broadcasts of so many bytes on a network with links of that rate; return the exit status."""
    program = [sys.executable, MPI, "--collectives", "broadcast", "-b", str(size), "--runs", str(runs)]
    return subprocess.run([*TREECAST, "lab", "run", network, "--rate", rate, "--", *program], check=False).returncode


def behind_a_switch(hosts: int, rate: str, size: int, runs: int) -> int:
    """Measure a broadcast and an allgatherv of so many bytes over one port each of that rate; return the exit status."""
    lab = [*TREECAST, "lab", "run", f"complete:{hosts}", "--switch", "--rate", rate]
    # whole messages pass no port while the next one comes: with segments every algorithm is faster
    program = [
        sys.executable,
        MPI,
        "--collectives",
        "broadcast,allgatherv",
        "-b",
        str(size),
        "--runs",
        str(runs),
        "--segments",
        "64K",
    ]
    return subprocess.run([*lab, "--", *program], check=False).returncode


def past_a_cut(network: str, rate: str, size: int, messages: int, link: str, seconds: float, deadline: float) -> int:
    """Broadcast a file in two copies while a link of the root is cut; print when who had everything; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        plan, data = str(Path(folder, "plan.tc")), Path(folder, "data")
        data.write_bytes(os.urandom(size))
        ask = ["plan", "broadcast", network, "--messages", str(messages), "--survive", "1", "-o", plan]
        subprocess.run([*TREECAST, *ask], check=True, stdout=subprocess.DEVNULL)
        for cuts in ((), ("--cut-links", f"{link}@mark+{seconds}")):
            program = [*TREECAST, "run", plan, "--mpi", "--input", str(data), "--deadline", str(deadline), "--json"]
            lab = [*TREECAST, "lab", "run", network, "--rate", rate, *cuts, "--", *program]
            done = subprocess.run(lab, check=False, stdout=subprocess.PIPE, text=True)
            if done.returncode or not done.stdout:
                return done.returncode or 2
            found = json.loads(done.stdout)
            free = sorted(node["seconds"] for node in found["node_reports"] if not node["cut_off"])
            ends = [node["seconds"] for node in found["node_reports"] if node["cut_off"]]
            waited = f", the two at the cut after {max(ends):.3f} s (deadline {deadline:g})" if ends else ""
            what = f"{link} cut after {seconds:g} s" if cuts else "no cut"
            print(
                f"{network}, {size:,} bytes, 2 copies, {what}: everything to {found['delivered']} of {found['ranks']}, "
                f"after {free[-1]:.3f} s{waited}", flush=True,
            )  # fmt: skip
    return 0


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only",
        choices=["hypercube", "star", *(f"switch:{hosts}" for hosts in BEHIND_A_SWITCH), "cut"],
        help="only this",
    )
    parser.add_argument("--nice", type=int, default=-10, help="priority of everything measured, -20 (highest) to 19")
    chosen = parser.parse_args()
    try:
        os.setpriority(os.PRIO_PROCESS, 0, chosen.nice)
    except PermissionError:
        print("measured at the priority that it has: a higher one needs root", file=sys.stderr)
    status = 0
    if chosen.only in (None, "hypercube"):
        status = status or across("hypercube:3", "100Mbit/s", 12_500_000, 4)
    if chosen.only in (None, "star"):
        status = status or across("star:4", "20Mbit/s", 5_000_000, 2)
    for hosts in BEHIND_A_SWITCH:
        if chosen.only in (None, f"switch:{hosts}"):
            status = status or behind_a_switch(hosts, "20Mbit/s", 12_500_000, 3)
    if chosen.only in (None, "cut"):
        status = status or past_a_cut("hypercube:3", "100Mbit/s", 12_500_000, 288, "0b000-0b001", 0.2, 2.0)
        status = status or past_a_cut("star:4", "20Mbit/s", 2_500_000, 192, "1234-2134", 0.2, 2.0)
    return status


if __name__ == "__main__":
    sys.exit(main())
