"""``treecast program``."""

import json


def test_one_nodes_program(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = ("broadcast", "torus:8x8", "--messages", "50", "--root", "1,2")
    ask("plan", *job, "-o", "torus.tc")
    for node in ("1,2", "4,4", "0,7"):
        mine = ask("program", *job[:2], node, *job[2:])[1].splitlines()
        assert mine[1:] == ask("show", "torus.tc", "--node", node)[1].splitlines()[1:]
    status, out, _ = ask("program", "broadcast", "mesh:1000x1000x1000", "999,0,5", "--messages", "600", "--json")
    assert (status, len(json.loads(out))) == (0, 5)
    assert "there is no rule by which" in ask("program", "alltoall", "torus:3x3", "1,1")[2]
    assert "plans all others" in ask("program", "broadcast", "torus:3x3", "1,1", "--targets", "4")[2]
    assert "'program' still gives one node's rows" in ask("plan", "broadcast", "mesh:3000x3000x3000")[2]
