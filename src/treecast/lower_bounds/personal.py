"""Lower bounds by cuts: the chunks that have to enter or leave some nodes, divided by the arcs over which they can.

They hold wherever an arc carries one chunk a step.
"""

from treecast.graphs.over_time import quickest, searched, size, slowest_cuts
from treecast.graphs.separators import best_separator
from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Job, steps

_MOST_SIZE, _MOST_UNITS = 2**19, 2**12  # steps times arcs, and units, of flows that are searched for


def of_scatter(job: Job, root: int) -> list[Bound]:
    """Return the bound of a scatter by cuts, and the least steps of a flow over time where it can be found quickly.

    Mx chunks for each of n nodes at distance d and beyond cross the arcs that lead to these nodes, none before step d - 1. Copies
    that go different ways are different units of a flow.
    """
    if not searched(job.network):
        return []
    start = 0 if job.network.seen_alike else root
    cut = max(slowest_cuts(job.network, start), key=lambda cut: (cut.steps(job.total), -cut.distance))
    later = f" + {cut.distance - 1:,}" if cut.distance > 1 else ""
    formula = f"⌈M x {cut.nodes:,} / {cut.arcs:,}⌉{later}"
    beyond = f", {cut.distance:,} or more arcs away" if cut.distance > 1 else ""
    found = [steps(cut.steps(job.total), formula, f"{cut.arcs:,} arcs lead to {cut.nodes:,} nodes{beyond}")]
    if size(job.network, start, job.total) <= _MOST_SIZE and job.total * job.others <= _MOST_UNITS:
        flow = quickest(job.network, start, job.total, patient=False)
        if flow is not None and flow.steps > found[0].value:
            found.append(steps(flow.steps, "least steps of a flow over time", "M x chunks for each node from the root"))
    return found


def of_alltoall(job: Job) -> list[Bound]:
    """Return the bound of an alltoall by a cut.

    Each of the n nodes inside a cut sends Mx chunks to each of the n' outside, over the arcs that lead out: none before a chunk
    can be there, nor later than one still gets to a rank.
    """
    cut, found = best_separator(job.network), list[Bound]()
    if cut is not None:
        later = f" + {cut.late:,}" if cut.late else ""
        formula = f"⌈M x {cut.nodes:,} x {cut.others:,} / {cut.arcs:,}⌉{later}"
        source = f"from {cut.nodes:,} nodes to {cut.others:,} others lead {cut.arcs:,} arcs"
        found.append(steps(-(-job.total * cut.pairs // cut.arcs) + cut.late, formula, source))
    return found
