"""The models under which nodes have one port each, and what the builders for them share."""

from treecast.networks import Network
from treecast.plans.built import check_memory

ONE_PORT = ("one-port",)
"""A message is one chunk."""
COMBINING = ("one-port,combining",)
"""A message holds any number of chunks."""
HALF = ("one-port,half",)
"""A message is one chunk, and a node sends or receives."""
EITHER = (*ONE_PORT, *COMBINING)
_BYTES_PER_ROW = 300  # while rows of one chunk each are made


def check_rows(messages: int, arcs: int, network: Network) -> None:
    """Raise PlanError when a row for each of M chunks and each of some arcs does not fit in this machine's memory."""
    check_memory(messages * arcs * _BYTES_PER_ROW, f"{messages * arcs:,} rows on {network.spec}")
