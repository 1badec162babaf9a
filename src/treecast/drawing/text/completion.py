"""A completion curve as characters: how many nodes hold all that they want, from which step on."""

import numpy as np

from treecast.description import count_of
from treecast.simulation.replay import Trace
from treecast.steps import NEVER


def completion_text(trace: Trace, ascii: bool = False, width: int = 40, max_lines: int = 20) -> str:  # noqa: A002
    """Return bars: from which step on how many of the living nodes hold all that they want.

    A line per step at which the number grows; of more than ``max_lines`` such steps, some spread evenly over them.
    """
    living = int(trace.living.sum())
    done = trace.completion[trace.living]
    at, growth = np.unique(done[done < NEVER], return_counts=True)
    total = np.cumsum(growth)
    shown = np.unique(np.linspace(0, len(at) - 1, min(len(at), max_lines)).round().astype(int))
    lines = [f"from step  complete, of {count_of(living, 'living ' + trace.schedule.collective.member)}"]
    for i in shown.tolist():
        eighths = int(total[i]) * width * 8 // living
        part = "" if ascii or not eighths % 8 else "▏▎▍▌▋▊▉"[eighths % 8 - 1]
        lines.append(f"{int(at[i]):9}  {('#' if ascii else '█') * (eighths // 8) + part:{width}} {int(total[i])}")
    never = living - len(done[done < NEVER])
    if never:
        lines.append(f"{'never':>9}  {'':{width}} {never}")
    if len(shown) < len(at):
        lines.append(f"left out: {count_of(len(at) - len(shown), 'step')} between those shown")
    return "\n".join(lines)
