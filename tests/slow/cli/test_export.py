"""``treecast export``: schedules past switches in formats that know none."""

import pytest

import treecast
from tests.cli.test_export import KINDS, switched
from treecast.cli import main
from treecast.collectives import COLLECTIVES


@pytest.mark.each(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", ["fat-tree:4", "switched"])
def test_an_export_past_switches_is_right_by_the_rules_of_msccl(kind, spec, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    where = switched(6, 1, 2) if spec == "switched" else spec
    treecast.save(treecast.plan(kind, where, messages=2), "plan.tc")
    assert main(["export", "plan.tc", "-o", "x.xml"]) == 0
    remark = "MSCCL knows no relays: GPUs are the ranks, in their order"
    assert capsys.readouterr().err.startswith(remark if not COLLECTIVES[kind].adds else "wrote x.xml, msccl")
    assert treecast.verify("x.xml").holds
    if spec == "switched":
        assert main(["export", "plan.tc", "-o", "x.mscclpp.json"]) == 0
