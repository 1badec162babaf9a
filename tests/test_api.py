"""The public functions and objects as a person meets them at a prompt, in a notebook, in a script."""

import inspect
import pickle
from dataclasses import replace
from itertools import islice
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.oracles.plain import sends_of
from tests.strategies import arbitrary
from treecast.description import Described, describe
from treecast.errors import FormatError, NetworkError, PlanError, ScheduleError, TreecastError
from treecast.files.formats import Told
from treecast.models import MODELS
from treecast.papers import protocols
from treecast.plans import builders
from treecast.verification import verifier

# --- a schedule as a sequence of sends ---


@given(arbitrary())
def test_iteration_yields_every_send_once(schedule):
    assert sorted(tuple(send) for send in schedule) == [send[:6] for send in sends_of(schedule)]


def test_iteration_is_by_steps_and_lazy():
    schedule = treecast.plan("alltoall", "star:7")  # 25 million sends
    first = list(islice(schedule, 10))
    assert [send.step for send in first] == [0] * 10
    assert first[0]._fields == ("step", "src", "dst", "port", "tree", "chunk")
    steps = [send.step for send in treecast.plan("broadcast", "star:4", messages=5, copies=2)]
    assert steps == sorted(steps)


@given(arbitrary(), st.integers(-8, 8) | st.none(), st.integers(-8, 8) | st.none())
def test_a_slice_has_the_rows_under_way_in_its_steps(schedule, first, stop):
    steps = range(schedule.steps)[first:stop]
    rows = zip(*(schedule.rows.columns()[name].tolist() for name in ("step", "steps", "src", "dst")), strict=True)
    expected = [row for row in rows if any(row[0] <= step < row[0] + row[1] for step in steps)]
    found = schedule[first:stop].rows.columns()
    assert list(zip(*(found[name].tolist() for name in ("step", "steps", "src", "dst")), strict=True)) == expected


@pytest.mark.parametrize("wrong", [3, slice(0, 8, 2), "3", (slice(0, 1), 2)])
def test_a_schedule_is_sliced_by_steps_only(wrong):
    with pytest.raises(ScheduleError, match="sliced by steps"):
        treecast.plan("broadcast", "star:3")[wrong]


def test_trees_and_nodes_of_a_schedule():
    schedule = treecast.plan("broadcast", "star:4", messages=6, copies=2)
    assert len(schedule) == len(schedule.rows)
    assert sum(len(schedule.tree(tree)) for tree in range(schedule.trees)) == len(schedule)
    assert schedule.at("2134") == schedule.at(schedule.network.node("2134"))
    assert all("2134" in map(schedule.network.label, send[1:3]) for send in schedule.at("2134"))
    for wrong in (24, "nobody"):
        with pytest.raises(NetworkError):
            schedule.at(wrong)


@pytest.mark.parametrize("kind", ["broadcast", "alltoall", "allreduce"])
def test_a_schedule_can_be_pickled(kind):
    schedule = treecast.plan(kind, "hypercube:3", messages=2)
    again = pickle.loads(pickle.dumps(schedule))
    assert again == schedule
    assert (again.steps, again.recipe, again.claims) == (schedule.steps, schedule.recipe, schedule.claims)
    assert treecast.verify(again)


# --- what is printed ---


def results():
    """Return one of everything that a person may print, of ordinary, broken and very large cases."""
    schedule = treecast.plan("broadcast", "star:5", messages=400, survive=2)
    small = treecast.plan("broadcast", "star:4", messages=6, copies=3)
    broken = small.select(small.rows.step != 1)
    collect = treecast.plan("gatherv", "tree:3,3", lengths=5)
    faults = treecast.Faults({1: 0, 2: 3, 3: 0}, {(0, 0): 2})
    yield from (schedule, small, broken, collect, treecast.plan("alltoall", "star:7"), small[:0])
    yield from (schedule.rows, schedule.rows.payloads, small[:0].rows, small[:0].rows.payloads, schedule.claims)
    yield from (schedule.recipe, collect.recipe, schedule.model, *MODELS.values(), treecast.Cost(1e-5, 1e-9))
    for each in (schedule, broken, collect):
        report = treecast.verify(each)
        yield from (report, *report.violations, *report.bounds)
    yield from (treecast.simulate(schedule), treecast.simulate(small, faults), treecast.simulate(broken))
    yield from (faults, treecast.Faults(), treecast.Faults(dict.fromkeys(range(1, 100), 0)))
    yield from (treecast.sweep(small, 1), treecast.sweep(broken, 1))
    yield from (treecast.run(small, bytes(100)), treecast.run(broken, bytes(100), faults))
    yield treecast.elect(small, bytes(100), treecast.Faults({5: 0}))
    yield from (
        protocols.run_protocol(collect),
        treecast.disjoint_trees("star:4"),
        treecast.disjoint_trees("star:4")[0],
    )
    yield from builders("broadcast", "star:5")


def test_whatever_is_printed_is_short_and_readable():
    html = 0
    for thing in results():
        text, short = str(thing), repr(thing)
        assert len(short) < 300, short
        assert "\n" not in short
        assert "object at 0x" not in short + text
        assert "array(" not in short + text
        assert len(text) < 80 * 24, type(thing)
        assert sum(1 + len(line) // 81 for line in text.splitlines()) <= 24, text
        if isinstance(thing, Described):
            html += 1
            page = ElementTree.fromstring(f"<div>{thing._repr_html_().replace('<br>', '<br/>')}</div>")
            assert [row[0].text for row in page[0].iter("tr")] == list(describe(thing).lines)
    assert html > 15


def test_a_schedule_says_what_it_does():
    schedule = treecast.plan("broadcast", "star:5", messages=400, survive=2)
    assert repr(schedule) == "<Schedule broadcast star:5: 307 steps, 476 rows>"
    assert str(schedule).splitlines() == [
        "collective     broadcast of 400 messages from 12345",
        "network        star:5, 120 nodes",
        "copies         3, to survive any 2 faults",
        "model          all-port",
        "builder        disjoint-trees",
        "trees          4",
        "steps          307",
        "transmissions  142,800",
        f"rows           {len(schedule)}",
    ]


def test_markup_in_names_is_text_in_notebooks(tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("<b> &c\n")
    page = treecast.plan("broadcast", f"file:{path}", root="<b>")._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


# --- spellings, files and labels ---


@pytest.mark.parametrize("suffix", [".tc", ".tcb"])
def test_a_file_is_as_good_as_its_schedule(tmp_path, suffix):
    schedule = treecast.plan("broadcast", "star:4", messages=6, copies=3)
    path = tmp_path / f"plan{suffix}"
    treecast.save(schedule, path)
    for file in (path, str(path)):
        assert replace(treecast.verify(file), seconds=0) == replace(treecast.verify(schedule), seconds=0)
        faults = treecast.Faults({7: 0})
        assert (treecast.simulate(file, faults).arrival == treecast.simulate(schedule, faults).arrival).all()
        assert replace(treecast.sweep(file), seconds=0) == replace(treecast.sweep(schedule), seconds=0)
        data = bytes(range(200))
        assert treecast.run(file, data).digests == treecast.run(schedule, data).digests
        assert treecast.elect(file, data, faults).digests == treecast.elect(schedule, data, faults).digests


def test_a_wrong_file_is_reported_by_verify_and_refused_by_the_others(tmp_path):
    schedule = treecast.plan("broadcast", "star:4")
    treecast.save(schedule.select(schedule.rows.step != 1), tmp_path / "wrong.tc")
    assert not treecast.verify(tmp_path / "wrong.tc")
    with pytest.raises(FormatError, match="is wrong"):
        treecast.simulate(tmp_path / "wrong.tc")
    with pytest.raises(FormatError, match="cannot be read"):
        treecast.verify(tmp_path / "missing.tc")


@pytest.mark.parametrize(
    ("texts", "nodes", "links"),
    [
        (["2134@5", "4231"], ["2134@5", "4231"], []),
        (["1234-2134", "3214"], ["3214"], ["1234-2134"]),
        ("1234>2134@3", [], ["1234>2134@3"]),
        ((), [], []),
    ],
)
def test_faults_as_people_write_them(texts, nodes, links):
    schedule = treecast.plan("broadcast", "star:4", messages=6, copies=3)
    expected = treecast.parse_faults(schedule.network, nodes, links)
    assert treecast.simulate(schedule, texts).faults == expected
    assert treecast.run(schedule, b"data", texts).faults == expected
    assert treecast.elect(schedule, b"data", texts).liars == expected


def test_a_fault_in_a_network_whose_names_hold_signs(tmp_path):
    (tmp_path / "net.edges").write_text("a-b c\nc d\na-b d\n")
    schedule = treecast.plan("broadcast", f"file:{tmp_path / 'net.edges'}", root="c")
    assert treecast.simulate(schedule, ["a-b"]).faults.nodes == {schedule.network.node("a-b"): 0}
    assert len(treecast.simulate(schedule, ["a-b-d"]).faults.arcs) == 2


@pytest.mark.parametrize("wrong", ["nobody", "1234-4321", "1234-nobody", "2134@x"])
def test_what_names_no_fault_is_refused_in_one_line(wrong):
    with pytest.raises(TreecastError, match=r"^[^\n]+$"):
        treecast.simulate(treecast.plan("broadcast", "star:4"), [wrong])


def test_bounds_by_names_are_those_of_the_report():
    for kind, spec, asked in (
        ("broadcast", "star:4", {"messages": 7, "survive": 2}),
        ("gather", "hypercube:3", {"messages": 2, "root": "0b101", "copies": 2}),
        ("broadcast", "mesh:4x4", {"model": "wormhole", "root": "1,2"}),
        ("multicast", "mesh:4x4", {"model": "wormhole", "targets": ["3,3", "0,2"]}),
        ("scatterv", "tree:2,2", {"lengths": 3}),
    ):
        schedule = treecast.plan(kind, spec, **asked)
        assert tuple(treecast.bounds(kind, spec, **asked)) == treecast.verify(schedule).bounds
    clocks = treecast.bounds("gatherv", "tree:2,2", lengths=3)
    for builder, clock in (("nearest-first", "steps"), ("transmission-certificate", "told")):
        of_report = treecast.verify(treecast.plan("gatherv", "tree:2,2", lengths=3, builder=builder)).bounds
        steps = {bound.value for bound in of_report if bound.of == "steps"}
        assert steps == {bound.value for bound in clocks if bound.of == clock}


def test_networks_are_compared_by_their_spelling():
    found = treecast.compare(["star:4", treecast.network("ring:5")], collective="broadcast", messages=2)
    assert [(entry.network, entry.verified) for entry in found.entries] == [("star:4", True), ("ring:5", True)]


# --- what the command line does, Python does ---


def test_a_schedule_is_verified_once(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(verifier, "_judge", lambda *what, judge=verifier._judge: asked.append(what) or judge(*what))
    path = tmp_path / "plan.tc"
    treecast.save(treecast.plan("broadcast", "ring:5"), path)
    schedule = treecast.load(path)
    assert treecast.verify(schedule).holds
    treecast.draw(schedule, tmp_path / "page.html")
    assert len(asked) == 1
    assert not treecast.verify(schedule, "one-port").holds
    assert treecast.verify(schedule, method="expanded").holds
    assert len(asked) == 3


def test_files_of_others_are_judged_and_written(tmp_path):
    schedule = treecast.plan("allgather", "ring:4")
    for name in ("ring.xml", "ring.mscclpp.json", "ring.goal", "ring.simgrid"):
        treecast.export(schedule, tmp_path / name)
        assert treecast.judge(tmp_path / name)
        assert treecast.verify(treecast.load(tmp_path / name))
        assert treecast.simulate(tmp_path / name).delivered == 4
    for name in ("ring.xml", "ring.mscclpp.json"):
        assert treecast.judge(tmp_path / name, network="ring:4")
        found = treecast.judge(tmp_path / name, network="path:4")
        assert {rule for rule, count in found.counts.items() if count} == {"adjacent"}
        assert treecast.load(tmp_path / name, Told(network="ring:4")).network == schedule.network
    with pytest.raises(FormatError, match="leave out all other facts"):
        treecast.judge(tmp_path / "ring.goal", network="ring:4")


@pytest.mark.parametrize(
    "verb", ["verify", "simulate", "sweep", "run", "elect", "advise", "diff", "paths", "draw", "reliability"]
)
def test_a_wrong_keyword_is_answered_with_the_right_ones(verb):
    right = list(inspect.signature(getattr(treecast, verb)).parameters)
    with pytest.raises(TypeError, match=rf"{verb}\(\) has no keyword 'wrng'.*t has: {', '.join(right)}$"):
        getattr(treecast, verb)(wrng=1)
    assert pickle.loads(pickle.dumps(getattr(treecast, verb))) is getattr(treecast, verb)


@pytest.mark.slow
def test_plans_networks_and_paths_are_compared(tmp_path):
    whole, broken = treecast.plan("broadcast", "ring:6"), treecast.plan("broadcast", "path:6")
    treecast.save(whole, tmp_path / "whole.tc")
    assert treecast.diff(tmp_path / "whole.tc", broken).told
    assert len(treecast.paths("star:4", "2134", "1234").ways) == 3
    costs = {"size": "1MiB", "latency": "1us", "rate": "12.5GB/s"}
    assert {option.ranks for option in treecast.advise("broadcast", range(7, 9), **costs).options} == {7, 8}
    assert treecast.advise("allgather", 5, ports=2, **costs).proved
    for sizes in (0, [], range(1, 2000)):
        with pytest.raises(PlanError, match="1 to 1,000 sizes"):
            treecast.advise("broadcast", sizes, **costs)
