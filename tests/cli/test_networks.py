"""``treecast networks``."""

import pytest

from treecast.cli import main


def test_networks(answer, ask):
    found = answer("networks")
    (star,) = [family for family in found if family["spelling"] == "star:N"]
    assert {"example": "star:5", "nodes": "N!", "degree": "N - 1", "diameter": "⌊3(N - 1)/2⌋"}.items() <= star.items()
    assert answer("networks", "debruijn:2,3")["both_ways"] is False
    found = answer("networks", "star:5")
    assert {key: found[key] for key in ("network", "nodes", "degree", "diameter", "arcs", "first_node")} == {
        "network": "star:5", "nodes": 120, "degree": 4, "diameter": 6, "arcs": 480, "first_node": "12345",
    }  # fmt: skip
    for network in ("tree:1000000000,1", "hypercube:40", "star:15", "mesh:1", "hypercube:0"):
        status, out, _ = ask("networks", network)
        assert (status, max(map(len, out.splitlines())) < 200) == (0, True)


@pytest.mark.parametrize("more", [[], ["--cut-links", "b-c"]])
@pytest.mark.parametrize("rate", ['rate="4Gbit/s", ', ""])
def test_what_is_remarked_of_a_file_is_told_once_by_each_verb_that_takes_it(tmp_path, capsys, more, rate):
    file = tmp_path / "net.dot"
    file.write_text("graph {" + "; ".join(f"{u} -- {v} [{rate}km=3]" for u, v in ["ab", "bc", "ca", "ad"]) + "}")
    for verb in (["plan", "broadcast"], ["bounds", "broadcast"], ["cables"], ["builders", "broadcast"], ["place"]):
        assert main([*verb, str(file), *more, *["--rate", "1Gbit/s"] * (verb == ["cables"])]) == 0
        out, err = capsys.readouterr()
        assert "passed over" not in out
        assert err.count(f"{file}: passed over: km ('capacity' says how many cables a link has)\n") == 1
    assert main(["networks", str(file), *more]) == 0
    out, err = capsys.readouterr()
    assert (out.count("passed over: km"), err) == (1, "")
