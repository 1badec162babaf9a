"""The page of rules: each in a sentence, with a small schedule that breaks it, what the verifier says, and a picture."""

import re
from html import escape
from pathlib import Path

from treecast.cli.topics import ScheduleRule, read_rules
from treecast.drawing.style import DARK
from treecast.files.formats import read
from treecast.schedule import Schedule
from treecast.verification.report import Report
from treecast.verification.verifier import verify

from .markdown import block, cell, of_prose, page, printed, table

WRONG = Path(__file__).parents[2] / "examples" / "wrong"
"""The folder of schedules that break a rule each: ``RULE-FILE.tc``, with the file that judges the rule."""
_STEP, _LANE, _LEFT, _TOP = 96, 44, 76, 40


def rules() -> str:
    """Return the page."""
    every = read_rules()
    return page(
        "Rules",
        "`treecast verify` judges a schedule by these rules: those that its model and its collective call for. "
        "Rules of one name ask the same of different data. Each rule stands here with a schedule that breaks it and no other, "
        "from the folder `examples/wrong`. Pictures show steps from left to right and a line for each node. "
        "The rows that break the rule are dashed and red.",
        table(
            ("rule", "of", "asks that"),
            [[f"[{rule.name}](#{_anchor(rule)})", cell(rule.of), cell(rule.asks)] for rule in every],
        ),
        *map(_rule, every),
        "MSCCL files have [rules of their own](../formats/msccl.md).",
    )


def file_of(rule: ScheduleRule) -> Path:
    """Return the file of the schedule that breaks a rule."""
    return WRONG / f"{rule.name}-{rule.file}.tc"


def pictures() -> dict[str, str]:
    """Return the picture of each wrong schedule, as SVG, by the name of its file, and the dark one by that name and -dark."""
    found = {}
    for rule in read_rules():
        schedule, name = read(file_of(rule)), file_of(rule).stem
        found[name] = draw(schedule, verify(schedule))
        found[f"{name}-dark"] = re.sub(r"#[\da-f]{6}\b", lambda colour: DARK.of(colour[0]), found[name])
    return found


def _anchor(rule: ScheduleRule) -> str:
    return re.sub(r"\W+", "-", f"{rule.name} {rule.of}")  # two rules of a file may have one name


def _rule(rule: ScheduleRule) -> str:
    path = file_of(rule)
    lines = path.read_text("utf-8").splitlines()
    wrong = " ".join(line[2:] for line in lines if line.startswith("# "))
    told = printed(["verify", str(path)]).splitlines()
    last = next(i for i, line in enumerate(told) if line.strip().startswith("kept:"))
    return "\n\n".join(
        part
        for part in [
            f"({_anchor(rule)})=\n## {rule.name}: {cell(rule.of)}",
            f"**{cell(rule.asks[0].upper() + rule.asks[1:])}** {of_prose(rule.more)}",
            cell(wrong),
            block("\n".join(line for line in lines if not line.startswith("# "))),
            block("\n".join([f"$ treecast verify examples/wrong/{path.name}", *told[: last + 1]]), "console"),
            f"```{{image}} wrong/{path.stem}.svg\n:alt: {wrong}\n```",
        ]
        if part
    )


def draw(schedule: Schedule, report: Report) -> str:
    """Return a picture of every send in space and time; rows and nodes that break a rule are red and dashed."""
    network, rows = schedule.network, schedule.rows
    bad = {violation.row for violation in report.violations if violation.row >= 0}
    lacking = {node for violation in report.violations if violation.row < 0 for node in violation.nodes}
    width = _LEFT + schedule.steps * _STEP + 60
    height = _TOP + network.nodes * _LANE
    parts = [_lane(network.label(node), _TOP + node * _LANE, width, node in lacking) for node in range(network.nodes)]
    for step in range(schedule.steps + 1):
        x = _LEFT + step * _STEP
        parts.append(f'<line x1="{x}" y1="24" x2="{x}" y2="{height - 22}" stroke="#8886" stroke-dasharray="2 4"/>')
        if step < schedule.steps:
            parts.append(f'<text x="{x + _STEP / 2}" y="16" text-anchor="middle">step {step}</text>')
    seen: dict[tuple[int, int, int], int] = {}
    for row in range(len(rows)):
        chunks = [
            str(chunk) for first, stop in rows.payloads.ranges(int(rows.payload[row])) for chunk in range(first, stop)
        ]
        pieces = chunks if int(rows.steps[row]) == len(chunks) else [",".join(chunks) or "word"]
        for later, piece in enumerate(pieces):
            at = (int(rows.step[row]) + later, int(rows.src[row]), int(rows.dst[row]))
            seen[at] = seen.get(at, 0) + 1
            parts.append(_arrow(*at, piece, seen[at] - 1, row in bad))
    title = escape(
        " ".join(
            line.strip() for line in (f"{schedule.collective.kind} on {network.spec}", *map(str, report.violations))
        )
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#777777"><title>{title}</title>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _lane(label: str, y: int, width: int, lacking: bool) -> str:
    mark = f'<text x="{width - 52}" y="{y + 4}" fill="#d2322d" font-weight="bold">✗ here</text>' if lacking else ""
    end = width - (60 if lacking else 20)
    return (
        f'<line x1="{_LEFT - 8}" y1="{y}" x2="{end}" y2="{y}" stroke="#8888"/>'
        f'<text x="{_LEFT - 16}" y="{y + 4}" text-anchor="end">{escape(label)}</text>{mark}'
    )


def _arrow(step: int, src: int, dst: int, piece: str, nth: int, bad: bool) -> str:
    """Return a send as an arrow from its source, as the step begins, to its target, as it ends; the nth is bent more."""
    x, y = _LEFT + step * _STEP + 4, _TOP + src * _LANE
    u, v = _LEFT + (step + 1) * _STEP - 4, _TOP + dst * _LANE
    bend = 26 * nth
    a, b = (x + u) / 2 + bend, (y + v) / 2 - bend
    colour = "#d2322d" if bad else "#2a7fb8"
    dash = ' stroke-dasharray="6 4"' if bad else ""
    dx, dy = u - a, v - b
    length = max(1.0, (dx * dx + dy * dy) ** 0.5)
    dx, dy = dx / length, dy / length
    head = f"{u},{v} {u - 9 * dx - 4 * dy:.1f},{v - 9 * dy + 4 * dx:.1f} {u - 9 * dx + 4 * dy:.1f},{v - 9 * dy - 4 * dx:.1f}"
    at_x, at_y = (x + 2 * a + u) / 4, (y + 2 * b + v) / 4
    return (
        f'<path d="M{x} {y} Q{a:.1f} {b:.1f} {u} {v}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
        f'<polygon points="{head}" fill="{colour}"/>'
        f'<text x="{at_x + 6:.1f}" y="{at_y - 5:.1f}" fill="{colour}" font-weight="bold">{escape(piece)}</text>'
    )
