"""The folder of a run, which one rank alone claims."""

import os

from treecast.mpi.job import records


def test_one_rank_claims_a_run_and_none_while_its_folder_goes(tmp_path, monkeypatch):
    folder, claims = tmp_path / "run", list[bool]()
    folder.mkdir()
    for rank in range(3):
        records.write_record(folder, rank, {"dead": []})
    assert records.claim_report(folder)
    assert not records.claim_report(folder)
    unlink = os.unlink

    def unlink_and_claim(*name, **where):
        unlink(*name, **where)
        claims.append(records.claim_report(folder))

    monkeypatch.setattr(os, "unlink", unlink_and_claim)
    records.remove(folder)
    assert claims == [False] * 4
    assert list(tmp_path.iterdir()) == []
    records.remove(folder)  # which is gone
