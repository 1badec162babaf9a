"""``treecast paths``."""

import pytest


def test_the_paths_of_the_paper(ask, answer):
    status, out, err = ask("paths", "hypercube:4", "14", "--order", "3,2,1,0")
    assert (status, err) == (0, "")
    assert out.splitlines()[:4] == [
        "1. 0(0b0000) → 8(0b1000) → 12(0b1100) → 14(0b1110)",
        "2. 0(0b0000) → 4(0b0100) → 6(0b0110) → 14(0b1110)¹",
        "3. 0(0b0000) → 2(0b0010) → 10(0b1010)¹ → 14(0b1110)²",
        "4. 0(0b0000) → 1(0b0001) → 9(0b1001)¹ → 13(0b1101)² → 15(0b1111)³ → 14(0b1110)⁴",
    ]
    found = answer("paths", "hypercube:4", "0b1110", "--order", "3,2,1,0", "--root", "0b0000")
    assert [path["nodes"] for path in found["paths"]] == [
        [0, 8, 12, 14], [0, 4, 6, 14], [0, 2, 10, 14], [0, 1, 9, 13, 15, 14],
    ]  # fmt: skip
    assert found["paths"][2]["second_phase_units"] == [None, 1, 2]
    assert found["paths"][2]["steps"] == [2, 4, 5]
    assert found["node"] == "0b1110"


def test_paths_on_a_star_network(ask, answer):
    found = answer("paths", "star:4", "2143")
    assert len(found["paths"]) == 3
    assert all(path["labels"][0] == "1234" and path["labels"][-1] == "2143" for path in found["paths"])
    _, out, _ = ask("paths", "star:4", "2143")
    assert len(out.splitlines()) == 3


def test_the_trees_of_the_paper_are_other_ways_for_even_n(answer):
    """S_4: the parents of 2413 and five more differ; on S_5 all are the same."""
    for spec, node, same in (("star:4", "4123", False), ("star:4", "2143", True), ("star:5", "54321", True)):
        ours, paper = answer("paths", spec, node), answer("paths", spec, node, "--trees", "paper")
        assert (ours == paper) == same


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("paths", "ring:5", "1"), "not on ring:5"),
        (("paths", "hypercube:4", "16"), "16"),
        (("paths", "hypercube:4", "0"), "is the root"),
        (("paths", "hypercube:4", "1", "--order", "0,1"), "names each of 0 … 3 once"),
        (("paths", "hypercube:4", "1", "--order", "x"), "an order is written"),
        (("paths", "star:4", "1", "--order", "0,1,2"), "for hypercubes"),
        (("paths", "star:4", "1", "--trees", "papers"), "no disjoint trees 'papers' on star:4: name paper"),
        (("paths", "hypercube:4", "1", "--trees", "paper"), "named on star networks"),
        (("paths", "hypercube:4", "1", "-o", "paths.txt"), "paths cannot be drawn as text: write to a file that ends in .svg"),
    ],
)  # fmt: skip
def test_what_cannot_be_had(ask, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    status, out, err = ask(*arguments)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_pictures(ask, tmp_path, suffix):
    for command in (
        ("paths", "hypercube:4", "14"),
        ("paths", "star:4", "2143"),
    ):
        picture = tmp_path / f"{command[0]}.{suffix}"
        status, out, _ = ask(*command, "-o", str(picture))
        assert status == 0
        assert out
        assert picture.stat().st_size > 1000
