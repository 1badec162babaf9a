"""Facts of a plan beside those that can be measured on its rows: how many trees there could be, and how deep they are at least.

Each builder says it of its own plans: ``Builder.facts``. ``plan`` prints it.
"""

from treecast.description import Description
from treecast.errors import PlanError
from treecast.plans.request import job_of
from treecast.schedule import Schedule


def facts(schedule: Schedule, depth: int) -> Description:
    """Return the facts that the builder of a schedule knows; none of a schedule that no builder made. ``depth``: that of its
    trees, measured.

    >>> from treecast.plans import plan
    >>> facts(plan("broadcast", "torus:4x4", messages=60, builder="disjoint-trees"), 5).lines["depth"]
    '5: the least, proved'
    """
    try:
        job, entry = job_of(schedule)
    except PlanError:
        return Description({})
    found = entry.facts(job, schedule, depth)
    if job.likeness is None:
        return found
    known = job.network.spec
    return Description({"like": known}, {"like": f"{known}, under other names: planned as such"}).joined(found)
