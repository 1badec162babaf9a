"""Named networks over sockets: links are the only connections, calls go down plans, and all else is flooded."""

import sys
from collections import Counter

import numpy as np
import pytest

from tests.tcp.threads import DeathError, die_at, run_ranks
from tests.tcp.trials import NAMES, make_call
from treecast.errors import DeliveryError, LabError, PlanError, TreecastError
from treecast.networks import network
from treecast.running.engine.lane import Lane
from treecast.running.engine.planned import Planned
from treecast.running.lab.outside import check_machine, run_in_lab
from treecast.running.lab.wiring import plan_wiring
from treecast.tcp.start import at_links

LITTLE, MUCH = 8, 12_000


PLANNED = NAMES[:7]  # calls that go by a plan when they have much data


def every_call(comm):
    wrong = []
    for number, name in enumerate(NAMES):
        for count in (LITTLE, MUCH):
            right, way = make_call(comm, number, name, 1, count), (comm.last.way, comm.last.network)
            by_plan = name in PLANNED and count == MUCH
            if not right or way != (("trees", comm.process.links[1].spec) if by_plan else ("sockets", "")):
                wrong.append((name, count, right, way))
    return wrong, sorted(comm.process.links[0].direct.peers), comm.stats.get("redone", 0)


@pytest.mark.parametrize("spec", ["ring:4", "path:3", "tree:2,1"])
def test_every_call_over_links_alone(spec):
    """The first plan of each call brings all to an end: of sums, too, that one node completes for all."""
    all_go_over_links(spec)


def all_go_over_links(spec):
    where = network(spec)
    found = run_ranks(where.nodes, every_call, spec=spec)
    assert found == [([], sorted(where.neighbors(rank)), 0) for rank in range(where.nodes)]


def blocks_of_different_lengths(comm):
    counts = [(rank + 1) * MUCH for rank in range(comm.size)]
    out = np.zeros(sum(counts))
    comm.Allgatherv(np.full(counts[comm.rank], comm.rank + 1.0), [out, counts])
    total = np.full(MUCH, comm.rank + 1.0)
    comm.Allreduce(np.full(MUCH, 2.0), total)
    return [float(part.mean()) for part in np.split(out, np.cumsum(counts)[:-1])], total.max()


def test_blocks_of_different_lengths():
    assert run_ranks(4, blocks_of_different_lengths, spec="ring:4") == [([1, 2, 3, 4], 8)] * 4


def dies_at(victim, frame, name, root):
    """Return a program in which a rank dies at a message of its plan; the call, and two later ones, are right at the others."""

    def program(comm, calls=3):
        if comm.rank == victim:
            die_at(comm, frame)
        said = []
        for number, each in enumerate((name, "Allreduce", "Allgather")[:calls]):
            try:
                said.append((make_call(comm, number, each, root, MUCH), comm.last.failed))
            except DeliveryError as error:
                said.append((True, str(error)))
        return said, comm.members, comm.stats.get("replanned", 0)

    return program


def check_death(name, frame, victim=2, root=1, spec="ring:5"):
    """Have a rank die at a message; return whether it did, once all is right at the others."""
    size = network(spec).nodes
    found = run_ranks(size, dies_at(victim, frame, name, root), spec=spec)
    if isinstance(found[victim], DeathError):
        rest = [each for rank, each in enumerate(found) if rank != victim]
        assert all(each == rest[0] for each in rest), found
        assert rest[0][1] == tuple(rank for rank in range(size) if rank != victim)
        assert all(right for right, _ in rest[0][0]), rest
        assert rest[0][2] == 1 or frame > 1  # without the dead, and never again; no plan may follow a later death
        return True
    return False


@pytest.fixture
def told_rate(monkeypatch):
    monkeypatch.setenv("TREECAST_RATE", "1e9")


@pytest.mark.parametrize("name", ["Bcast", "Allreduce", "Alltoall"])
def test_a_rank_that_dies_in_a_plan_changes_nothing_for_the_others(told_rate, name):
    assert check_death(name, 1)


@pytest.mark.parametrize("frame", [1, 2, 3])
def test_so_does_one_that_dies_while_links_are_measured(frame):
    assert check_death("Bcast", frame)


@pytest.fixture
def counts(monkeypatch):
    """Count, by rank, the plans that are carried out, and the measurements."""
    done = {"carry": Counter(), "exchange": Counter()}

    def counted(name):
        do = getattr(Lane, name)

        def method(self, *given):
            done[name][self._group.rank] += 1
            return do(self, *given)

        return method

    for name in done:
        monkeypatch.setattr(Lane, name, counted(name))
    return done


def one_call(name, victim, frame):
    """Return a program of one call, in which a rank dies at a message; it says whether the result is right, and who failed."""
    program = dies_at(victim, frame, name, 1)
    return lambda comm: program(comm, 1)[0][0]


@pytest.mark.parametrize(("name", "plans"), [("Bcast", 1), ("Allgather", 1), ("Allreduce", 4)])
def test_copies_spare_a_second_plan(told_rate, counts, name, plans):
    """A rank on the way dies: blocks come by another way, and only a sum, of two plans, has to be made anew."""
    found = run_ranks(4, one_call(name, 3, 1), spec="hypercube:2")
    assert isinstance(found.pop(3), DeathError)
    assert all(right for right, _ in found), found
    assert [counts["carry"][rank] for rank in range(3)] == [plans] * 3


@pytest.mark.parametrize(("rate", "times"), [(None, 3), ("1e9", 0), ("1Gbit/s", 0)])
def test_links_are_measured_once_unless_their_rate_is_told(counts, monkeypatch, rate, times):
    if rate is not None:
        monkeypatch.setenv("TREECAST_RATE", rate)
    found = run_ranks(4, lambda comm: [make_call(comm, k, "Bcast", k, MUCH) for k in range(3)], spec="ring:4")
    assert found == [[True] * 3] * 4
    assert [counts["exchange"][rank] for rank in range(4)] == [times] * 4


def test_a_rate_that_is_none_is_refused_in_a_line(monkeypatch):
    monkeypatch.setenv("TREECAST_RATE", "fast")
    with pytest.raises(TreecastError, match="is no rate: write"):
        Planned(Lane, network("ring:4"))


def test_arguments_that_are_refused_are_told_to_all():
    def program(comm):
        data = np.zeros(MUCH + (comm.rank == 2))
        try:
            comm.Bcast(data if comm.rank else np.ones(MUCH), 0)
        except (DeliveryError, PlanError) as error:
            return type(error).__name__, comm.allreduce(1)
        return None

    found = run_ranks(4, program, spec="ring:4")
    assert found == [("UnlikeCallsError", 4)] * 4


def test_every_rank_of_a_network_may_have_a_place_of_its_own():
    assert at_links([("{name}.cluster", 7000)], network("hypercube:1"), 2) == [
        ("0b0.cluster", 7000),
        ("0b1.cluster", 7000),
    ]
    assert at_links([("here", 7000)], None, 2) is None


PROGRAM = """
import sys, time, numpy as np
from pathlib import Path
Path("/proc/sys/net/ipv4/ip_forward").write_text("0")
import treecast
comm = treecast.connect(survive=1, deadline=6)
if comm.rank == 0:
    Path("/run/treecast/mark").touch()
step, began = 0, time.monotonic()
while comm.bcast(time.monotonic() - began < 3):
    data = np.full(50_000, step) if comm.rank == 0 else np.zeros(50_000, int)
    comm.Bcast(data)
    total = np.zeros(50_000)
    comm.Allreduce(np.full(50_000, comm.rank + 1.0), total)
    assert (data == step).all() and (total == 10).all(), (data, total)
    step += 1
sys.stdout.write(f"{step > 0} {comm.members} {len(comm.process.links[0].direct.lost)}\\n")
"""


def in_lab(folder, program, cuts=()):
    """Run a program on the hosts of a ring of four cables; return its status, and what they printed."""
    try:
        check_machine()
    except LabError as error:
        pytest.skip(str(error))
    with (folder / "said").open("w+b") as said:
        plan, words = plan_wiring(network("ring:4"), 200_000_000), [sys.executable, "-c", program]
        ended = run_in_lab(plan, words, "hosts", cuts=cuts, timeout=90, stdout=said.fileno())
        said.seek(0)
        return ended.status, sorted(said.read().decode().splitlines())
