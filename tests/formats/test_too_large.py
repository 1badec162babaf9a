"""Small files about huge things are refused in one line: in seconds, and in less than 1 GiB."""

import json
import select
import subprocess
import sys

import pytest

from tests.formats.test_hostile import written

pytestmark = pytest.mark.slow

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
    "a stream of all there is": written(
        "0+2000000000 0>6 port=0 0-1999999999", "0+1 0>2 port=1 0-1999999999", more="messages 2000000000\n",
    ),
    "millions of runs of chunks": written(
        "0+2000000 0>6 port=0 tree=0 0-1999999", "0+1 0>2 port=1 tree=0 0-1999999",
        network="star:5", more="messages 2000000\n",
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
import json, os, resource, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from tests.memory import peak_kib
from treecast.cli import main
from treecast.verification import verifier
with redirect_stdout(StringIO()):
    main(["verify", sys.argv[1]])  # imports all that the copies will need
resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
for path in sys.stdin:
    if not os.fork():
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            status = main(["verify", path.rstrip()])
        print(json.dumps([status, out.getvalue(), err.getvalue(), peak_kib() >> 10]), flush=True)
        os._exit(0)
    status = os.wait()[1]
    if status:
        print(json.dumps([status, "", "it died", 0]), flush=True)
"""


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """Verify a file in a process that has nothing but treecast in memory: the copy of one that has imported it."""
    small = tmp_path_factory.mktemp("small") / "small.tc"
    small.write_bytes(written(ROW, network="star:3"))
    program = subprocess.Popen(
        [sys.executable, "-c", JUDGE, small], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def verify(path):
        program.stdin.write(f"{path}\n")
        program.stdin.flush()
        assert select.select([program.stdout], [], [], 300)[0], "it takes too long"
        return json.loads(program.stdout.readline())

    yield verify
    program.communicate(timeout=60)


@pytest.mark.each(8)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if "half" in name else ()) for name in FILES]
)
def test_files_too_large_to_judge(name, tmp_path, judge):
    path = tmp_path / "large.tc"
    path.write_bytes(FILES[name])
    status, out, err, mebibytes = judge(path)
    assert 0 < mebibytes < 1024
    if status == 1:  # it could be judged, and it is wrong
        assert out.startswith("verified")
        assert err == ""
    else:
        assert status == 2
        assert err.startswith("error: ")
        assert "too many" in err
        assert err.count("\n") == 1
