"""How times on the hypercube and node-disjoint paths are laid out: as JSON, or as lines that people read."""

from collections.abc import Sequence
from typing import Any

from treecast.cli import console
from treecast.machine import Cost
from treecast.papers.hypercube.times import Crossing, Time, Timing, crossings, fastest
from treecast.papers.paths import Paths

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def show_times(models: Sequence[Sequence[Timing]], cost: Cost | None, chunk_bytes: int, as_json: bool) -> None:
    """Print the times of all schemes, model by model, and where one overtakes the other."""
    if as_json:
        console.show_json([_figures(found, cost, chunk_bytes) for found in models])
        return
    for number, found in enumerate(models):
        job = found[0].job
        free = ", declared fault-free" if job.fault_free else ""
        heading = f"{job.model}: {job.collective} on hypercube:{job.d}, {job.k} faults to survive{free}"
        console.show_text(("\n" if number else "") + heading)
        _show_schemes(found, cost, chunk_bytes)
        for t in found:
            if t.why:
                console.show_text(f"{t.scheme}: {t.why}")
        closed = [(t.scheme, t.closed) for t in found]
        for crossing in crossings(closed):
            console.show_text(_crossing_words(crossing))
        for r, names in fastest(closed):
            since = f"from Fτ/β = {r} on" if r else "whatever Fτ/β" if len(fastest(closed)) == 1 else "at first"
            console.show_text(f"fastest {since}: {' and '.join(names)}")
    console.show_text(
        "\ntimes when nothing fails: faults can make messages longer where nodes leave out what was said before"
    )
    console.show_text("n = 2^d; β: start-up of a send, τ: time of a byte, F: bytes of a node's message")


def _show_schemes(found: Sequence[Timing], cost: Cost | None, chunk_bytes: int) -> None:
    rows = list[tuple[object, ...]]()
    for t in found:
        for what, time in (("claimed", t.claimed), ("closed form", t.closed), ("measured", t.measured)):
            values = (t.scheme, what, "-", "-", "-") if time is None else (
                t.scheme, what, time.startups, time.chunks, time.formula if time is not t.measured else "",
            )  # fmt: skip
            seconds = () if cost is None else ("-" if time is None else time.seconds(cost, chunk_bytes),)
            rows.append((*values[:4], *seconds, values[4]))
    costs = () if cost is None else ("seconds",)
    console.show_table(["scheme", "", "x β", "x Fτ", *costs, "formula"], rows)


def _crossing_words(crossing: Crossing) -> str:
    if crossing.equal:
        return f"{crossing.first} and {crossing.second} take the same time"
    if crossing.r is None:
        return f"{crossing.first} is never slower than {crossing.second}"
    at = f"Fτ/β = {crossing.r} = {float(crossing.r):.3g}"
    return f"{crossing.first} is faster than {crossing.second} up to {at}, slower from there on"


def _figures(found: Sequence[Timing], cost: Cost | None, chunk_bytes: int) -> dict[str, Any]:
    def written(time: Time | None) -> dict[str, Any] | None:
        if time is None:
            return None
        return time._asdict() | ({} if cost is None else {"seconds": time.seconds(cost, chunk_bytes)})

    closed = [(t.scheme, t.closed) for t in found]
    return found[0].job._asdict() | {
        "schemes": [
            {"scheme": t.scheme, "claimed": written(t.claimed), "closed_form": written(t.closed),
             "measured": written(t.measured), "why": t.why}
            for t in found
        ],
        "crossovers": [
            {"first": c.first, "second": c.second, "r": None if c.r is None else str(c.r), "equal": c.equal}
            for c in crossings(closed)
        ],
        "fastest": [{"from": str(r), "schemes": list(names)} for r, names in fastest(closed)],
    }  # fmt: skip


def show_paths(paths: Paths, as_json: bool) -> None:
    """Print node-disjoint paths, a line each; calls of the second phase with their time unit raised behind the node."""
    network = paths.network
    if as_json:
        console.show_json({
            "network": network.spec, "root": network.label(paths.root), "node": network.label(paths.node),
            "paths": [
                {"nodes": way, "labels": [network.label(u) for u in way], "steps": steps,
                 "second_phase_units": [paths.unit(step) for step in steps]}
                for way, steps in zip(paths.ways, paths.steps, strict=True)
            ],
        })  # fmt: skip
        return
    for number, (way, steps) in enumerate(zip(paths.ways, paths.steps, strict=True), 1):
        units = [paths.unit(step) for step in steps]
        raised = ["" if unit is None else str(unit).translate(_RAISED) for unit in units]
        called = [f"{u}({network.label(u)}){mark}" for u, mark in zip(way[1:], raised, strict=True)]
        console.show_text(f"{number}. " + " → ".join([f"{way[0]}({network.label(way[0])})", *called]))
    if paths.phase:
        console.show_text(
            "ⁱ: called in time unit i of the second phase; all other calls are made in the first"
        )  # fmt: skip
