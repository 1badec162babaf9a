"""``treecast builders``."""


def test_each_builder_says_what_it_takes_or_why_it_cannot(answer, ask):
    found = answer("builders", "broadcast", "star:4", "--messages", "60")
    entries = {entry["name"]: entry for entry in found["builders"]}
    assert entries[found["chosen"]]["steps"] == min(each["steps"] for each in entries.values() if not each["why_not"])
    assert (entries["disjoint-trees"]["steps"], found["lower_bounds"]["steps"]) == (25, 24)
    assert {bool(each["why_not"]) for each in entries.values()} == {True, False}
    status, out, err = ask("builders", "broadcast", "star:4", "--messages", "60")
    assert (status, err) == (0, "")
    assert all(name in out for name in entries)
