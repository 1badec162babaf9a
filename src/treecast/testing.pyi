"""Checks for parts that others add: the names of ``treecast.testing``, and where they stand."""

from treecast.files.laws import check_format as check_format
from treecast.running.laws import ends as ends
from treecast.running.laws import frames as frames
from treecast.running.laws import messages as messages
from treecast.running.laws import transports as transports
from treecast.running.laws.transports import check_transport as check_transport
from treecast.verification.laws.networks import check_network as check_network
from treecast.verification.laws.plans import check_machine as check_machine
from treecast.verification.laws.plans import check_maker as check_maker
from treecast.verification.laws.plans import check_plan as check_plan

__all__: list[str]
