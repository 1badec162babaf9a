"""``treecast repair``."""

from treecast.cli.arguments import File, Names, Output
from treecast.cli.files import PlaceOptions, check_output, show_plan
from treecast.cli.options import Json, check_numbers
from treecast.description import Description, describe


def repair(
    file: File,
    /,
    *,
    dead_nodes: Names = (),
    cut_links: Names = (),
    within: float = 0.0,
    told: PlaceOptions = PlaceOptions(),
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Plan again after known faults: keep the parts of the plan that still work, and list the nodes to notify.

    Example: treecast repair plan.tc --cut-links 0,0,0-0,0,1 -o new.tc

    Of a schedule of one copy, rows that still deliver stay in their steps, and free arcs bring the rest; of one with sums, where
    nothing that stays has to begin later. Of a broadcast down trees the parts that still hang from the root are kept, where that
    takes fewer steps. Other schedules are planned anew on the rest of the network, and with fewer copies where it has no more
    paths. Nodes that are no longer reached are named and left out.

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
    import treecast
    from treecast import plans
    from treecast.plans.timing import seconds_of
    from treecast.verification.verifier import verify

    check_output(output, as_json)
    check_numbers(within=within)
    found = plans.repair(treecast.load(file, told.read()), dead_nodes=dead_nodes, cut_links=cut_links, within=within)
    report = verify(found.schedule)

    def shown() -> Description:
        lines = describe(report).joined(describe(found), after="steps")
        return lines.joined(seconds_of(found.schedule, found.before), after="steps")

    return show_plan(found.schedule, report, shown, output, as_json)
