"""One description of each result, which JSON, the terminal and a notebook read alike."""

import html.parser
import json
import re
from dataclasses import dataclass

import numpy as np
import pytest

import treecast
from treecast import networks, plans
from treecast.cli import console
from treecast.collectives import Collective
from treecast.description import MOST_ROWS, Described, Description, Table, describe, node_table, spell_ranges
from treecast.models import MODELS
from treecast.papers import compare, paths, protocols, tables
from treecast.papers.hypercube.times import compare_schemes
from treecast.progress import reporting
from treecast.running.execution.bufferless import run_bufferless
from treecast.schedule.listing import Listing
from treecast.simulation.bit_replay import Gossip, gossip
from treecast.simulation.faults import Faults
from treecast.simulation.replay import replay, simulate
from treecast.verification.gap import find_gap

STAR = treecast.plan("broadcast", "star:4", messages=8, copies=2)
BROKEN = treecast.plan("broadcast", "star:4", messages=8, copies=1)
DEAD = Faults({1: 0, 6: 3})
COLLECT = treecast.plan("gatherv", "tree:2,2", lengths=3)
CUBE = networks.network("hypercube:3")
DATA = bytes(range(200))
FILES = {node: bytes(3 * 4) for node in range(1, 7)}

RESULTS = {
    "schedule": lambda: STAR,
    "report": lambda: treecast.verify(STAR),
    "broken report": lambda: treecast.verify(STAR.select(slice(3, None))),
    "baseline": lambda: plans.baseline(STAR),
    "gap": lambda: find_gap(CUBE, Collective("broadcast", 8, 1), 2, MODELS["all-port"]),
    "gap under wormhole": lambda: find_gap(
        networks.network("mesh:4x4"), Collective("broadcast", 16, 1), 1, MODELS["wormhole"]
    ),
    "trace": lambda: replay(BROKEN, DEAD),
    "gossip": lambda: gossip(treecast.plan("allgather", "hypercube:4", model="whispering"), Faults({1: 0, 2: 0, 4: 0})),
    "sweep": lambda: treecast.sweep(STAR),
    "failing sweep": lambda: treecast.sweep(BROKEN, most=1),
    "execution": lambda: treecast.run(BROKEN, DATA, DEAD),
    "election": lambda: treecast.elect(treecast.plan("broadcast", "star:4", copies=3), DATA, Faults({1: 0, 2: 0})),
    "bufferless": lambda: run_bufferless(COLLECT, FILES, 4, Faults({3: 0})),
    "agreement": lambda: protocols.compare_with_nodes(COLLECT),
    "listing": lambda: Listing(STAR, 5),
    "network": lambda: CUBE,
    "families": lambda: list(networks.families().values()),
    "findings": lambda: treecast.check_theorems(
        "star", 3, only=["distance", "Lemma 7", "survives", "section 4.4", "erratum: walk"]
    ),
    "comparison": lambda: compare.compare([CUBE, networks.network("star:4")], collective="broadcast"),
    "tables": lambda: tables.tables(networks.network("star:4")),
    "schemes": lambda: compare_schemes(CUBE),
    "paths": lambda: paths.node_disjoint_paths(CUBE, 7),
}


class Page(html.parser.HTMLParser):
    """Finds out whether all that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_shown_alike(name, capsys):
    result = RESULTS[name]()
    assert console.show(describe(result), as_json=True) == console.show(describe(result), as_json=False)
    out = capsys.readouterr().out
    figures, end = json.JSONDecoder().raw_decode(out)
    assert figures
    text = out[end:]
    found = describe(result)
    assert all(label in text for label in found.lines)
    assert all(str(line) in text for line in found.notes)
    if isinstance(result, Described):
        page = Page(result._repr_html_())
        assert [label for label in found.lines if label not in page.texts] == []
        assert sum(text.count("\n") for text in page.texts) < 1000
        assert len(str(result).splitlines()) <= 23
        assert all(len(line) <= 156 for line in str(result).splitlines())
        assert all(label in str(result) for label in list(found.lines)[:8])


def test_ranges_in_json_are_half_open():
    def figures_of(name):
        return json.loads(json.dumps(describe(RESULTS[name]()).figures, default=list))

    nodes = [*figures_of("execution")["node_reports"], *figures_of("election")["node_reports"]]
    found = {
        "trace": [one["chunks"] for one in figures_of("trace")["lost"]],
        "execution": [one["chunks"] for one in figures_of("execution")["lost"]],
        "nodes": [pair for node in nodes for key in ("lost", "fooled", "undecided") for pair in node.get(key, [])],
        "listing": [pair for row in figures_of("listing") for pair in row["chunks"]],
    }
    for ranges in found.values():
        assert ranges
        assert all(0 <= first < stop <= 8 for first, stop in ranges)
    assert {stop for _, stop in found["listing"]} > {8}
    trace = RESULTS["trace"]()
    assert [(one["node"], *one["chunks"]) for one in describe(trace).figures["lost"]] == [
        (trace.schedule.network.label(node), first, stop) for node, first, stop in trace.lost
    ]


def test_ranges_in_words_name_the_last_chunk():
    mask = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1], bool)
    words = spell_ranges([(0, 2), (3, 4), (6, 9)])
    assert words == "0-1, 3, 6-8"
    spelled = np.zeros(9, bool)
    for word in words.split(", "):
        first, _, last = word.partition("-")
        spelled[int(first) : int(last or first) + 1] = True
    assert (spelled == mask).all()
    assert spell_ranges([]) == ""
    assert spell_ranges([(i, i + 1) for i in range(25)]).endswith(" and 5 more")


def test_a_large_table_of_nodes_leaves_out_those_that_are_all_well():
    few = node_table(("node", "verdict"), [(u, "intact") for u in range(MOST_ROWS)], {"intact": "good"})
    assert (len(few.shown), few.below) == (MOST_ROWS, ())
    rows = [(u, "INCOMPLETE" if u % 50 == 0 else "intact") for u in range(1000)]
    many = node_table(("node", "verdict"), rows, {"intact": "good", "INCOMPLETE": "bad"})
    assert [row[0] for row in many.shown] == list(range(0, 1000, 50))
    assert many.below == ("and 980 other nodes: --json lists them",)
    all_wrong = node_table(("node", "verdict"), [(u, "dead") for u in range(1000)], {"dead": "quiet"})
    assert len(all_wrong.shown) == MOST_ROWS


def test_a_notebook_is_shown_what_stands_there():
    @dataclass(frozen=True)
    class Odd(Described):
        pass

    @describe.register
    def _(odd: Odd) -> Description:
        table = Table(("<th>",), [("<td>",)], "<title>", ("<note>",), {"<td>": "bad"})
        return Description({}, {"<b>": ["<i>", "&"]}, (table,), ["<pre>"])

    page = Odd()._repr_html_()
    assert re.search("<(b|i|title|note)>", page) is None
    texts = Page(page).texts
    assert {"<b>", "<i>\n&", "<th>", "<td>", "<title>", "<note>", "<pre>"} <= set(texts)
    assert "bold" in page


def test_joining_keeps_the_order_of_lines():
    one = Description({"a": 1}, {"x": 1, "y": 2})
    other = Description({"a": 2, "b": 3}, {"z": 3, "x": 4}, holds=False)
    found = one.joined(other, after="x")
    assert list(found.lines.items()) == [("x", 4), ("z", 3), ("y", 2)]
    assert (found.figures, found.holds) == ({"a": 2, "b": 3}, False)
    assert list(one.joined(other).lines) == ["x", "y", "z"]
    assert describe(["no", "such"][:0]).figures == []


def test_what_nobody_describes_is_refused():
    with pytest.raises(TypeError, match="nobody says how to describe a float"):
        describe(0.5)


def test_simulate_replays_a_large_gossip_by_bits():
    faults = Faults({5: 2, 9: 0}, {(3, 1): 1})
    for d, kind in ((4, treecast.Trace), (10, Gossip)):
        schedule = treecast.plan("allgather", f"hypercube:{d}", model="shouting", copies=4)
        told = []
        with reporting(lambda *progress: told.append(progress)):  # noqa: B023
            found = simulate(schedule, faults)
        assert isinstance(found, kind)
        assert bool(told) == (kind is Gossip)
        assert found.holds
        assert int(found.living.sum()) == found.delivered == 2**d - 2
    exact = treecast.plan("allgather", "hypercube:6", model="shouting", copies=3)
    fast, slow = gossip(exact, faults), replay(exact, faults)
    assert (fast.living == slow.living).all()
    assert fast.message_sizes.tolist() == slow.message_sizes.tolist()
    assert (fast.holds, fast.delivered, fast.steps) == (slow.holds, slow.delivered, slow.steps)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: treecast.plan("brodcast", "star:4"), "broadcast"),
        (lambda: treecast.plan("broadcast", "star:4", model="shoutin"), "shouting"),
        (lambda: treecast.plan("broadcast", "star:4", builder="disjoint-tree"), "disjoint-trees"),
        (lambda: treecast.check_theorems("hypercubes"), "hypercube"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(call, hint):
    with pytest.raises(treecast.TreecastError, match=rf"did you mean '?{hint}\b"):
        call()


def test_relays_are_counted_apart():
    said = describe(treecast.plan("broadcast", "fat-tree:4"))
    assert said.lines["network"] == "fat-tree:4, 36 nodes, 20 of them relays"
