"""Run by ``treecast launch``: cases side by side over MPI, a group of ranks each; each rank writes down what it saw.

usage: over_mpi.py FOLDER NUMBER... The numbers are of cases, among those of MPI.
"""

import json
import os
import sys
from pathlib import Path

from mpi4py import MPI

import treecast.mpi
from tests.outcomes.cases import RANKS, cases_of
from tests.outcomes.play import LITTLE, MUCH
from tests.outcomes.processes import die, take_part


def main():
    folder, numbers = Path(sys.argv[1]), list(map(int, sys.argv[2:]))
    group, rank = divmod(MPI.COMM_WORLD.rank, RANKS)
    case = cases_of("mpi")[numbers[group]]
    place = folder / str(numbers[group])
    late = {"late": 0.5, "deadline": 20.0} if case.fate == "late" else {}
    plain = MPI.COMM_WORLD.Split(group, rank)
    comm = treecast.mpi.wrap(plain, survive=case.survive, on_failed=case.on_failed, **late)

    def die_at_next():
        transport = comm._state.base.transport
        transport.send = transport.together.comm = Dies()

    said = take_part(comm, case, MUCH if case.fate in ("in", "other") else LITTLE, place, die_at_next)
    (place / f"said-{rank}").write_text(json.dumps(said))
    os._exit(0) if case.fate == "late" else None


class Dies:
    """Whatever is asked of it, or called, ends this process at once."""

    __call__ = die

    def __getattr__(self, name):
        die()


if __name__ == "__main__":
    main()
