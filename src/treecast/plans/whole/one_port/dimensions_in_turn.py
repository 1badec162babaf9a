"""Broadcast over one port on hypercubes, and networks that contain them, in M - 1 + log2 N steps, the fewest there can be.

Communication model: store-and-forward, one-port, full duplex, one message of fixed length per arc and step.
Sources: Johnsson & Ho, "Optimum Broadcasting and Personalized Communication in Hypercubes" (1989); Träff & Ripke, "Optimal
Broadcast for Fully Connected Networks" (2005), for the last d steps.

In step t all nodes exchange along dimension t mod d. So a chunk goes down a binomial tree whose dimensions begin with the one
along which the root sends it. The d trees that begin with different dimensions reach every node over node-disjoint paths:
copies of a chunk go down trees that follow each other.
"""

from typing import Any

import numpy as np

from treecast.collectives.traits import one_to_all
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder
from treecast.plans.whole.one_port.models import ONE_PORT
from treecast.plans.whole.one_port.periodic import Periodic
from treecast.schedule import Claims, Rows


def no_cube(network: Network) -> str:
    """Return why no hypercube is known that spans a network, or an empty text."""
    known = network.gray is not None
    return "" if known else "needs a hypercube, a torus of sides 2 and 4, or complete rows of a power of 2 nodes"


def dimensions(network: Network) -> int:
    """Return d, log2 N: over so many node-disjoint paths a chunk can go."""
    return (network.nodes - 1).bit_length()


def node_of_label(network: Network, label: Ints) -> Ints:
    """Return the node that has a label of the hypercube, and the label that a node has, too: int64."""
    return label ^ (label >> 1 & (network.gray or 0))


def entries(d: int, which: Ints) -> Ints:
    """Return the chunk of a period that nodes of a hypercube receive in each of its steps, as ``Periodic`` has them.

    Where bit i of a node is set, it receives along dimension i a chunk whose tree begins with its next higher bit set, or, after
    the highest, with its lowest. Where it is not set, the chunk's tree begins with dimension i.

    >>> entries(3, np.array([1, 4, 6])).tolist()
    [[0, -2, -1], [-3, -2, 2], [-3, -1, 1]]
    """
    found = np.empty((len(which), d), np.int64)
    above = np.zeros_like(which)
    for i in reversed(range(2 * d)):
        bit = which >> i % d & 1
        if i < d:
            found[:, i] = np.where(bit, above, i) - d
        above = np.where(bit, i, above)
    return found


def _claims(job: Job[Any]) -> Claims:
    """Return M - 1 + d steps for one copy, M x + d for x; M x (N - 1) transmissions."""
    others, sent = job.network.nodes - 1, job.collective.messages * job.copies
    return Claims(sent + dimensions(job.network) - (job.copies == 1) if others else 0, sent * others)


def _at(job: Job[Any], node: int) -> Built:
    """One-port: the rows of one node, from its label alone."""
    here = job.network.untranslate(job.collective.root, node)
    return Built(_rows(job, int(node_of_label(job.network, here))), _claims(job))


@builder(
    "dimensions-in-turn",
    one_to_all,
    on=no_cube,
    under=ONE_PORT,
    most_copies=dimensions,
    claims=_claims,
    at=_at,
    summary="all exchange along one dimension after the other, chunks go down rotated binomial trees (Johnsson & Ho)",
)
def dimensions_in_turn(job: Job[Any]) -> Built:
    """One-port: M - 1 + d steps, the fewest there can be; M x + d for x copies, one more than the bound."""
    return Built(_rows(job), _claims(job))


def _rows(job: Job[Any], node: int | None = None) -> Rows:
    """Return all rows, or those to and from the node of one label."""
    d = dimensions(job.network)

    def other_end(u: Ints, along: Ints) -> Ints:
        return u ^ 1 << along

    cube = Periodic(job.network.nodes, d, other_end, other_end, lambda which: entries(d, which))
    return cube.rows(job, lambda label: node_of_label(job.network, label), node)
