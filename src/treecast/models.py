"""Models of the machine: what a node and a link can do in one step, and what a step costs. Schedules know none of it."""

from dataclasses import dataclass, replace
from typing import Literal

from treecast.errors import PlanError, did_you_mean


@dataclass(frozen=True, repr=False)
class Model:
    """Store-and-forward communication in synchronous steps, one message per arc and step; or wormhole switching.

    In every model a node adds up the contributions to a sum as they arrive, in no time, and a sum is as long as a chunk.
    The presets have names: ``all-port``, ``one-port``, … ``NAME,half`` is the same with half duplex: a link carries one way in a
    step, and a node with one port sends or receives. ``NAME,combining`` is the same where messages combine.

    Parameters
    ----------
    name : str
        What people call it.
    ports : {"all", "one"}
        Whether a node uses all its links in a step, or one.
    duplex : {"full", "half"}
        Whether a link carries a message both ways in one step, or one way. With one port, half duplex is of the port, too: in a
        step a node sends or receives.
    partner : {"any", "same"}
        With one port, whether a node may send to one neighbour and receive from another in the same step, or exchanges with
        a single neighbour.
    combining : bool
        Whether a message may hold any number of chunks; else it is one chunk.
    what : str
        A few words of help.
    routing : {"", "first", "last", "diagonal"}
        Of wormhole switching, where a message to any node takes one step, over the channels of a route along the axes of a
        mesh or torus: the first axis first, the last, or all by turns. A node sends one message in a step, or receives one.
        Empty: store-and-forward.
    buffered : bool
        Whether a node may keep what it relays. Else a flit that arrives in a step is sent on in the next, and the flits of a
        message follow one another without a gap.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "path:4")
    >>> print(schedule.model)
    all-port: a node sends and receives over all its links in a step
    >>> slow = treecast.Model("slow", ports="one", duplex="half", partner="same")
    >>> treecast.verify(schedule, slow).holds
    True
    """

    name: str
    ports: Literal["all", "one"]
    duplex: Literal["full", "half"] = "full"
    partner: Literal["any", "same"] = "any"
    combining: bool = False
    what: str = ""
    routing: Literal["", "first", "last", "diagonal"] = ""
    buffered: bool = True

    @property
    def half_port(self) -> bool:
        """Whether a node either sends or receives in a step because its one port carries one way."""
        return self.ports == "one" and self.duplex == "half" and self.partner == "any" and not self.routing

    def __str__(self) -> str:
        return f"{self.name}: {self.what}" if self.what else self.name

    def __repr__(self) -> str:
        return f"<Model {self.name}: {self.ports} port{'s' if self.ports == 'all' else ''}, {self.duplex} duplex>"


@dataclass(frozen=True)
class Cost:
    """The time of one send of F bytes: T = β + Fτ.

    Parameters
    ----------
    startup : float
        β, in seconds.
    per_byte : float
        τ, in seconds a byte.

    Examples
    --------
    >>> import treecast
    >>> cost = treecast.Cost(startup=1e-5, per_byte=1e-9)
    >>> trace = treecast.simulate(treecast.plan("broadcast", "star:5", messages=400, survive=2))
    >>> round(trace.seconds(cost, chunk_bytes=4096), 6)
    0.004327
    """

    startup: float = 0.0
    per_byte: float = 0.0

    def __str__(self) -> str:
        return f"{self.startup:g} s + {self.per_byte:g} s a byte"

    def step_time(self, size: int) -> float:
        """Return the seconds that one step takes when each message has ``size`` bytes."""
        return self.startup + size * self.per_byte


MODELS = {
    preset.name: preset
    for preset in (
        Model("all-port", "all", what="a node sends and receives over all its links in a step"),
        Model("one-port", "one", what="a node sends over one link and receives over one link in a step"),
        Model(
            "whispering",
            "one",
            partner="same",
            combining=True,
            what="a node exchanges with one neighbour in a step; messages combine (hypercube paper)",
        ),
        Model("shouting", "all", combining=True, what="all-port; messages combine (hypercube paper)"),
        Model(
            "wormhole",
            "one",
            combining=True,
            what="a node sends or receives one message in a step, to any distance, first axis first (mesh paper)",
            routing="first",
        ),
        Model(
            "wormhole-last",
            "one",
            combining=True,
            what="as wormhole, but messages go along the last axis first",
            routing="last",
        ),
        Model(
            "wormhole-diagonal",
            "one",
            combining=True,
            what="as wormhole, but messages go along all axes by turns, near the straight line",
            routing="diagonal",
        ),
        Model(
            "bufferless",
            "one",
            what="one-port; what arrives is sent on in the next step, a message is not interrupted (tree paper)",
            buffered=False,
        ),
        Model("bufferless-multiport", "all", what="as bufferless, over all links at once", buffered=False),
    )
}
"""The presets, by name."""
WORMHOLE = tuple(name for name, preset in MODELS.items() if preset.routing)
"""The names of the presets of wormhole switching."""


_SUFFIXES = ("combining", "half", "full")


def model(name: str | Model) -> Model:
    """Return the model of a name: that of a preset, with ``,combining`` or ``,half`` behind it, or both.

    Parameters
    ----------
    name : str or Model
        ``NAME,half`` is the half-duplex form of a preset, and in ``NAME,combining`` a message holds any number of chunks.

    Raises
    ------
    PlanError
        When there is none.

    Examples
    --------
    >>> model("one-port,half,combining")
    <Model one-port,combining,half: one port, half duplex>
    """
    if isinstance(name, Model):
        return name
    preset, *suffixes = name.split(",")
    if preset not in MODELS or not set(suffixes) <= set(_SUFFIXES) or {"half", "full"} <= set(suffixes):
        raise PlanError(
            f"{name!r} is no model: write one of {', '.join(MODELS)}, with ',half' behind it for half duplex, and "
            f"',combining' where messages combine{did_you_mean(preset, MODELS)}"
        )
    found = MODELS[preset]
    if "combining" in suffixes and not found.combining:
        if not found.buffered:
            raise PlanError(f"{name!r} is no model: without buffers messages go flit by flit and do not combine")
        wider = replace(found, name=f"{preset},combining", combining=True, what=f"{found.what}; messages combine")
        found = next((other for other in MODELS.values() if _same(other, wider)), wider)
    return replace(found, name=f"{found.name},half", duplex="half") if "half" in suffixes else found


def _same(one: Model, other: Model) -> bool:
    """Return whether two models are the same machine under two names."""
    return replace(one, name=other.name, what=other.what) == other
