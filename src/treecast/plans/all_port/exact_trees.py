"""Broadcast over arc-disjoint trees of any network that are as shallow as there can be, which a solver finds.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
The trees are those of the builder packed-trees where no less deep ones are found. The solver may take minutes and needs
OR-Tools: so it is asked only on demand.
"""

from functools import lru_cache
from typing import NamedTuple

from treecast.description import Description
from treecast.errors import PlanError
from treecast.lower_bounds.depths import least_depth
from treecast.networks import Network
from treecast.networks.flows import fewest_ways
from treecast.plans.all_port.packed_trees import SEED
from treecast.plans.all_port.pipelines import rows_of_streams, uneven_streams
from treecast.plans.all_port.tree_facts import about_trees
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, Option, builder
from treecast.plans.trees import exact
from treecast.plans.trees.packed import packed_trees
from treecast.schedule import Claims, Schedule
from treecast.schedule.recipe import Job
from treecast.schedule.trees import TreeSet


class _Choice(NamedTuple):
    steps: int
    trees: TreeSet
    carried: list[list[tuple[int, int]]]
    proved: bool


def _read(text: str, network: Network) -> str:
    if text != "exact":
        raise PlanError(f"the depth of trees is 'exact' or not said, not {text!r}")
    return text


DEPTH = Option(
    name="tree-depth",
    what="Let a solver find trees of the least depth, or prove that there are none less deep.",
    read=_read,
    choices=("exact",),
)


def _why_not(job: Job[Network]) -> str:
    if DEPTH.keyword not in job.options:
        return "works only where --tree-depth exact is given"
    if reason := exact.lacks_solver():
        return reason
    if job.network.nodes * job.network.degree_at(job.collective.root) > exact.MOST:
        return f"is for networks on which nodes times links of the root are at most {exact.MOST:,}"
    return ""


def _claims(job: Job[Network]) -> Claims:
    if job.network.nodes == 1:
        return Claims(0, 0)
    return Claims(_choice_of(job).steps, job.collective.messages * (job.network.nodes - 1))


def _facts(job: Job[Network], schedule: Schedule, depth: int) -> Description:
    if job.network.nodes == 1:
        return Description({})
    proved, seed = _choice_of(job).proved, _seed(job)
    found = about_trees(job.network, job.collective.root, schedule.trees, depth, proved=proved)
    return found.adding({"seed": seed}, {"seed": seed})


@builder(
    "exact-trees",
    "broadcast",
    under=ALL_PORT,
    what="pipelines down arc-disjoint trees of the least depth, which a solver finds",
    fits=_why_not,
    claims=_claims,
    facts=_facts,
    options=(DEPTH, SEED),
    needs=DEPTH.keyword,
    rank=96,
)
def over_exact_trees(job: Job[Network]) -> Built:
    """All-port: broadcast down arc-disjoint trees of the least depth, as many as take the fewest steps; M(N-1) transmissions."""
    if job.network.nodes == 1:
        return Built(rows_of_streams(packed_trees(job.network, 0, 1), [[]]), Claims(0, 0))
    found = _choice_of(job)
    return Built(rows_of_streams(found.trees, found.carried), _claims(job))


def _seed(job: Job[Network]) -> int:
    return int(job.options.get(SEED.keyword, 1))


def _choice_of(job: Job[Network]) -> _Choice:
    return _choice(job.network, job.collective.root, job.collective.messages, _seed(job))


@lru_cache(16)
def _choice(network: Network, root: int, messages: int, seed: int) -> _Choice:
    """Return the trees that take the fewest steps of all numbers of trees; the solver is asked where it could save a step."""
    best = _over(packed_trees(network, root, 1), messages, True)
    for number in range(fewest_ways(network, root).ways if messages > 1 else 1, 1, -1):
        if -(-messages // number) + least_depth(network, root, number) - 1 >= best.steps:
            continue
        packed = packed_trees(network, root, number, seed)
        trees, proved = exact.least_deep(packed, seed)
        best = min(best, _over(trees, messages, proved), _over(packed, messages, False), key=lambda each: each.steps)
    return best


def _over(trees: TreeSet, messages: int, proved: bool) -> _Choice:
    steps, carried = uneven_streams(messages, 1, [int(depth) for depth in trees.depths.max(axis=1)])
    return _Choice(steps, trees, carried, proved)
