"""Named networks over sockets: links are the only connections, calls go down plans, and all else is flooded."""

import subprocess
import sys

import networkx as nx
import pytest

from tests.tcp.test_launch import launch
from tests.tcp.test_links import PLANNED, PROGRAM, all_go_over_links, check_death, in_lab
from tests.tcp.test_links import told_rate as told_rate
from treecast.running.lab.wiring import LinkCut


def test_every_call_over_links_alone():
    all_go_over_links("mesh:2x3")


@pytest.mark.parametrize("name", PLANNED)
@pytest.mark.parametrize(("spec", "victim"), [("ring:5", 2), ("hypercube:2", 0)])
def test_a_rank_may_die_at_any_message_of_a_plan(told_rate, name, spec, victim):
    frame = 1
    while check_death(name, frame, victim, spec=spec):
        frame += 1
    assert frame > 1


def test_who_asks_for_no_plan_loads_no_planner():
    names = "[name for name in sys.modules if name.startswith('treecast.plans')]"
    code = f"import sys, treecast.tcp.comm; sys.stdout.write(str({names}))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
        == "[]"
    )


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


def test_networks_that_do_not_fit_are_one_line():
    for spec, why in [("ring:4", "4 nodes"), ("debruijn:2,2", "one way")]:
        status, _, shown = launch(
            program=f"tcp.init(network={spec!r})",
            ranks=3 if spec == "ring:4" else 4,
            head="import treecast.tcp as tcp; ",
        )
        assert status == 1
        assert why in shown


def test_a_cut_cable_in_a_lab_that_routes_nothing(tmp_path):
    status, printed = in_lab(tmp_path, PROGRAM, [LinkCut(0, 1, 0.5, True)])
    assert (status, printed) == (0, [f"{rank}: True (0, 1, 2, 3) {int(rank < 2)}" for rank in range(4)])
