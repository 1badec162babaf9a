"""The models under which nodes have one port each, and the parts that builders for counted ports share."""

from typing import Any

from treecast.networks import Network
from treecast.plans.built import Job, check_memory

ONE_PORT = ("one-port",)
"""A message is one chunk."""
COMBINING = ("one-port,combining",)
"""A message holds any number of chunks."""
HALF = ("one-port,half",)
"""A message is one chunk, and a node sends or receives."""
COMBINING_HALF = ("one-port,combining,half",)
"""A message holds any number of chunks, and a node sends or receives."""
EITHER = (*ONE_PORT, *COMBINING)
_BYTES_PER_ROW = 300  # while rows of one chunk each are made


def at_once(job: Job[Any]) -> str:
    """Say that a builder is for machines on which nodes send and receive at once, one chunk over an arc."""
    machine = job.model.normal
    if machine.combining or machine.duplex == "half" or machine.partner == "same":
        return "is for links, and ports, of full duplex, where a message is one chunk"
    return ""


def turn(job: Job[Any]) -> int:
    """Return the steps that a block takes over an arc: one for each chunk, or one where messages combine."""
    return 1 if job.model.combining else job.collective.messages


def depth(job: Job[Any]) -> int:
    """Return ⌈log2 N⌉: nodes that know something at most double in a turn."""
    return (job.network.nodes - 1).bit_length()


def check_rows(messages: int, arcs: int, network: Network) -> None:
    """Raise PlanError when a row for each of M chunks and each of some arcs does not fit in this machine's memory."""
    check_memory(messages * arcs * _BYTES_PER_ROW, f"{messages * arcs:,} rows on {network.spec}")
