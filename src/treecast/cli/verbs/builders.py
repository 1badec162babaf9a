"""``treecast builders``."""

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, JobOptions, Json, Kind, Spec
from treecast.description import describe


def builders(
    collective: Kind,
    network: Spec,
    /,
    *,
    job: JobOptions = JobOptions(),
    broken: BrokenOptions = BrokenOptions(),
    as_json: Json = False,
) -> int:
    """List the builders of a collective on a network: the cost of each, which one is the default, and why.

    Example: treecast builders broadcast torus:4x4x4 --messages 600

    The builder that 'plan' takes stands first; those that cannot do the job stand last, with the reason.
    """
    from treecast import plans

    network = broken.less(network)
    with console.progress("builders", after=2):
        found = plans.alternatives(**job.asked(collective, network))
        shown = describe(found)
    return console.show(shown, as_json)
