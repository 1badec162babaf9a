"""Named networks over sockets: links are the only connections, calls go down plans, and all else is flooded."""

import subprocess
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from tests.tcp.test_launch import launch
from tests.tcp.threads import DeathError, die_at, run_ranks
from tests.tcp.trials import NAMES, make_call
from treecast.errors import DeliveryError, LabError, PlanError, TreecastError
from treecast.networks import network
from treecast.running.engine.lane import Lane
from treecast.running.engine.planned import Planned
from treecast.running.lab.outside import check_machine, run_in_lab
from treecast.running.lab.wiring import LinkCut, plan_wiring
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


@pytest.mark.slow
def test_every_call_over_links_alone_at_length():
    all_go_over_links("mesh:2x3")


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANNED)
@pytest.mark.parametrize(("spec", "victim"), [("ring:5", 2), ("hypercube:2", 0)])
def test_a_rank_may_die_at_any_message_of_a_plan(told_rate, name, spec, victim):
    frame = 1
    while check_death(name, frame, victim, spec=spec):
        frame += 1
    assert frame > 1


@pytest.mark.slow
def test_who_asks_for_no_plan_loads_no_planner():
    names = "[name for name in sys.modules if name.startswith('treecast.plans')]"
    code = f"import sys, treecast.tcp.comm; sys.stdout.write(str({names}))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
        == "[]"
    )


@pytest.mark.slow
def test_a_file_of_cables_whose_switch_is_a_rank(tmp_path):
    cables = nx.star_graph(["switch", "a", "b"])
    cables.nodes["switch"]["relay"] = True
    nx.write_graphml(cables, tmp_path / "cables.graphml")
    program = (
        f"comm = tcp.init(network={str(tmp_path / 'cables.graphml')!r}, survive=1)\n"
        "total = np.zeros(20_000); comm.Allreduce(np.full(20_000, 1.0), total)\n"
        "sys.stdout.write(f'{len(comm.process.links[0].direct.peers)} {total.max()}\\n')"
    )
    status, printed, shown = launch(program=program, head="import sys, numpy as np, treecast.tcp as tcp; ")
    assert (status, printed, shown) == (0, ["1 3.0", "1 3.0", "2 3.0"], "")


@pytest.mark.slow
def test_networks_that_do_not_fit_are_one_line():
    for spec, why in [("ring:4", "4 nodes"), ("debruijn:2,2", "one way")]:
        status, _, shown = launch(
            program=f"tcp.init(network={spec!r})",
            ranks=3 if spec == "ring:4" else 4,
            head="import treecast.tcp as tcp; ",
        )
        assert status == 1
        assert why in shown


@pytest.mark.slow
def test_a_cut_cable_in_a_lab_that_routes_nothing(tmp_path):
    status, printed = in_lab(tmp_path, PROGRAM, [LinkCut(0, 1, 0.5, True)])
    assert (status, printed) == (0, [f"{rank}: True (0, 1, 2, 3) {int(rank < 2)}" for rank in range(4)])


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_rank_that_dies_at_any_message_of_a_plan_changes_nothing_for_the_others(name):
    assert check_death("Bcast", 1)
    for victim in (1, 2):
        frame = 1
        while check_death(name, frame, victim):
            frame += 1


@pytest.mark.long
def test_of_a_ring_in_two_parts_that_with_the_lowest_rank_goes_on(tmp_path):
    program = PROGRAM.replace("< 3", "< 15").replace("survive=1", "survive=2").replace(" and (total == 10).all()", "")
    _, printed = in_lab(tmp_path, program, [LinkCut(0, 1, 0.5, True), LinkCut(2, 3, 0.5, True)])
    assert printed == ["0: True (0, 3) 1", "3: True (0, 3) 1"]


@pytest.mark.long
def test_packets_that_are_dropped_change_nothing(tmp_path):
    drops = """
import os, re, subprocess
ends = [name for name in os.listdir("/sys/class/net") if name.startswith("to")]
for name in ends:
    subprocess.run(["ip", "link", "set", name, "gso_max_size", "4096"], check=True)
    queue = "root tbf rate 100mbit burst 16kb limit 9000"
    subprocess.run(["tc", "qdisc", "replace", "dev", name, *queue.split()], check=True)
"""
    count = """
said = subprocess.run(["tc", "-s", "qdisc"], capture_output=True, text=True).stdout
sys.stdout.write(f"{sum(map(int, re.findall('dropped ([0-9]+)', said))) > 0}\\n")
"""
    status, printed = in_lab(tmp_path, drops + PROGRAM + count)
    assert (status, len(printed)) == (0, 8)
    assert all(line.endswith(("True", "True (0, 1, 2, 3) 0")) for line in printed)
