"""The flits that nodes of a tree send when they scatter or gather without buffers: data and control flits.

Communication model: bufferless; each message below is one flit. Source: Bhatt, Pucci, Ranade & Rosenberg.
"""

from typing import NamedTuple


class Flit(NamedTuple):
    """Flit number ``place`` of the message of node ``owner``: for it, of a scatter; from it, of a gather.

    ``route``: in the first flit of a message that is dealt out, the children by which it goes on; () at its end. None in all
    others: they follow the first. Nodes that relay read nothing else of it.
    """

    owner: int
    place: int
    route: tuple[int, ...] | None = None


class WakeUp(NamedTuple):
    """SHOULDER-TAP: the way to the root is free for a flit that leaves ``after`` steps from the one in which this goes."""

    after: int


class Token(NamedTuple):
    """TRANSMISSION-CERTIFICATE: certify in the step behind that in which this goes, or a multiple of ``period`` later.

    Siblings get it in different steps, so those are slots of which no two meet.
    """

    period: int


class Certificate(NamedTuple):
    """TRANSMISSION-CERTIFICATE: ``lag`` steps after I have been told I can begin ``flits`` flits without a gap."""

    lag: int
    flits: int


class Order(NamedTuple):
    """TRANSMISSION-CERTIFICATE: begin to send ``delay`` steps after you have got this."""

    delay: int


Content = Flit | WakeUp | Token | Certificate | Order
