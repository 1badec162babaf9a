"""``treecast show``."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from treecast.cli.arguments import File, read_steps
from treecast.cli.files import PlaceOptions, load, show_rows
from treecast.cli.options import Flag, Json
from treecast.errors import TreecastError

if TYPE_CHECKING:
    from treecast.schedule import Schedule


def show(
    file: File,
    /,
    *,
    node: str | None = None,
    tree: int | None = None,
    steps: str | None = None,
    every: Annotated[Flag, Parameter(name="--all")] = False,
    told: PlaceOptions = PlaceOptions(),
    as_json: Json = False,
) -> int:
    """Print the rows of a schedule, or those of one node, one tree or some steps.

    Example: treecast show plan.tc --node 21345

    Parameters
    ----------
    node
        Only the rows of this node: its program.
    tree
        Only the rows of this tree.
    steps
        Only rows under way in steps A:B (B not included).
    every
        Print all rows, also when there are more than 200 and this is a terminal.
    """
    first, last = read_steps(steps)
    schedule, _ = load(file, told.read())
    if tree is not None and not bool((schedule.rows.tree == tree).any()):
        raise TreecastError(f"there is no tree {tree}: the schedule has {_trees_of(schedule)}")
    if steps is not None and not first < min(last, schedule.steps):
        raise TreecastError(f"--steps {steps} is empty: the schedule has the steps 0 to {schedule.steps - 1}")
    if node is not None:
        schedule = schedule.at(node)
    if tree is not None:
        schedule = schedule.tree(tree)
    if steps is not None:
        schedule = schedule[first:last]
    return show_rows(schedule, as_json, every, "--all shows them")


def _trees_of(schedule: "Schedule") -> str:
    from treecast.description import list_few

    named = sorted({int(tree) for tree in schedule.rows.tree if tree >= 0})
    return list_few([f"tree {tree}" for tree in named]) if named else "rows of no tree"
