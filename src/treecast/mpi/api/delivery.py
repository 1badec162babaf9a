"""What a collective of ``treecast.mpi`` returns: the failed ranks whose data did not come; it raises when more is missing."""

from collections.abc import Iterable

from treecast.collectives import Collective
from treecast.errors import DeliveryError
from treecast.mpi.engine.communicator import Communicator
from treecast.mpi.engine.engine import Outcome, failed_ranks


def lost_ranks(ours: Communicator, collective: Collective, outcome: Outcome, wanted: Iterable[int]) -> tuple[int, ...]:
    """Return the failed ranks whose data this rank lacks, in ascending order.

    Parameters
    ----------
    ours
        The communicator over which the operation went.
    collective
        What was carried out.
    outcome
        What this rank holds, and who was found dead or cut off.
    wanted
        The chunks that this rank is to hold.

    Raises
    ------
    DeliveryError
        Data of a rank that lives is missing, or data of which no single rank is the source.
    """
    lacking = [chunk for chunk in wanted if chunk not in outcome.held]
    if not lacking:
        return ()
    dead = {*outcome.dead, *failed_ranks(ours.mpi, ours.comm)}
    sources = {int(collective.source_of(chunk)) for chunk in lacking}
    if sources <= dead and not collective.sums and (collective.all_source or collective.direction == "to"):
        return tuple(sorted(sources))
    who = f"ranks {', '.join(map(str, sorted(dead)))} have failed" if dead else "no rank is known to have failed"
    cut = f", links to {', '.join(map(str, sorted(outcome.cut)))} count as cut" if outcome.cut else ""
    raise DeliveryError(f"{collective.kind}: rank {ours.rank} lacks {len(lacking):,} chunks: {who}{cut}")
