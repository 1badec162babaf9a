"""``treecast simulate``."""

from treecast.cli import console
from treecast.cli.arguments import DataOptions, File, Flag, Json, LiarOptions, RandomFaultOptions
from treecast.cli.files import PlaceOptions, load
from treecast.description import describe
from treecast.errors import TreecastError


def simulate(
    file: File,
    /,
    *,
    failing: RandomFaultOptions = RandomFaultOptions(),
    lying: LiarOptions = LiarOptions(),
    amount: DataOptions = DataOptions(),  # noqa: B008
    told: PlaceOptions = PlaceOptions(),
    distributed: Flag = False,
    as_json: Json = False,
) -> int:
    """Replay a schedule under faults and print the arrivals and losses.

    With lying nodes or links, each node takes the majority value of its copies, and the report names those that take a wrong one.

    Example: treecast simulate plan.tc --dead-nodes 21345 32145@5 --cut-links 12345-52341

    Parameters
    ----------
    distributed
        Let every node of a scatterv or gatherv, or of gossip on a hypercube, work out its sends on its own, and compare them.
    """
    import treecast
    from treecast.drawing.text import completion_text
    from treecast.simulation import replay
    from treecast.simulation.lies import replay_lies
    from treecast.units import spell_seconds

    schedule, report = load(file, told.read())
    schedule = amount.timed(schedule)
    if distributed:
        if failing or lying:
            raise TreecastError(
                "the protocols that nodes run by themselves are without faults: leave out --dead-nodes, or --distributed"
            )
        return console.show(treecast.protocols.compare_with_nodes(schedule), as_json)
    faults = failing.read(schedule)
    if lying:
        if amount.latency is not None:
            raise TreecastError("seconds are of a replay without liars: leave out --latency and --rate, or the liars")
        fooled = describe(replay_lies(schedule, lying.read(schedule), faults))
        return console.show(fooled.adding({"verified": report.holds, "method": report.method}), as_json)
    with console.progress("steps", after=0.5):
        found = replay.simulate(schedule, faults)
    shown = describe(found).adding({"verified": report.holds, "method": report.method})
    if (time := replay.seconds_replayed(found)) is not None:
        shown = shown.adding({"time": time}, {"takes": f"{spell_seconds(time)}, each step as long as its slowest send"})
    if isinstance(found, replay.Trace):
        shown = shown.adding(notes=completion_text(found).splitlines())
    return console.show(shown, as_json)
