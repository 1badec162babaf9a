"""Parameters of TACCL and TE-CCL, which describe no machine."""

from treecast.networks.reading.machine import Machine
from treecast.networks.reading.registry import matches, reader


@reader(
    "taccl",
    summary="TACCL's or TE-CCL's parameters",
    recognises=matches(rb'"(TopologyParams|intranode_sketch|GurobiParams)"\s*:'),
)
def refuse_parameters(data: bytes) -> Machine:
    """Refuse parameters of TACCL and TE-CCL, which name a machine that they know."""
    raise ValueError(
        "it names a machine that TACCL or TE-CCL knows, and parameters, but no links: give a file that the machine prints"
    )
