"""``treecast show``."""

from treecast.files import formats


def test_show(files, ask, answer):
    status, out, err = ask("show", "plan.tc")
    assert (status, err) == (0, "")
    command, *rows = out.splitlines()
    assert rows == (files / "hand.tc").read_text().splitlines()[-69:]
    assert command.startswith("# treecast plan broadcast star:4 --messages 60 --copies 3 ")
    assert ask(*command.split()[2:], "-o", "again.tc")[0] == 0
    assert formats.load("again.tc") == formats.load("plan.tc")

    def rows_of(*arguments):
        first, *rows = ask("show", "plan.tc", *arguments)[1].splitlines()
        assert first == command
        return rows

    assert len(rows_of("--tree", "1")) == 23
    assert ask("show", "plan.tc", "--tree", "99999999999")[0] == 2
    assert all("4231" in row for row in rows_of("--node", "4231"))
    assert len(rows_of("--steps", ":1")) == 3
    assert ask("show", "plan.tc", "--steps", "66:")[0] == 2
    (files / "by-hand.tc").write_text("".join(f"{line}\n" for line in files.joinpath("hand.tc").read_text().splitlines()
                                              if not line.startswith(("builder", "option"))))  # fmt: skip
    assert ask("show", "by-hand.tc")[1].splitlines() == rows
    assert answer("show", "plan.tc", "--steps", "0:1")[0] == {
        "step": 0, "steps": 60, "src": "1234", "dst": "2134", "port": 0, "tree": 0, "chunks": [[0, 60]],
    }  # fmt: skip
