"""How networks side by side are laid out: as JSON, or as tables that people read."""

from collections.abc import Sequence
from dataclasses import asdict

from treecast.cli import console
from treecast.papers.compare import Comparison, Entry, Table


def show_comparison(found: Comparison, as_json: bool) -> None:
    """Print networks side by side: their figures, each collective as measured and at least, and the orders of growth."""
    if as_json:
        console.show_json({
            "networks": [asdict(figures) for figures in found.figures],
            "collectives": [
                asdict(entry) | {"ratio": _rounded(entry.ratio), "transmissions_ratio": _rounded(entry.transmissions_ratio)}
                for entry in found.entries
            ],
        })  # fmt: skip
        return
    console.show_table(
        ["network", "nodes", "degree", "diameter", "cost", "mean distance", "arcs"],
        [
            (f.network, f.nodes, f.degree, f.diameter, f.cost, _shown(f.mean_distance), f.arcs)
            for f in found.figures
        ],
    )  # fmt: skip
    console.show_text("cost: degree x diameter; mean distance: over all pairs of nodes")
    width = len(found.figures)
    for first in range(0, len(found.entries), width):
        _show_entries(found.entries[first : first + width])
    _show_growth(found.entries)


def _show_entries(entries: Sequence[Entry]) -> None:
    one = entries[0]
    console.show_text(f"\n{_title(one)}")
    console.show_table(
        ["network", "steps", "at least", "ratio", "transmissions", "at least", "ratio"],
        [
            (
                e.network, _shown(e.steps), _shown(e.steps_lower_bound), _ratio(e.ratio),
                _shown(e.transmissions), _shown(e.transmissions_lower_bound), _ratio(e.transmissions_ratio),
            )
            for e in entries
        ],
    )  # fmt: skip
    for entry in entries:
        if entry.note:
            console.show_text(f"{entry.network}: {entry.note}")


def _show_growth(entries: Sequence[Entry]) -> None:
    """Print the orders of growth of the networks that have them; those of one family are the same."""
    rows = dict.fromkeys(
        (_work(e), e.network.partition(":")[0], e.steps_order, e.transmissions_order) for e in entries if e.steps_order
    )
    if not rows:
        return
    console.show_text("\norders of growth; N = n! on star:n, 2^k on hypercube:k; equal when k = Θ(n log n)")
    console.show_table(["", "network", "steps", "transmissions"], rows)


def show_tables(found: Sequence[Table], as_json: bool) -> None:
    """Print the paper's tables of lower bounds, each line with formulas and values."""
    if as_json:
        console.show_json([asdict(table) for table in found])
        return
    for number, table in enumerate(found):
        console.show_text(f"{chr(10) if number else ''}{table.title}\n{table.letters}")
        console.show_table(
            ["problem", "steps", "", "transmissions", ""],
            [
                (ln.problem, ln.steps_formula, ln.steps, ln.transmissions_formula, ln.transmissions)
                for ln in table.lines
            ],
        )


def _work(entry: Entry) -> str:
    return entry.collective + (f", {entry.copies:,} copies" if entry.copies > 1 else "")


def _title(entry: Entry) -> str:
    return f"{_work(entry)}, {entry.messages:,} message{'s' if entry.messages > 1 else ''}: measured, and lower bounds"


def _shown(value: object) -> object:
    return "-" if value is None else value


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
