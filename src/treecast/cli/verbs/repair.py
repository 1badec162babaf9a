"""``treecast repair``."""

from typing import Annotated

from treecast.cli import console
from treecast.cli.arguments import File, Json, Output, Several
from treecast.cli.files import save
from treecast.cli.told import PlaceOptions
from treecast.errors import TreecastError


def repair(
    file: File,
    /,
    *,
    dead_nodes: Annotated[tuple[str, ...], Several] = (),
    cut_links: Annotated[tuple[str, ...], Several] = (),
    within: float = 0.0,
    told: PlaceOptions = PlaceOptions(),
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Plan again after known faults: keep the parts of the plan that still hang together, and say whom the change concerns.

    Example: treecast repair plan.tc --cut-links 0,0,0-0,0,1 -o new.tc

    Of a schedule of one copy, rows that still carry stay in their steps, and free arcs bring the rest; of one with sums, where
    nothing that stays has to begin later. Of a broadcast down trees the parts that still hang from the root are kept, where that
    takes fewer steps. Other schedules are planned anew on the rest of the network, and with fewer copies where it has no more
    ways. Nodes that are no longer reached are named and left out.

    Parameters
    ----------
    dead_nodes
        The nodes that are gone.
    cut_links
        The links that are gone: A-B both ways, A>B one way (in quotes).
    within
        Seconds in which shallower trees are looked for afterwards.
    output
        Write the new schedule to this file.
    """
    from treecast import formats, plans
    from treecast.description import describe
    from treecast.plans.timing import seconds_of
    from treecast.verification.verifier import verify

    if as_json and output == "-":
        raise TreecastError("--json and '-o -' both want standard output: choose one")
    found = plans.repair(formats.load(file, told.read()), dead_nodes=dead_nodes, cut_links=cut_links, within=within)
    report = verify(found.schedule)
    if report and output is not None:
        save(found.schedule, output)
    if output != "-" or not report:
        shown = describe(report).joined(describe(found), after="steps")
        console.show(shown.joined(seconds_of(found.schedule, found.before), after="steps"), as_json)
    if report and output not in (None, "-"):
        console.say(f"written: {output}, {len(found.schedule):,} rows")
    return 0 if report else 1
