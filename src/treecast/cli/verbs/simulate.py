"""``treecast simulate``."""

from treecast.cli import console
from treecast.cli.arguments import DataOptions, File, LiarOptions, RandomFaultOptions
from treecast.cli.files import PlaceOptions, load
from treecast.cli.options import Flag, Json
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

    # 1. A file, with times where costs are known.
    schedule, report = load(file, told.read())
    schedule = amount.timed(schedule)
    # 2. The protocols of the nodes, which know no faults.
    if distributed:
        if failing or lying:
            raise TreecastError(
                "the protocols that nodes run by themselves are without faults: leave out --dead-nodes, or --distributed"
            )
        return console.show(treecast.protocols.compare_with_nodes(schedule), as_json)
    # 3. A replay: with liars, or with faults alone.
    faults = failing.read(schedule)
    if lying:
        if amount.latency is not None:
            raise TreecastError("seconds are of a replay without liars: leave out --latency and --rate, or the liars")
        fooled = describe(replay_lies(schedule, lying.read(schedule), faults))
        return console.show(fooled.adding({"verified": report.holds, "method": report.method}), as_json)
    with console.progress("steps", after=0.5):
        found = replay.simulate(schedule, faults)
    # 4. The figures, and the times where there are any.
    shown = describe(found).adding({"verified": report.holds, "method": report.method})
    if (time := replay.seconds_replayed(found)) is not None:
        shown = shown.adding({"time": time}, {"takes": f"{spell_seconds(time)}, each step as long as its slowest send"})
    if isinstance(found, replay.Trace):
        shown = shown.adding(notes=completion_text(found).splitlines())
    return console.show(shown, as_json)
