"""InfiniBand fabrics as ibnetdiscover prints them, and what they lack."""

from pathlib import Path

import pytest

import treecast
from tests.networks.printed import Fabric
from tests.networks.test_reading import arcs_by_label
from treecast.errors import NetworkError, PlanError


@pytest.fixture
def fabric() -> Fabric:
    return Fabric(groups=2, rails=2, spines=3, hosts=4)


def written(tmp_path: Path, text: str, name: str = "net.ibnetdiscover") -> str:
    (tmp_path / name).write_text(text)
    return f"file:{tmp_path / name}"


def texts(machine: treecast.Machine, sort: str) -> list[str]:
    return [each.text for each in machine.complaints if each.sort == sort]


def test_both_forms_give_what_was_wired(tmp_path: Path, fabric: Fabric) -> None:
    wanted = dict[tuple[str, str], int]()
    for u, _, v, _, _ in fabric.ends():
        ends = (u.split()[0], v)
        for pair in (ends, ends[::-1]):
            wanted[pair] = wanted.get(pair, 0) + 1
    for text in (fabric.text(), fabric.by_ports()):
        found = treecast.network(written(tmp_path, text))
        assert arcs_by_label(found) == wanted
        assert set(found.labels(found.ranks)) == set(fabric.hosts)
        assert found.chunk_rate == 400e9 / 8
    assert treecast.machine(tmp_path / "net.ibnetdiscover").facts["ports_without_link"] == 1


def test_cards_are_ranks_where_people_ask(tmp_path: Path, fabric: Fabric) -> None:
    found = treecast.network(written(tmp_path, fabric.text()) + " with ranks hcas")
    assert set(found.labels(found.ranks)) == {f"{host}/{card}" for host, card, _ in fabric.cards}
    guid = fabric.guid("host0-0 mlx5_1")
    assert found.label(found.node(guid)) == "host0-0/mlx5_1"  # a second name
    hosts = treecast.network(written(tmp_path, fabric.text()))
    assert hosts.label(hosts.node(guid)) == "host0-0"


def test_what_is_missing_is_named_and_put_back(tmp_path: Path, fabric: Fabric) -> None:
    whole = arcs_by_label(treecast.network(written(tmp_path, fabric.text())))
    assert not texts(treecast.machine(tmp_path / "net.ibnetdiscover"), "degraded")
    fabric.cards.remove(("host0-1", "mlx5_1", "leaf0-1"))
    for _ in range(2):
        fabric.cables.remove(("leaf0-0", "spine1"))
    fabric.cables.remove(("leaf1-1", "spine2"))
    spec = written(tmp_path, fabric.text())
    assert texts(treecast.machine(tmp_path / "net.ibnetdiscover"), "degraded") == [
        "1 host lacks a rail: 1 has 1 of 2 (host0-1)",
        "3 cables between switches are missing: leaf0-0 - spine1 has none, leaf1-1 - spine2 has 1 of 2",
    ]
    lacking = treecast.network(spec)
    assert lacking.remarks == ("1 host lacks a rail", "3 cables between switches are missing")
    assert sum(arcs_by_label(lacking).values()) == sum(whole.values()) - 8
    assert arcs_by_label(treecast.network(f"{spec} with whole yes")) == whole


def test_slow_and_one_sided_cables_are_named(tmp_path: Path, fabric: Fabric) -> None:
    text = fabric.text().replace("4xNDR", "1xSDR", 2)  # leaf0-0 says so of its first two cables
    machine = treecast.machine(written(tmp_path, text)[5:])
    assert not texts(machine, "degraded")  # the other end says the speed, too, and later
    silent = treecast.machine(written(tmp_path, fabric.text(unreported=["spine0"]))[5:])
    assert texts(silent, "degraded")[0].startswith("8 cables that only one end reports: port 1 of S-")
    slow = fabric.text(unreported=["spine0"]).replace("4xNDR", "1xSDR", 1)
    assert "1 cable of 1xSDR is slower than most: leaf0-0-spine0" in texts(
        treecast.machine(written(tmp_path, slow)[5:]), "degraded"
    )
    assert treecast.network(written(tmp_path, slow)).unit.worst == pytest.approx(2 / 402)  # 400 + 2 is nearly 400


def test_cards_without_a_host_are_left_out_and_counted(tmp_path: Path, fabric: Fabric) -> None:
    text = fabric.text().replace("host1-3 mlx5_", "MT4129 ConnectX7   Mellanox Technologies")
    text = text.replace("host1-2 mlx5_1", "Mellanox Technologies Aggregation Node")
    spec = written(tmp_path, text)
    hosts, cards = treecast.network(spec), treecast.network(f"{spec} with ranks hcas")
    assert (hosts.rank_count, cards.rank_count) == (7, 15)
    machine = treecast.machine(spec[5:])
    assert (machine.facts["hcas"], machine.facts["sharp"], machine.facts["unnamed_hcas"]) == (16, 1, 2)
    assert "2 cards that name no host (give --ranks hcas to keep them)" in str(hosts)
    assert "1 SHARP aggregation node" in str(hosts)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (('"[1]\t', '"[77777]\t'), "a port is '77777': write a whole number from 0 to 65,535"),
        (("[1](", "[1]["), "line .* is no port of a node"),
        (("[2](", "[1]("), "line .*: port 1 of S-e09d7303007a0000 has two partners: port 1"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, fabric: Fabric, change: tuple[str, str], wrong: str) -> None:
    with pytest.raises(NetworkError, match=wrong) as caught:
        treecast.network(written(tmp_path, fabric.text().replace(*change)))
    assert "\n" not in str(caught.value)


def test_options_are_checked(tmp_path: Path, fabric: Fabric) -> None:
    spec = written(tmp_path, fabric.text())
    for end, wrong in {
        "ranks cards": "'cards' is none of hosts, hcas",
        "part 2 rank hosts": "'rank' is no option of a file; did you mean 'ranks'",
        "part 1 whole": "'whole' in .* has no value",
        "rounding 5x": "'5x' is no share",
        "unit fast": "'fast' is no rate",
        "part nobody": "it has no part 'nobody': it is in one piece, so leave it out",
        "format graphm": "'graphm' is no kind of file; did you mean 'graphml'",
    }.items():
        with pytest.raises(NetworkError, match=wrong):
            treecast.network(f"{spec} with {end}")


def test_parts_are_named_and_taken(tmp_path: Path) -> None:
    fabric = Fabric(groups=2, rails=1, spines=2, hosts=3)
    fabric.cables = [(leaf, f"spine{leaf[4]}") for leaf, _ in fabric.cables]
    spec = written(tmp_path, fabric.text())
    with pytest.raises(
        PlanError, match=r"it is in parts, 5 nodes \(host0-0, …\), 5 nodes .* --part 1 or --part leaf1-0"
    ):
        treecast.plan("broadcast", spec)
    for which in ("2", "host1-2", "leaf1-0"):
        assert treecast.verify(treecast.plan("broadcast", f"{spec} with part {which}"))
        assert treecast.network(f"{spec} with part {which}").labels()[-1] == "host1-2"


def test_a_plan_with_bytes_goes_by_the_rate_of_the_file(tmp_path: Path, fabric: Fabric) -> None:
    spec = written(tmp_path, fabric.text())
    found, said = (
        treecast.plan("broadcast", spec, bytes="1MiB", latency="1us", rate=rate) for rate in (None, "400Gbit/s")
    )
    assert found == said
    assert found.costs == said.costs
    with pytest.raises(treecast.TreecastError, match="say both"):
        treecast.plan("broadcast", "torus:4x4", bytes="1MiB", latency="1us")
