"""``treecast reliability``."""

import csv
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from treecast.cli import console
from treecast.cli.arguments import Output, Seed
from treecast.cli.files import load, show_drawn
from treecast.cli.options import Json, check_numbers
from treecast.errors import TreecastError

if TYPE_CHECKING:
    from treecast.simulation.losses import Reliability


def _read_chance(type_: Any, tokens: Sequence[Token]) -> float:
    """Return a probability that people write as ``0.01`` or ``1%``; one that is out of range is refused where it is used."""
    if (chance := _chance(tokens[0].value)) is None:
        raise TreecastError(f"{tokens[0].value!r} is no probability: write 0.01, or 1%")
    return chance


def _chance(text: str) -> float | None:
    """Return the number of ``0.01`` or ``1%``, None where it is none."""
    from treecast.units import parse_share

    with suppress(ValueError):
        return parse_share(text) if text.endswith("%") else float(text)
    return None


def reliability(
    *files: Annotated[str, Parameter(help="The schedules; - is standard input.")],
    node_failure: str = "0",
    link_failure: Annotated[float, Parameter(converter=_read_chance)] = 0.0,
    arc_failure: Annotated[float, Parameter(converter=_read_chance)] = 0.0,
    sets: int = 2_000_000,
    confidence: float = 0.95,
    seed: Seed = 0,
    workers: int = 1,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Compute the probability that every living node gets everything, where nodes and links fail at random.

    Sets of few faults are all replayed, larger ones drawn at random as far as that matters. The root does not fail.

    Example: treecast reliability plan.tc --node-failure 0.01

    Parameters
    ----------
    node_failure
        How likely each node is to fail, 0.01 or 1%; or a file (CSV) with a node and its probability a line, where others do
        not fail.
    link_failure
        How likely each link is to fail, both ways at once.
    arc_failure
        How likely each arc is to fail by itself.
    sets
        The most sets of faults that are replayed, of each schedule.
    confidence
        How often the intervals are to hold the truth, where sets are drawn at random.
    workers
        How many processes replay; with 1 this one does, on all cores. The result is the same.
    output
        Also draw a picture into this file: the loss of each schedule by how likely faults are.
    """
    from treecast.against import covers
    from treecast.drawing.registry import medium_of
    from treecast.simulation.losses import Curves
    from treecast.simulation.spreading import processes
    from treecast.simulation.survival import reliability

    # 1. What can be wrong with the options, before the work.
    if not files:
        raise TreecastError("no schedule is named: treecast reliability plan.tc --node-failure 0.01")
    check_numbers(seed=seed)
    nodes = _read_chances(node_failure)
    failing = {"nodes": bool(nodes), "links": bool(link_failure), "arcs": bool(arc_failure)}
    schedules = [load(file)[0] for file in files]
    found: list[Reliability] = []
    if output is not None:
        medium_of(output)  # before the work begins
    # 2. Each schedule. It claims to survive only faults of kinds that its copies are disjoint against.
    with processes(workers) as executor, console.progress("fault sets", after=0.5):
        for schedule in schedules:
            good = all(covers(schedule.against, kind) for kind in ("nodes", "links", "arcs") if failing[kind])
            found.append(
                reliability(
                    schedule,
                    nodes,
                    link_failure,
                    arc_failure,
                    sets=sets,
                    confidence=confidence,
                    seed=seed,
                    survives=schedule.copies - 1 if good else -1,  # the file has been verified
                    executor=executor,
                )
            )
    # 3. One result, or several side by side.
    curves = Curves(tuple(found), tuple(PurePath(file).name for file in files))
    return show_drawn(found[0] if len(found) == 1 else curves, output, as_json, curves)


def _read_chances(text: str) -> float | dict[str, float]:
    """Return a probability, or those in a file. Raises TreecastError when it is neither."""
    from treecast.writing import read_whole, spell_path

    if (chance := _chance(text)) is not None:
        return chance
    try:
        table = list(csv.reader(StringIO(read_whole(text).decode("utf-8-sig"))))
    except UnicodeDecodeError:
        raise TreecastError(f"{spell_path(text)} is no text: write a node and its probability a line") from None
    except TreecastError as error:
        raise TreecastError(f"{error}; --node-failure takes a number from 0 to 1, or a CSV file") from None
    chances: dict[str, float] = {}
    for number, row in enumerate(table, 1):
        # an empty line is a row without cells
        *node, value = (cell.strip() for cell in row or ["", ""])
        name = ",".join(node)  # the labels of grids have commas
        # a table may have a head
        if not row or (number == 1 and value.lower() == "probability"):
            continue
        try:
            chances[name] = float(value)
        except ValueError:
            raise TreecastError(
                f"line {number} of {spell_path(text)} is {','.join(row)!r}: write a node and its probability, as in 2143,0.01"
            ) from None
    return chances
