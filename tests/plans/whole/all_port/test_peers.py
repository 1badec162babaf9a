"""What docs/explanation/peers.md shows of treecast beside other planners: never more steps, never deeper trees."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from treecast import plan, verify
from treecast.networks import network

ROOT = Path(__file__).parents[4]
MANY = 13  # peers


@pytest.fixture(scope="module")
def peers():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
        return import_module("peers")


@pytest.fixture(scope="module")
def rows():
    lines = re.findall(r"^\| (\S+:\S+) (\|.*)\|$", (ROOT / "docs/explanation/peers.md").read_text(), re.MULTILINE)
    return {spec: [cell.strip() for cell in cells.split("|")[1:]] for spec, cells in lines}


@pytest.mark.each(7)
@pytest.mark.parametrize("place", range(MANY))
def test_the_page_shows_what_is_measured(peers, rows, place):
    """All cells but the seconds of this machine are those that the benchmark prints."""
    peer = peers.PEERS[place]
    found = peers.ours(peer, within=0)
    assert rows[peer.spec][:7] == peers.figures(peer, found)[1:]
    assert found.steps == peer.bounds
    for steps, theirs in zip(found.steps, peer.tacos, strict=True):
        assert theirs is None or steps <= theirs
    assert peer.height is None or found.depth < peer.height


def test_the_page_shows_all_peers(peers, rows):
    assert [*rows] == [peer.spec for peer in peers.PEERS]
    assert len(rows) == MANY
    pairs = [pair for peer in peers.PEERS for pair in zip(peer.tacos, peer.bounds, strict=True) if pair[0] is not None]
    assert (len(pairs), sum(theirs == least + 1 for theirs, least in pairs)) == (23, 9)
    assert all(theirs <= least + 1 for theirs, least in pairs)


@pytest.mark.slow
def test_no_root_of_the_mesh_has_deeper_trees(peers):
    peer = next(peer for peer in peers.PEERS if peer.spec == "mesh:4x4x4")
    depths = [
        verify(plan("broadcast", peer.spec, root=root, messages=600)).depth for root in range(network(peer.spec).nodes)
    ]
    assert max(depths) == 9 <= peer.height
