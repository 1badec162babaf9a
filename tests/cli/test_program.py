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


def test_where_nodes_find_their_rows_by_talking_the_error_says_so(ask, tmp_path):
    """And the run of fewer steps than the bound, which is of the plan under faults, says why."""
    job = ("broadcast", "hypercube:4", "--model", "whispering", "--survive", "3")
    status, _, err = ask("program", *job[:2], "5", *job[2:])
    assert (status, err.count("\n")) == (2, 1)
    assert "or let the nodes of a plan find them: 'treecast simulate PLAN --distributed'" in err
    assert "simulate" not in ask("program", "alltoall", "torus:3x3", "1,1")[2]
    plan = str(tmp_path / "w.tc")
    assert "steps          8, the lower bound" in ask("plan", *job, "-o", plan)[1]
    why = " 7 of 8: the sends of the others are left out, as no fault has kept their data back\n"
    for more in ([], ["--distributed"]):
        status, out, _ = ask("simulate", plan, *more)
        assert (status, why in out) == (0, True)
    assert "steps          8\n" in ask("simulate", plan, "--dead-nodes", "1", "2", "4")[1]
