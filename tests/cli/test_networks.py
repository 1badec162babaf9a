"""``treecast networks``."""


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
