"""``treecast bounds``."""

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, JobOptions, Json, Kind, Spec


def bounds(
    collective: Kind,
    network: Spec,
    /,
    *,
    job: JobOptions = JobOptions(),
    broken: BrokenOptions = BrokenOptions(),
    as_json: Json = False,
) -> int:
    """Print the lower bounds of a collective on a network, each with its formula and source.

    Some hold under a condition, which stands behind the source. With several copies that is that each chunk goes disjoint ways:
    a schedule whose ways meet may survive as many faults, and take less. Of an allreduce it is that each sum is complete at
    one rank, its owner, before anybody hears of it.

    Under wormhole switching also what the default builder reaches, and whether that is known to be the minimum.

    Example: treecast bounds broadcast star:5 --messages 400 --survive 2
    """
    from treecast.description import describe
    from treecast.models import model
    from treecast.plans import against_of, copies_of, place_of
    from treecast.verification.gap import find_gap

    network = broken.less(network)
    where = place_of(collective, network)
    what = job.read_collective(collective, where)
    machine = model(job.model or ("bufferless" if what.traits.one_way else "all-port"))
    copies = copies_of(job.copies, job.survive)
    found = find_gap(where, what, copies, machine, against=against_of(job.against, copies))
    return console.show(describe(found), as_json)
