"""SHOULDER-TAP, as the work of each node of a path: woken by the node before, it wakes the next, and sends when its way is free.

Communication model: bufferless. Source: Bhatt, Pucci, Ranade & Rosenberg, Theorem 2. A node knows whether there is a next one,
but not whether that has anything to send.
"""

from treecast.protocols.messages import WakeUp
from treecast.protocols.node import UP, Heard, Local, Planned, Thought, own_flits, relay_data


def shoulder_tap(local: Local, memory: None, now: int, heard: Heard) -> Thought:
    """The root wakes its child; a node that is woken wakes the next at once, and plans its own message."""
    if local.root:  # all else that it hears has arrived
        return None, () if heard or not local.children else (Planned(now, 0, WakeUp(1)),)
    plans, call = relay_data(local, now, heard), heard.get(UP)
    if not isinstance(call, WakeUp):
        return None, plans
    came = now - 1  # the step in which the call went
    begin = max(now + (local.one_port and local.children > 0), came + call.after)
    if local.children:
        plans.append(Planned(now, 0, WakeUp(max(1, begin + local.flits - 1 - now))))
    return None, [*plans, *own_flits(local, begin)]
