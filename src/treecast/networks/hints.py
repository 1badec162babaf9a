"""Hints for somebody who wrote a text that names no node."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treecast.networks.nodes import Nodes


def hint(network: "Nodes", text: str) -> str:
    """Return how the nodes of a network are named, for somebody who wrote ``text``.

    >>> from treecast import network
    >>> hint(network("star:4"), "1235")
    'a label has each of the symbols 1 to 4 once, as 4321: 5 is none of them'
    >>> hint(network("star:4"), "99")
    'nodes go from 0 to 23, with labels like 4321'
    >>> hint(network("star:4"), "2134,3214")
    'put spaces between nodes'
    """
    if reason := network.why_no_label(text):
        return reason
    last, label = network.nodes - 1, network.label(network.nodes - 1)
    apart = [part.strip() for part in text.split(",")]
    if len(apart) > 1 and "," not in label and all(part in network for part in apart):
        return "put spaces between nodes"
    if text.isascii() and text.isdigit():
        return f"nodes go from 0 to {last}" + (f", with labels like {label}" if label != str(last) else "")
    return f"write a label like {label}, or a number from 0 to {last}"
