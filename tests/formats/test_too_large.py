"""Small files about huge things are refused in one line: in seconds, and in less than 1 GiB."""

import subprocess
import sys

import pytest

from tests.formats.test_hostile import written

ROW = "0+1 0>1 port=0 tree=0 0"
FILES = {
    "a network that fits nowhere": written(ROW, network="star:15"),
    "a network that nearly fits": written(ROW, network="star:12"),
    "a network that would fit": written(ROW, network="hypercube:27"),
    "an all-to-all on it": written("0+1 0>1 port=0 0", network="star:15", collective="allgather", more="orbit yes\n"),
    "all pairs of its nodes": written("0+1 0>1 port=0 0", network="star:8", collective="allgather"),
    "a node of a billion arcs": written(ROW, network="tree:1000000000,1"),
    "a node of thirty thousand arcs": written("0+1 30000>0 0", "0+1 0>1 0", network="tree:30000,1"),
    "more trees than nodes": written("0+1 0>1 port=0 tree=32767 0", network="star:8"),
    "millions of runs of chunks": written(
        "0+2000000 0>6 port=0 tree=0 0-1999999", "0+1 0>2 port=1 tree=0 0-1999999",
        network="star:5", more="messages 2000000\n",
    ),
    "a stream of all there is": written(
        "0+2000000000 0>6 port=0 0-1999999999", "0+1 0>2 port=1 0-1999999999", more="messages 2000000000\n",
    ),
    "a scatter by many trees": written(
        "0+1 0>1 port=0 tree=32766 1", network="hypercube:20", collective="scatter", more="copies 2\n"
    ),
    "every pair at once": written("0+1 0>1 port=0 1", network="star:9", collective="alltoall"),
    "an orbit of pairs": written("0+1 0>1 port=0 1", network="star:11", collective="alltoall", more="orbit yes\n"),
    "a sum of everybody's": written("0+1 0>1 port=0 0", network="star:10", collective="reduce-scatter"),
    "finished sums of everybody": written("0+1 0>1 port=0 0", network="star:8", collective="allreduce"),
    "calling paths on a huge cube": written(
        "0+1 0>1 port=0 0", network="hypercube:24", more="sparing yes\ncopies 3\nmodel shouting\n"
    ),
    "links of half an all-to-all": written(
        *(f"{u}+1 0>{u} 0" for u in range(1, 5040)), network="star:7", collective="allgather",
        more="orbit yes\nmodel all-port,half\nmessages 9\n",
    ),
}  # fmt: skip
JUDGE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
from treecast.cli import main
status = main(["verify", sys.argv[1]])
from tests.memory import peak_kib
print(status, peak_kib() >> 10)
"""


@pytest.mark.parametrize("name", FILES)
def test_files_too_large_to_judge(name, tmp_path):
    path = tmp_path / "large.tc"
    path.write_bytes(FILES[name])
    done = subprocess.run([sys.executable, "-c", JUDGE, path], capture_output=True, text=True, timeout=300)
    status, mebibytes = map(int, done.stdout.splitlines()[-1].split())
    assert mebibytes < 1024
    if status == 1:  # it could be judged, and it is wrong
        assert done.stdout.startswith("verified")
        assert done.stderr == ""
    else:
        assert status == 2
        assert done.stderr.startswith("error: ")
        assert "too many" in done.stderr
        assert done.stderr.count("\n") == 1
