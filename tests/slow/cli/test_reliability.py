"""``treecast reliability``: what it prints, its picture, and nodes that differ."""

import re
from itertools import pairwise
from pathlib import Path

from tests.cli.test_reliability import ask as ask


def test_the_page_shows_what_is_printed(ask):
    """Every line of its two listings; and the losses are as far apart as it says."""
    page = (Path(__file__).parents[3] / "docs/explanation/reliability.md").read_text()
    one, several = (
        re.search(rf"^```\n({word}.*?)^```", page, re.MULTILINE | re.DOTALL)[1] for word in ("reliab", "plan ")
    )
    for x in "123":
        assert ask("plan", "broadcast", "star:4", "--copies", x, "-o", f"x{x}.tc")[0] == 0
    alone = ask("reliability", "x2.tc", "--node-failure", "0.01")[1]
    assert len(one.splitlines()) == 14
    assert set(one.splitlines()) <= set(alone.splitlines())
    together = ask("reliability", "x1.tc", "x2.tc", "x3.tc", "--node-failure", "0.01")[1]
    assert set(several.splitlines()) <= set(together.splitlines())
    losses = [float(line.split()[3]) for line in several.splitlines()[1:]]
    assert [round(a / b) for a, b in pairwise(losses)] == [21, 47]
