"""Models of the machine: the powers of a node and a link in one step, and the cost of a step. Schedules know none of it."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from treecast.discovery import import_extensions
from treecast.errors import PlanError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from treecast.ragged import Ints


_MOST = {"ports": 2**12, "latency": 2**20}
_MOST_TICKS = 2**30


class Ticks(NamedTuple):
    """How long sends over the arcs from one node to another take, in steps.

    ``gap``: for how many they keep all that they take. ``delay``: after how many the chunk is there, counted from the begin.
    """

    source: int
    target: int
    gap: int = 1
    delay: int = 1


def _counts(name: str, value: object) -> bool:
    """Return whether a value is a whole number from 1, and no more than there may be of what is named."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST[name]


@lru_cache(64)  # the same arcs come again with every replacement of another field
def _checked(arcs: tuple[tuple[int, ...], ...], name: str, latency: int) -> tuple[Ticks, ...]:
    """Return the arcs that are unlike others, in order. Raises PlanError for numbers that will not do."""
    found = dict[tuple[int, int], Ticks]()
    for each in arcs:
        ticks = Ticks(*map(int, each))
        if not (min(ticks[:2]) >= 0 and max(ticks[:2]) < 2**31 and 1 <= ticks.gap <= ticks.delay <= _MOST_TICKS):
            raise PlanError(
                f"{name}: write arcs as (source, target, gap, delay), 1 <= gap <= delay <= {_MOST_TICKS:,}, not {each}"
            )
        found[ticks[:2]] = ticks
    # Arcs that are like all others say nothing. Without them equal machines are equal.
    usual = (1, latency)
    return tuple(sorted(ticks for ticks in found.values() if ticks[2:] != usual))


@dataclass(frozen=True, repr=False)
class Model:
    """Store-and-forward communication in synchronous steps, one message per arc and step; or wormhole switching.

    In every model a node adds up the contributions to a sum as they arrive, in no time, and a sum is as long as a chunk.
    The presets have names: ``all-port``, ``one-port``, … ``NAME,half`` is the same with half duplex: a link carries one way in a
    step, and a node with one port sends or receives. ``NAME,combining`` is the same where messages combine, and
    ``one-port,partner`` the same where a node has one partner in a step.

    Models are ordered: ``a <= b`` where all that fits in a step under a fits under b. So a schedule for a is one for b.

    Parameters
    ----------
    name : str
        Its name.
    ports : {"all", "one"} or int
        Over how many of its links a node sends in a step, and over how many it receives: all, one, or so many.
    duplex : {"full", "half"}
        Whether a link carries a message both ways in one step, or one way. Where ports are counted, half duplex is of them, too:
        in a step each sends or receives.
    partner : {"any", "same"}
        With one port, whether a node may send to one neighbour and receive from another in the same step, or exchanges with
        a single neighbour.
    combining : bool
        Whether a message may hold any number of chunks; else it is one chunk.
    summary : str
        A few words of help.
    routing : {"", "first", "last", "diagonal"}
        Of wormhole switching, where a message to any node takes one step, over the channels of a route along the axes of a
        mesh or torus: the first axis first, the last, or all by turns. A node sends one message in a step, or receives one.
        Empty: store-and-forward.
    buffered : bool
        Whether a node may keep data that it relays. Else it keeps what it has at first, adds to, or wants, and sends on all else
        in the step after it came; the flits of a message for one node follow one another without a gap.
    latency : int
        In how many steps a chunk arrives: one that is sent in step t can be sent on in step t + latency (the postal model).
    arcs : sequence of Ticks
        The arcs of a network whose sends take longer, each ``(source, target, gap, delay)``: a slow link keeps its ports for
        ``gap`` steps, and over a far one a chunk is there ``delay`` steps after it began. All others take one step, and have
        the latency. Of these, no name says anything: a file has them beside the name.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "path:4")
    >>> print(schedule.model)
    all-port: a node sends and receives over all its links in a step
    >>> slow = treecast.Model("slow", ports="one", duplex="half", partner="same")
    >>> treecast.verify(schedule, slow).holds
    True
    >>> slow <= schedule.model, schedule.model <= slow, slow.spelling
    (True, False, 'one-port,half')
    >>> mine = treecast.Model("mine", ports=2, latency=3)
    >>> treecast.plan("broadcast", "complete:9", model=mine).steps, mine.spelling
    (6, 'one-port,ports=2,latency=3')
    >>> far = treecast.Model("far", arcs=[(1, 2, 1, 9), (2, 1, 1, 9)])
    >>> treecast.plan("broadcast", "path:4", model=far).steps
    11
    """

    name: str
    ports: Literal["all", "one"] | int = "all"
    duplex: Literal["full", "half"] = "full"
    partner: Literal["any", "same"] = "any"
    combining: bool = False
    summary: str = ""
    routing: Literal["", "first", "last", "diagonal"] = ""
    buffered: bool = True
    latency: int = 1
    arcs: tuple[Ticks, ...] = ()

    def __post_init__(self) -> None:
        """Raise PlanError for a value that is none of those listed."""
        # Checked here, not by types alone: models come from files and from users' own code.
        known = {"duplex": ("full", "half"), "partner": ("any", "same"), "routing": ("", "first", "last", "diagonal")}
        for name, values in {"ports": ("all", "one"), **known}.items():
            if (given := getattr(self, name)) not in values and not (name == "ports" and _counts(name, given)):
                more = f" or a whole number from 1 to {_MOST[name]:,}" if name == "ports" else ""
                raise PlanError(f"{name} of a model is one of {', '.join(map(repr, values))}{more}, not {given!r}")
        if not _counts("latency", self.latency):
            raise PlanError(
                f"latency of a model is a whole number of steps from 1 to {_MOST['latency']:,}, not {self.latency!r}"
            )
        object.__setattr__(self, "arcs", _checked(tuple(map(tuple, self.arcs)), self.name, self.latency))
        if self.arcs and (self.combining or self.routing or not self.buffered):
            raise PlanError(
                f"{self.name}: arcs have gaps and delays where a message is one chunk, and nodes keep what they relay"
            )
        if self.ports == 1:
            object.__setattr__(self, "ports", "one")
        if (self.ports not in ("all", "one") or self.latency > 1) and (self.routing or not self.buffered):
            raise PlanError(f"{self.name}: ports are counted, and chunks are late, where nodes keep what they relay")
        if self.ports not in ("all", "one") and self.partner == "same":
            raise PlanError(f"{self.name}: one partner in a step is for one port, not for {self.ports}")

    @property
    def reversed(self) -> "Model":
        """The machine of the same arcs turned round."""
        return replace(self, arcs=tuple(each._replace(source=each.target, target=each.source) for each in self.arcs))

    @cached_property
    def _columns(self) -> tuple["Ints", "Ints"]:
        """The ends of each arc as one number, ascending, and gaps and delays; behind them an entry for all others."""
        import numpy as np

        # Both ends in one number, so that one search finds an arc. The last entry is greater than any arc, and stands
        # for all others.
        found = np.array([*self.arcs, Ticks(2**31, 0, 1, self.latency)], np.int64)
        return found[:, 0] << 31 | found[:, 1], found[:, 2:]

    def ticks(self, source: "ArrayLike", target: "ArrayLike") -> tuple["Ints", "Ints"]:
        """Return the gaps and the delays of sends between some nodes, in steps: int64, as long as both arrays.

        >>> gap, delay = Model("slow", latency=2, arcs=[(0, 1, 3, 5)]).ticks([0, 1], [1, 0])
        >>> gap.tolist(), delay.tolist()
        ([3, 1], [5, 2])
        """
        import numpy as np

        (key, ticks), sought = self._columns, np.asarray(source, np.int64) << 31 | np.asarray(target, np.int64)
        at = np.searchsorted(key, sought) if self.arcs else np.zeros(sought.shape, np.int64)
        found = ticks[np.where(key[at] == sought, at, len(key) - 1)]
        return np.ascontiguousarray(found[..., 0]), np.ascontiguousarray(found[..., 1])

    @property
    def room(self) -> int:
        """Over how many links a node sends at once, or receives; 0: over all."""
        return self.ports if isinstance(self.ports, int) else int(self.ports == "one")

    @property
    def half_port(self) -> bool:
        """Whether each port of a node either sends or receives in a step, because it carries one way."""
        return self.ports != "all" and self.duplex == "half" and not self.routing

    @cached_property
    def normal(self) -> "Model":
        """The same machine without a name, and with a partner only where that says something."""
        # With all ports a partner means nothing. With one port and half duplex a node has one partner anyway.
        free = self.ports != "one" or bool(self.routing)
        partner = "any" if free else "same" if self.duplex == "half" else self.partner
        return replace(self, name="", summary="", partner=partner)

    @property
    def spelling(self) -> str:
        """The name by which ``model`` finds this machine: its own, if it is known by that. Raises PlanError if none does."""
        numbers = [f"ports={self.ports}"] * (self.room > 1) + [f"latency={self.latency}"] * (self.latency > 1)
        # Ports and latency are counted on few presets: words for others would be read back as no machine.
        presets = ("one-port", "all-port", "whispering") if numbers else MODELS
        names = [self.name, *(",".join([preset, *more, *numbers]) for more, preset in product(_ENDINGS, presets))]
        machine = replace(self, arcs=()).normal
        if found := next((name for name in names if _known(name) == machine), ""):
            return found
        raise PlanError(
            f"no words say the machine {self.name}, so no file can: its rules go together in none of {', '.join(MODELS)}"
        )

    def __le__(self, other: "Model") -> bool:
        """Return whether all sends that fit in a step under this model fit under the other."""
        mine, its = self.normal, other.normal
        return (
            # Every rule by itself: what is stricter here, or equal, may be done there.
            mine.routing == its.routing
            and (its.ports == "all" or 0 < mine.room <= its.room)
            and mine.duplex in ("half", its.duplex)
            and mine.combining <= its.combining
            and mine.buffered <= its.buffered
            and (its.ports == "all" or mine.partner in ("same", its.partner))
            and mine._is_slower(its)
        )

    def _is_slower(self, other: "Model") -> bool:
        """Return whether no send takes less time, or arrives sooner, than under another machine."""
        import numpy as np

        if not (self.arcs or other.arcs):
            return self.latency >= other.latency
        # Only arcs that one of both names can differ. All others have the latency.
        source, target = np.array([each[:2] for each in (*self.arcs, *other.arcs)], np.int64).reshape(-1, 2).T
        mine, its = self.ticks(source, target), other.ticks(source, target)
        return self.latency >= other.latency and all(bool((a >= b).all()) for a, b in zip(mine, its, strict=True))

    def __str__(self) -> str:
        return f"{self.name}: {self.summary}" if self.summary else self.name

    def __repr__(self) -> str:
        late = f", latency {self.latency}" if self.latency > 1 else ""
        late += f", {len(self.arcs):,} arcs that take longer" if self.arcs else ""
        return f"<Model {self.name}: {self.ports} port{'s' * (self.ports != 'one')}, {self.duplex} duplex{late}>"


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
        Model("all-port", "all", summary="a node sends and receives over all its links in a step"),
        Model("one-port", "one", summary="a node sends over one link and receives over one link in a step"),
        Model(
            "whispering",
            "one",
            partner="same",
            combining=True,
            summary="a node exchanges with one neighbour in a step; messages combine (hypercube paper)",
        ),
        Model("shouting", "all", combining=True, summary="all-port; messages combine (hypercube paper)"),
        Model(
            "wormhole",
            "one",
            combining=True,
            summary="a node sends or receives one message in a step, to any distance, first axis first (mesh paper)",
            routing="first",
        ),
        Model(
            "wormhole-last",
            "one",
            combining=True,
            summary="as wormhole, but messages go along the last axis first",
            routing="last",
        ),
        Model(
            "wormhole-diagonal",
            "one",
            combining=True,
            summary="as wormhole, but messages go along all axes by turns, near the straight line",
            routing="diagonal",
        ),
        Model(
            "bufferless",
            "one",
            summary="one-port; a flit that arrives is sent on in the next step, a message is not interrupted (tree paper)",
            buffered=False,
        ),
        Model("bufferless-multiport", "all", summary="as bufferless, over all links at once", buffered=False),
    )
}
"""The presets, by name."""
WORMHOLE = tuple(name for name, preset in MODELS.items() if preset.routing)
"""The names of the presets of wormhole switching."""


_CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "combining": ({"combining": True}, "; messages combine"),
    "partner": ({"partner": "same"}, "; a node has one partner in a step"),
    "half": ({"duplex": "half"}, ""),
}
_NUMBERS = {"ports": "; a node sends over {0} links and receives over {0}", "latency": "; a chunk arrives in {0} steps"}
_ENDINGS = ((), ("half",), ("combining",), ("combining", "half"), ("partner",))


def model(name: str | Model) -> Model:
    """Return the model of a name: that of a preset, with ``,combining``, ``,partner`` or ``,half`` behind it, or several.

    ``NAME,half`` is the half-duplex form of a preset, in ``NAME,combining`` a message holds any number of chunks, and in
    ``NAME,partner`` a node with one port has one partner in a step. In ``NAME,ports=K`` a node has K ports, and in
    ``NAME,latency=L`` a chunk arrives in L steps. Raises PlanError when there is none.

    >>> model("one-port,half,combining")
    <Model one-port,combining,half: one port, half duplex>
    >>> model("one-port,ports=2,latency=3")
    <Model one-port,ports=2,latency=3: 2 ports, full duplex, latency 3>
    """
    if isinstance(name, Model):
        return name
    preset, *suffixes = name.split(",")
    if preset not in MODELS:
        import_extensions()
    said = [(word, value) for word, _, value in (each.partition("=") for each in suffixes) if word in _NUMBERS]
    flags, numbers = [suffix for suffix in suffixes if suffix.partition("=")[0] not in _NUMBERS], dict(said)
    # "half" and "full" at once, or a number twice, is a slip: neither is silently preferred.
    twice = {"half", "full"} <= set(flags) or len(numbers) < len(said)
    if preset not in MODELS or not set(flags) <= {*_CHANGES, "full"} or twice:
        raise PlanError(
            f"{name!r} is no model: write one of {', '.join(MODELS)}, with ',half' behind it for half duplex, "
            "',combining' where messages combine, ',ports=2' for two ports, and ',latency=3' where chunks arrive in three "
            f"steps{did_you_mean(preset, MODELS)}"
        )
    found = MODELS[preset]
    if "combining" in flags and not found.buffered:
        raise PlanError(f"{name!r} is no model: without buffers messages go flit by flit and do not combine")
    if "partner" in flags and (found.ports == "all" or found.routing):
        raise PlanError(f"{name!r} is no model: one partner in a step is for one-port")
    for word, value in said:
        if not (value.isascii() and value.isdigit() and len(value) < 10 and _counts(word, int(value))):
            raise PlanError(f"{name!r} is no model: {value!r} is no whole number from 1 to {_MOST[word]:,}")
    if "partner" in flags and int(numbers.get("ports", 1)) > 1:
        raise PlanError(f"{name!r} is no model: one partner in a step is for one port")
    counted = {
        f"{word}={numbers[word]}": ({word: int(numbers[word])}, text.format(numbers[word]))
        for word, text in _NUMBERS.items()
        if word in numbers
    }
    for suffix, (change, summary) in (_CHANGES | counted).items():
        if suffix in suffixes and (wider := replace(found, **change)) != found:
            # A machine that has a name of its own is called by that.
            known = next((other for other in MODELS.values() if other.normal == wider.normal), None)
            found = known or replace(wider, name=f"{found.name},{suffix}", summary=found.summary + summary)
    return found


def _known(name: str) -> Model | None:
    """Return the machine that a name stands for, in its normal form; None where there is none."""
    try:
        return model(name).normal
    except PlanError:
        return None


def machine(name: str, **powers: Any) -> Model:
    """Add a machine under a name, as ``--model`` takes it, and return it; ``powers`` are those of ``treecast.Model``.

    Raises PlanError as ``treecast.Model`` does.
    """
    MODELS[name] = Model(name, **powers)
    return MODELS[name]
