"""Several copies of a broadcast over one port on complete networks: x trees of one shape, each a step behind the other.

Communication model: store-and-forward, one-port, full duplex; where messages combine, all M chunks are one message.
Source: ours; the shape is explained in ``shape``.
"""

import numpy as np

from treecast.collectives.traits import one_to_all
from treecast.description import Description
from treecast.networks.complete import Complete
from treecast.plans.built import Built, Job, rows_between
from treecast.plans.registry import builder, every_port
from treecast.plans.whole.one_port.models import EITHER, check_rows
from treecast.plans.whole.one_port.own_trees import arcs_of
from treecast.plans.whole.one_port.shape import TreeShape, shape
from treecast.schedule import Claims, Payloads, Rows, Schedule


def fits(job: Job[Complete]) -> str:
    """Return why there are no shifted trees for a job, or an empty text."""
    if job.copies == 1:
        return "is for several copies: circulant sends one"
    found = shape(job.network.nodes - 1, job.copies)
    return "" if found else f"knows no shape of {job.copies} trees of {job.network.nodes:,} nodes"


def claims(job: Job[Complete]) -> Claims:
    """Return x(M - 1) + L steps and M x (N - 1) transmissions; where messages combine, L steps."""
    found = shape(job.network.nodes - 1, job.copies)
    messages, others = job.collective.messages, job.network.nodes - 1
    repeats = 0 if job.model.combining else messages - 1
    return Claims(job.copies * repeats + (found.length if found else 0), job.copies * messages * others)


def _facts(job: Job[Complete], schedule: Schedule, depth: int) -> Description:
    found = shape(job.network.nodes - 1, job.copies)
    if found is None:
        return Description({})
    least = job.copies - 1 + (job.network.nodes - 1).bit_length()
    text = f"{found.length} for one chunk; no less than {least} for any {job.copies} disjoint paths"
    return Description({"first_chunk_steps": found.length, "first_chunk_bound": least}, {"first chunk": text})


def at(job: Job[Complete], node: int) -> Built:
    """One-port: the rows of one node in ``shifted_trees``, from its label and the shape alone."""
    found = shape(job.network.nodes - 1, job.copies)
    return Built(_rows(job, found, int(job.network.untranslate(job.collective.root, node))), claims(job))


@builder(
    "disjoint-trees",
    one_to_all,
    on=Complete,
    under=EITHER,
    most_copies=every_port,
    fits=fits,
    claims=claims,
    at=at,
    facts=_facts,
    backwards=False,
    summary="several copies down trees of one shape, each a step behind the other, in which each node passes on once",
)
def shifted_trees(job: Job[Complete]) -> Built:
    """One-port: x(M - 1) + L steps, where L is the steps of the shape for one chunk; M x (N - 1) transmissions.

    The bound is x(M - 1) + x - 1 + ⌈log2 N⌉. Where messages combine, L steps.
    """
    found = shape(job.network.nodes - 1, job.copies)
    check_rows(job.copies, job.network.nodes - 1, job.network)
    return Built(_rows(job, found), claims(job))


def _rows(job: Job[Complete], of: TreeShape | None, node: int | None = None) -> Rows:
    """Return a row for each arc of shifted trees, or for those of one node, counted from the root."""
    network, messages, copies = job.network, job.collective.messages, job.copies
    tree, step, source, target = arcs_of(of, node) if of else np.zeros((4, 0), np.int64)
    source, target = (network.translate(job.collective.root, u) for u in (source, target))
    steps = 1 if job.model.combining else copies * (messages - 1) + 1
    return rows_between(
        network, Payloads.of_ranges([0], [messages]), step, source, target, steps=steps, tree=tree, payload=0
    )
