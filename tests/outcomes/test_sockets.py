"""The cases over sockets, with and without a network, on ranks that are threads."""

import threading
import time

import pytest

from tests.outcomes.cases import RANKS, cases_of, judge
from tests.outcomes.play import LITTLE, MUCH, play
from tests.tcp.threads import DeathError, run_ranks

SECONDS = {"late": {"late": 0.3}, "cut": {"deadline": 0.6}}


def harm(comm, fate):
    """Have a rank die now, or at its next message, or lose sight of all others."""
    transport = comm.process.transport
    if fate == "before":
        raise DeathError
    if fate == "cut":
        transport.progress = lambda seconds: time.sleep(min(seconds, 0.01))  # nothing comes in
        for wire in transport._wires.values():
            wire.is_mute = True

    def die(*_):
        raise DeathError

    if fate == "in":
        transport.send = die


def check(case, count, capsys, spec=None):
    others_are_done = threading.Barrier(RANKS)

    def program(comm):
        said = play(comm, case, count, lambda fate: harm(comm, fate), lambda: others_are_done.wait(60))
        if case.fate in SECONDS and comm.rank not in case.who:
            others_are_done.wait(60)
        return said

    terms = {"survive": case.survive, "on_failed": case.on_failed, **SECONDS.get(case.fate, {})}
    said = run_ranks(RANKS, program, spec, **terms)
    judge(case, said, capsys.readouterr().err)


@pytest.mark.parametrize("count", [LITTLE, MUCH])
@pytest.mark.parametrize("case", cases_of("sockets"), ids=str)
def test_over_sockets(case, count, capsys):
    check(case, count, capsys)


@pytest.mark.parametrize("case", cases_of("links"), ids=str)
def test_over_the_links_of_a_network(case, capsys):
    check(case, MUCH, capsys, "ring:4")
