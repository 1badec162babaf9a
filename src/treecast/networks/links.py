"""Links as people write them: ``A-B`` both ways, ``A>B`` one way."""

from collections.abc import Iterator

import numpy as np

from treecast.errors import NetworkError
from treecast.networks.core import Network


def arcs_called(network: Network, name: str) -> list[tuple[int, int]]:
    """Return the arcs that a link's name means, one at least, by source and port; either sign may also be part of a label.

    A name is ``A-B``, ``A>B``, or ``A-B#0`` for the first of parallel links between two nodes. Raises NetworkError when it means
    no link.

    >>> from treecast.networks import network
    >>> arcs_called(network("mesh:2x2"), "0,0-0,1")
    [(0, 2), (1, 3)]
    """
    for left, sign, right, cable in _ways_to_read(name):
        try:
            u, v = network.node(left), network.node(right)
        except NetworkError:
            continue
        ways = [(u, v), (v, u)][: 1 + (sign == "-")]
        arcs = [[(a, port) for port in ports_to(network, a, b)] for a, b in ways]
        if not any(arcs):
            near = ", ".join(network.label(w) for w in dict.fromkeys(network.neighbors(u)))
            raise NetworkError(
                f"{name!r} is no link of {network.spec}: {network.label(u)} is joined to {near or 'no node'}"
            )
        if cable is None:
            return [arc for way in arcs for arc in way]
        chosen = [way[cable] for way in arcs if cable < len(way)]
        if not chosen:
            most = max(map(len, arcs)) - 1
            raise NetworkError(f"{name!r} is no cable of {network.spec}: those are numbered from 0 to {most}")
        return chosen
    near = network.neighbors(0) or [0]
    raise NetworkError(
        f"{name!r} names no link: write A-B (both ways) or A>B (one way), A and B nodes of {network.spec}, "
        f"as in {network.label(0)}-{network.label(near[0])}"
    )


def _ways_to_read(name: str) -> Iterator[tuple[str, str, str, int | None]]:
    """Yield how a text can be read as two nodes with a sign between them, and perhaps a cable."""
    for sign in ">-":
        for at in (at for at, character in enumerate(name) if character == sign):
            left, right = name[:at], name[at + 1 :]
            yield left, sign, right, None
            node, mark, cable = right.rpartition("#")
            if mark and cable.isascii() and cable.isdigit() and len(cable) < 10:
                yield left, sign, node, int(cable)


def ports_to(network: Network, u: int, v: int) -> list[int]:
    """Return the ports of all arcs from node ``u`` to node ``v``; parallel arcs in the order of their cables."""
    first = int(network.port_between(u, v))
    if first < 0 or not network.parallel_arcs:
        return [first] * (first >= 0)
    return np.flatnonzero(network.neighbor(u, np.arange(network.ports)) == v).tolist()
