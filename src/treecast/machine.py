"""Models of the machine: what a node and a link can do in one step, and what a step costs. Schedules know none of it."""

from dataclasses import dataclass, replace
from typing import Literal

from treecast.errors import PlanError, did_you_mean


@dataclass(frozen=True)
class Model:
    """Store-and-forward communication in synchronous steps: one message per arc and step.

    ``combining``: a message may hold any number of chunks; else it is one chunk. In every model a node adds up the
    contributions to a sum as they arrive, in no time, and a sum is as long as a chunk.
    ``ports``: a node uses all its links in a step, or one.
    ``duplex``: a link carries a message both ways in one step (full), or one way (half).
    ``partner``: with one port, whether a node may send to one neighbour and receive from another in the same step
    (``any``), or exchanges with a single neighbour (``same``).
    ``routing``: of wormhole switching, where a message to any node takes one step, over the channels of a route along the
    axes of a mesh or torus, the ``first`` axis first or the ``last``, or all by turns along the ``diagonal``; a node sends
    one message in a step, or receives one. Empty: store-and-forward.
    ``buffered``: whether a node may keep what it relays. Else a flit that arrives in a step is sent on in the next, and the
    flits of a message follow one another without a gap.
    """

    name: str
    ports: Literal["all", "one"]
    duplex: Literal["full", "half"] = "full"
    partner: Literal["any", "same"] = "any"
    combining: bool = False
    what: str = ""
    routing: Literal["", "first", "last", "diagonal"] = ""
    buffered: bool = True


@dataclass(frozen=True)
class Cost:
    """The time of one send of F bytes: ``startup`` + F · ``per_byte``, in seconds (T = β + Fτ)."""

    startup: float = 0.0
    per_byte: float = 0.0

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


def model(name: str | Model) -> Model:
    """Return the model called ``name``; ``NAME,half`` is its half-duplex form. Raises PlanError when there is none."""
    if isinstance(name, Model):
        return name
    preset, comma, duplex = name.partition(",")
    if preset not in MODELS or (comma and duplex not in ("half", "full")):
        raise PlanError(
            f"{name!r} is no model: write one of {', '.join(MODELS)}, with ',half' behind it for half duplex"
            f"{did_you_mean(preset, MODELS)}"
        )
    return replace(MODELS[preset], name=f"{preset},half", duplex="half") if duplex == "half" else MODELS[preset]
