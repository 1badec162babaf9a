"""``treecast diff``."""

import treecast
from treecast.cli import main


def test_the_verb_says_it_as_text_and_as_json(tmp_path, capsys):
    old, new = tmp_path / "old.tc", tmp_path / "new.tc"
    treecast.save(treecast.plan("broadcast", "ring:5"), old)
    treecast.save(treecast.plan("broadcast", "path:5"), new)
    assert main(["diff", str(old), str(new)]) == 0
    assert "to notify 4 of 5 nodes: 0, 2, 3, 4" in " ".join(capsys.readouterr().out.split())
    assert main(["diff", str(old), str(new), "--json"]) == 0
    assert '"must_be_told"' in capsys.readouterr().out
