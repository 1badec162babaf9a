"""Placements: the gain that a known network gives, and what launchers are told."""

import random

import networkx as nx
import pytest
import yaml

import treecast
from tests.advice.test_failing import clos
from treecast.advice.orders import Loads, groups_of
from treecast.advice.placing import FORMS
from treecast.description import describe
from treecast.errors import NetworkError, PlanError


def test_hosts_that_take_turns_between_leaves_come_together() -> None:
    """Two leaves of four hosts over one spine: a ring that goes to and fro crosses 4 times each way, the best one once."""
    turns = [f"h{leaf}-{host}" for host in range(4) for leaf in range(2)]
    found = treecast.place(clos(2, 1, 4), hosts=turns, rate="100Gbit/s")
    assert (found.today.most, found.load.most, found.gain) == (4, 1, 4)
    leaves = [host[:2] for host in found.hosts]
    assert sum(u != v for u, v in zip(leaves, leaves[1:] + leaves[:1], strict=True)) == 2
    assert sorted(found.hosts) == sorted(turns)
    said = describe(found).lines
    assert "4 streams on the busiest cable" in str(said["today"])
    assert "12.5 GB/s each" in str(said["best"])
    same = treecast.place(clos(2, 1, 4))
    assert same.hosts == tuple(sorted(turns))
    assert "today's order" in str(describe(same).lines["best"])


def test_groups_are_placed_no_worse_than_by_chance() -> None:
    network = treecast.network(clos(2, 2, 4))
    found, loads, sends = treecast.place(network, "tp2,dp4,pp2"), Loads(network), groups_of("tp2,dp4,pp2", 8)
    assert (found.slots, len(found.hosts)) == (2, 8)
    chance = random.Random(0)
    for _ in range(200):
        load = loads.of(sends, chance.sample(network.ranks.tolist(), 8))
        assert (load.max(), load.sum()) >= (found.load.most - 1e-9, found.load.whole - 1e-9)


def test_hosts_by_name_are_in_the_order_of_people() -> None:
    graph = nx.star_graph([f"n{number}" for number in (10, 9, 1, 2)])
    assert treecast.place(graph).hosts == ("n1", "n2", "n9", "n10")


def test_launchers_are_told() -> None:
    found = treecast.place("ring:3", "tp2,dp3")
    a, b, c = found.hosts
    assert found.written("hostfile").splitlines() == [f"{host} slots=2" for host in (a, b, c)]
    assert found.written("slurm").splitlines() == [a, a, b, b, c, c]
    assert found.written("rankfile").splitlines()[:3] == [
        f"rank 0={a} slot=0",
        f"rank 1={a} slot=1",
        f"rank 2={b} slot=0",
    ]
    assert found.written("torchrun").splitlines()[1].startswith(f"{b}: torchrun --nnodes=3 --nproc-per-node=2")
    jobs = yaml.safe_load(found.written("jobset"))["spec"]["replicatedJobs"]
    pods = [job["template"]["spec"]["template"]["spec"] for job in jobs]
    assert [pod["nodeSelector"]["kubernetes.io/hostname"] for pod in pods] == [a, b, c]
    assert pods[2]["containers"][0]["env"] == [{"name": "NODE_RANK", "value": "2"}]
    with pytest.raises(PlanError, match=r"'hostfil' is no form of a placement: .*did you mean 'hostfile'"):
        found.written("hostfil")


@pytest.mark.parametrize("label", ["x;touch${IFS}pwn", 'x",y:"z', "$(id)", "a#b", "-x", "ä"])
def test_labels_that_are_no_hosts_are_not_written(label: str) -> None:
    found = treecast.place(nx.path_graph([label, "b.c-d_e:1/2"]))
    for form in FORMS:
        with pytest.raises(PlanError, match="is no name of a host: letters, digits") as caught:
            found.written(form)
        assert "\n" not in str(caught.value)


def test_refusals() -> None:
    where = clos(2, 1, 2)
    for words, wrong in (
        ({"hosts": ["h0-0", "l0"]}, "l0 is a switch: name the hosts of the job"),
        ({"hosts": ["h0-0", "h0-0"]}, "a host stands twice"),
        (
            {"shape": "rings"},
            "'rings' is none of ring, tree, and no mesh like tp8,pp2,dp4, did you mean|did you mean 'ring'",
        ),
        ({"shape": "tp3,dp5"}, "tp3,dp5 has 15 ranks, which 4 hosts do not share evenly"),
        ({"shape": "tp2,dp4", "slots": 3}, "is 2 ranks a host, not 3"),
        ({"slots": 0}, "slots are 0: write a whole number from 1"),
        ({"slots": -2}, "slots are -2: write a whole number from 1"),
    ):
        with pytest.raises(PlanError, match=wrong):
            treecast.place(where, **words)
    with pytest.raises(NetworkError, match="'x' is no node"):
        treecast.place(where, hosts=["x"])


def test_hosts_may_be_written_as_slurm_does() -> None:
    """Brackets stand for several hosts, and for a mesh that does not fit it is said which would."""
    star = [("s", f"n{host:02}") for host in range(1, 9)]
    found = treecast.place(star, hosts=["n[01-03]", "n08"])
    assert sorted(found.hosts) == ["n01", "n02", "n03", "n08"]
    with pytest.raises(
        PlanError, match="has 12 ranks, which 8 hosts do not share evenly: take 6 or 4 or 3 of them, or a mesh"
    ):
        treecast.place(star, "tp3,dp4", hosts=["n[01-08]"])
    with pytest.raises(PlanError, match="03-01"):
        treecast.place(star, hosts=["n[03-01]"])
