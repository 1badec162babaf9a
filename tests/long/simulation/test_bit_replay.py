"""Gossip with a bit per source: held against simulate, and against plain loops."""

import subprocess
import sys

LARGE = """
import sys
import numpy as np
from treecast.simulation.faults import Faults, random_faults
from treecast.simulation.bit_replay import gossip
from treecast.networks import network
from treecast.plans import plan
cube = network("hypercube:12")
for model in ("whispering", "shouting"):
    schedule = plan("allgather", cube, model=model, survive=11)
    for seed in (1, 2):
        dead = list(random_faults(cube, 11, seed).nodes)
        for steps in ([0] * 11, list(range(0, 22, 2))):
            found = gossip(schedule, Faults(dict(zip(dead, steps))))
            assert found.delivered == 4096 - 11 and not found.missing.any()
    arcs = {(v * 331 % 4096, v): 0 for v in range(11)}
    found = gossip(schedule, Faults({}, arcs))
    assert found.delivered == 4096
    assert found.transmissions <= schedule.transmissions * 2
from tests.memory import peak_kib
print(peak_kib())
"""


def test_twelve_dimensions_under_eleven_faults():
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) * 1024 < 2**30
