"""Ranks on several hosts with one port each: a broadcast brings one copy to each host, whose ranks hand it on among themselves.

Between hosts it is a one-port broadcast on the complete network of hosts, for each of which one rank speaks. On a host the
data passes from rank to rank, through memory, each chunk a step after it came.
"""

from collections.abc import Sequence
from dataclasses import replace

from treecast.engine.choose import Operation, Role, role_of
from treecast.engine.transfers import Transfer, with_tags

Hosts = Sequence[int]
"""Of each rank, the first rank on its host."""


def speakers_of(hosts: Hosts, root: int) -> list[int]:
    """Return the rank that speaks for each host, in the order of their first ranks: the root, or else the first.

    Examples
    --------
    >>> speakers_of([0, 1, 1, 0, 4], root=2)
    [0, 2, 4]
    """
    return [root if first == hosts[root] else first for first in sorted(set(hosts))]


def broadcast_role(operation: Operation, hosts: Hosts, root: int, rank: int, tags: int) -> Role:
    """Return the part of one rank in a broadcast from ``root``; tags are from 0 to ``tags`` - 1.

    ``operation``: the broadcast on the complete network of hosts, from that of the root. ``hosts``: of each rank, the first
    rank on its host.

    >>> import treecast
    >>> operation = Operation("broadcast", treecast.network("complete:2"), 0, 5, model="one-port")
    >>> for transfer in broadcast_role(operation, [0, 1, 1], 0, 2, 100).transfers:
    ...     print("to" if transfer.sends else "from", transfer.peer, transfer.first, transfer.stop)
    from 1 0 5
    """
    speakers, here = speakers_of(hosts, root), [r for r, host in enumerate(hosts) if host == hosts[rank]]
    speaks = next(r for r in speakers if r in here)
    chain = [speaks, *(r for r in here if r != speaks)]
    place, role = chain.index(rank), role_of(operation, speakers.index(speaks), tags)
    between = [each._replace(peer=speakers[each.peer]) for each in role.transfers] if rank == speaks else []
    begins = Transfer(False, root, 0, operation.messages, -1, 1, -1, 0, 0)
    arrivals = [begins] if root == speaks else [each for each in role.transfers if not each.sends]

    def pass_on(sends: bool, to: int) -> list[Transfer]:
        later = place + sends
        return [each._replace(sends=sends, peer=to, step=each.step + later, tree=-1) for each in arrivals]

    within = pass_on(False, chain[place - 1]) if place else []
    within += pass_on(True, chain[place + 1]) if place + 1 < len(chain) else []
    collective = replace(role.collective, nodes=len(hosts), root=root)
    return Role(collective, with_tags([*between, *within], tags), {})
