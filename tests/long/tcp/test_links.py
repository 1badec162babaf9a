"""Named networks over sockets: links are the only connections, calls go down plans, and all else is flooded."""

import pytest

from tests.tcp.test_links import PROGRAM, check_death, in_lab
from tests.tcp.trials import NAMES
from treecast.running.lab.wiring import LinkCut


@pytest.mark.parametrize("name", NAMES)
def test_a_rank_that_dies_at_any_message_of_a_plan_changes_nothing_for_the_others(name):
    assert check_death("Bcast", 1)
    for victim in (1, 2):
        frame = 1
        while check_death(name, frame, victim):
            frame += 1


def test_of_a_ring_in_two_parts_that_with_the_lowest_rank_goes_on(tmp_path):
    program = PROGRAM.replace("< 3", "< 15").replace("survive=1", "survive=2").replace(" and (total == 10).all()", "")
    _, printed = in_lab(tmp_path, program, [LinkCut(0, 1, 0.5, True), LinkCut(2, 3, 0.5, True)])
    assert printed == ["0: True (0, 3) 1", "3: True (0, 3) 1"]


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
