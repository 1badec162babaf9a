"""Checks for parts that others add to treecast: each holds one part against the laws that all parts keep.

``check_network``, ``check_maker``, ``check_machine``, ``check_format`` and ``check_transport`` return nothing when the part keeps
them, and raise AssertionError with the first that it breaks. treecast's own tests call them for every entry of every registry.

Examples
--------
>>> from treecast.testing import check_format, check_machine, check_network
>>> check_network("hypercube")
>>> check_format("text")
"""

from treecast.files.laws import check_format
from treecast.running.laws.transports import check_transport
from treecast.verification.laws.networks import check_network
from treecast.verification.laws.plans import check_machine, check_maker, check_plan

__all__ = ["check_format", "check_machine", "check_maker", "check_network", "check_plan", "check_transport"]
