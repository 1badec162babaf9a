"""``treecast theorems``: a row is there as soon as it is checked, and Ctrl-C ends it as promised."""

import json

import treecast
from treecast.cli import main


def test_those_of_the_hypercube_paper(answer, ask):
    found = answer("theorems", "hypercube", "--up-to", "2")
    assert all(finding["as_known"] for finding in found)
    assert {"Theorem 1", "erratum", "tight, links", "Fraigniaud"} <= {finding["name"] for finding in found}
    assert found[0]["checked"] == "d = 1 … 2"
    status, out, _ = ask("theorems", "hypercube", "--up-to", "1")
    assert status == 0
    assert [line.startswith("FALSE ") for line in out.splitlines()].count(True) == 3  # what the paper says of costs


def test_json_is_what_python_returns(capsys):
    assert main(["theorems", "hypercube", "--up-to", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found] == [each.name for each in treecast.check_theorems("hypercube", 1)]
