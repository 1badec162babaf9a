"""What a picture in space and time tells beyond its bars: spare copies, ports, what is left out, and where sums go out."""

import numpy as np
import pytest

from tests.drawing.on_page import on_page
from treecast.drawing.figures.space_time import draw_run_on, find_windows
from treecast.drawing.look import Look, drawn_on
from treecast.drawing.passages import find_received, find_spare
from treecast.drawing.registry import View, choose
from treecast.plans import plan
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate


def by_gid(figure, gid):
    (found,) = (artist for artist in figure.findobj() if artist.get_gid() == gid)
    return found


def names(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("faults", [Faults(), Faults({5: 2, 9: 0})])
def test_spare_copies_are_those_that_bring_nothing_new(faults):
    schedule = plan("broadcast", "star:4", messages=6, copies=3)
    trace = simulate(schedule, faults)
    row, start, stop = find_spare(trace)
    found = {(r, t) for r, a, b in zip(row.tolist(), start.tolist(), stop.tolist(), strict=True) for t in range(a, b)}
    truth, dies = set(), faults.by_step(schedule.network)[0]
    for r in range(len(schedule.rows)):
        u, v = int(schedule.rows.src[r]), int(schedule.rows.dst[r])
        for i, chunk in enumerate(
            c for first, end in schedule.rows.payloads.ranges(int(schedule.rows.payload[r])) for c in range(first, end)
        ):
            t = int(schedule.rows.step[r]) + i
            held = trace.arrival_step(u, chunk)
            if held is None or held > t or t >= min(dies[u], dies[v]):
                continue
            first = trace.arrival_step(v, chunk)
            atom, _ = trace.atoms.of_chunk(chunk)
            if first <= t or trace.via[atom, v] != r:
                truth.add((r, t))
    assert found == truth
    assert found


def test_sums_are_never_spare():
    assert len(find_spare(simulate(plan("reduce", "star:4", messages=5)))[0]) == 0


def test_what_goes_over_no_tree_has_the_colours_of_ports():
    schedule = plan("allgather", "hypercube:3", model="whispering", survive=2)
    figure = on_page(draw_run_on, schedule)
    assert names(figure)[:3] == ["over port 0", "over port 1", "over port 2"]
    trace = simulate(schedule.of_node_zero())
    runs = find_received(trace)
    for port in range(3):
        assert (
            len(by_gid(figure, f"bars-port-{port}").get_paths()) == (trace.schedule.rows.port[runs.row] == port).sum()
        )
    assert by_gid(figure, "notes").get_text() == "rows that stay silent are not drawn"


def test_nodes_without_part_have_no_line():
    schedule = plan("multicast", "mesh:4x4", model="wormhole", targets=["0,3", "3,3"])
    figure = on_page(draw_run_on, schedule)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["0,0", "0,3", "3,3"]
    assert by_gid(figure, "notes").get_text() == "left out: 13 nodes without part in it"
    assert names(figure)[0] == "messages"


def test_long_stretches_are_cut():
    schedule = plan("broadcast", "star:4", messages=300, copies=3)
    trace = simulate(schedule)
    runs, figure = find_received(trace), on_page(draw_run_on, schedule)
    windows = find_windows(runs, schedule.steps)
    shown = np.zeros(schedule.steps + 1, bool)
    for first, stop in windows:
        shown[first : stop + 1] = True
    assert shown[np.concatenate([runs.start, runs.stop])].all()
    assert [tuple(map(int, axes.get_xlim())) for axes in figure.axes] == windows
    assert 1 < len(windows) < 5
    assert sum(stop - first for first, stop in windows) < 60
    assert by_gid(figure, "notes").get_text().startswith(f"left out: steps {windows[0][1]} … {windows[1][0] - 1}")


def test_some_steps_are_drawn():
    schedule = plan("broadcast", "star:4", messages=300, copies=3)
    entry = choose(schedule, "png", "space-time", View(steps=(2, 9)))
    figure = drawn_on(lambda page: entry.draw(schedule, View(page=page, steps=(2, 9))), Look())
    assert [axes.get_xlim() for axes in figure.axes] == [(2, 9)]


def test_where_finished_sums_go_out():
    schedule = plan("allreduce", "hypercube:3", messages=4)
    figure = on_page(draw_run_on, schedule)
    assert "finished sums go out" in names(figure)
    sums, rows = schedule.part.sums, schedule.of_node_zero().rows
    first = [
        int(step) for step, p in zip(rows.step, rows.payload, strict=True) if rows.payloads.ranges(int(p))[0][0] >= sums
    ]
    assert set(by_gid(figure, "results").get_xdata()) == {min(first)}
