"""The registry of builders: each entry stands beside the function that it describes, and everybody reads them here.

A builder says for which collectives, networks and models it is (``Builder.why_not`` gives the reason where it is not), over
how many disjoint paths it can send, and, where a formula tells, how many steps it takes. The default builder of a job is the
one that takes the fewest steps, then the fewest transmissions, then, under wormhole switching, the least distance; of equals
the one that is tried first (plans/entries.py).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, wraps
from typing import Any, TypeVar, cast

from treecast.against import Against, apart, covers
from treecast.collectives import COLLECTIVES
from treecast.collectives.traits import Trait
from treecast.description import Description
from treecast.errors import PlanError
from treecast.models import MODELS, Cost, Model, model
from treecast.networks import Graph, Network
from treecast.plans.built import Built, Job
from treecast.schedule import Claims, Schedule

ALL_PORT = ("all-port",)
"""The model under which a node uses all its links in a step; its schedules hold where more than one message may use a link."""
WORMHOLE = tuple(f"{name}{half}" for name, model in MODELS.items() if model.routing for half in ("", ",half"))
"""The models of wormhole switching."""
BUFFERLESS = tuple(name for name, model in MODELS.items() if not model.buffered)
"""The models in which a node keeps nothing that it relays."""
_FEW_ARRIVALS = 2**11  # of jobs for which builders for weaker machines are asked, too

Kept = TypeVar("Kept", bound=Callable[..., Any])
Part = type[Network] | Callable[[Network], str]
Build = Callable[[Job[Any]], Built]
Facts = Callable[[Job[Any], Schedule, int], Description]
Suits = Callable[[Job[Any], int, Cost], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Option:
    """Something that a builder can be told: a keyword of ``plan()``, a flag of the command line, a line of a file.

    Parameters
    ----------
    name
        As the command line and files write it, ``fault-free``; the keyword has underscores.
    summary
        One sentence of help.
    read, write
        From text to the value that the builder gets, and back. ``read(text, network)`` raises PlanError for any other text.
    choices
        The values that there are, if they can be listed.
    flag
        Whether it is given or not, without a value.
    before
        ``before(network)``: the value of files of version 1, which cannot say their options; empty: as if not given.
    """

    name: str
    summary: str
    read: Callable[[str, Network], Any] = lambda text, network: text
    write: Callable[[Any, Network], str] = lambda value, network: str(value)
    choices: tuple[str, ...] = ()
    flag: bool = False
    before: Callable[[Network], str] = lambda network: ""

    @property
    def keyword(self) -> str:
        """The name as a keyword of ``plan()``."""
        return self.name.replace("-", "_")


def whole_number(noun: str, least: int, most: int) -> Callable[[str, Network], int]:
    """Return how an option reads a number from ``least`` to ``most``; errors call it by the ``noun``."""

    def read(text: str, network: Network) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
            raise PlanError(f"{text!r} is no {noun}: write a whole number from {least} to {most:,}")
        return int(text)

    return read


@dataclass(frozen=True)
class On:
    """The networks that a builder is for: kinds of networks, and conditions that give the reason why one will not do.

    ``walks``: whether walks past relays are among them, where routes join not all pairs of ranks.
    """

    parts: tuple[Part, ...] = ()
    walks: bool = False

    def __call__(self, network: Network) -> str:
        """Return the first reason why a network will not do, or an empty text."""
        if len(network.walk) and not self.walks:
            return "is for fewer ranks, all pairs of which are joined by routes past relays"
        for part in self.parts:
            if not isinstance(part, type):
                reason = part(network)
            else:
                family: type[Network] = part
                reason = "" if isinstance(network, family) else f"needs {family.described}"
            if reason:
                return reason
        return ""

    @property
    def breadth(self) -> int:
        """0 where kinds of networks are named, 1 for any network, 2 where conditions alone choose among all networks."""
        return 2 if self.parts and not any(isinstance(part, type) for part in self.parts) else int(not self.parts)

    @property
    def special(self) -> int:
        """More for a kind of networks than for the kinds that it is one of, and the more, the more conditions there are."""
        return sum(len(part.__mro__) if isinstance(part, type) else 1 for part in self.parts)


def looks_different(network: Network) -> str:
    """Say that a builder is for networks that look different from some nodes."""
    return "is for networks that do not look the same from every node" if network.seen_alike else ""


def has_symmetry(network: Network) -> str:
    """Say that a builder is for networks with a known symmetry: those that look the same from every node, or some graphs."""
    if network.seen_alike:
        return ""
    lacks = On((Graph,))(network)  # others may be too large to look for one
    return "is for networks that have a symmetry" if lacks or network.symmetry is None else ""


def has_symmetry_nearly(network: Network) -> str:
    """Say that a builder is for networks with a known symmetry, and for those that lack few arcs of such."""
    return has_symmetry(network) if network.mended is None else ""


def lacks_few_arcs(network: Network) -> str:
    """Say that a builder is for networks that lack few arcs of one with a known symmetry, and have none themselves."""
    other = not has_symmetry(network) or network.mended is None
    return "is for networks that lack few arcs of one with a symmetry" if other else ""


def every_port(network: Network) -> int:
    """Return the number of ports: over so many disjoint paths a network can send."""
    return network.ports


def one_way(network: Network) -> int:
    """Return 1: a builder that sends each chunk to each node once."""
    return 1


def few_arrivals(job: Job[Any]) -> bool:
    """Return whether few chunks arrive at all nodes together, so that it costs little to ask more builders."""
    collective = job.collective
    # where messages combine, all chunks of a block are one
    pieces = collective.first_blocks if job.model.combining else collective.chunks
    return pieces * (1 if collective.personal else job.network.rank_count) * job.copies <= _FEW_ARRIVALS


@dataclass(frozen=True, kw_only=True)
class Builder:
    """Something that makes schedules of some collectives, on some networks, under some models.

    Parameters
    ----------
    name, summary
        Its name, and its method in a few words.
    of
        The collectives that it plans: by name, or by what their rows in the table say.
    models
        The names of the models that its schedules are for; the first is its own choice. They hold under all models above these,
        too.
    on
        The networks that it is for.
    build
        Makes the rows, and claims their steps and transmissions.
    most_copies
        Over how many node-disjoint paths it can send on a network, from any root. They are link- and arc-disjoint, too.
    weaker
        Over how many ways that share no link, or no arc, by the faults they are good against: ``{"arcs": …}``.
    by_root
        Whether ``fits`` says of each root how many ways there are: from some there may be more.
    fits
        The reason why it cannot do a job on such a network, or an empty text.
    claims
        Its steps and transmissions in closed form, where there is one.
    at
        One node's rows from the node's label alone, in time that does not depend on the size of the network.
    facts
        ``(job, schedule, depth)``: the facts it knows of a plan of its own beside the measured ones, as lines and figures;
        ``depth`` is that of the trees, measured. ``plan`` prints it.
    options
        Its options.
    sparing
        Whether it makes sparing schedules.
    backwards
        Whether its schedules are gathers or reductions when they run backwards: not where a node hears more often than asked for.
    least
        The least steps and transmissions of its schedules, where its method is bound by more than the job is: as of both halves,
        if it goes there first and then back.
    orbit
        Whether it makes an orbit of a collective in which every node has the same part.
    baseline
        Whether it is there to compare with: it is the default only where nothing else fits.
    suits
        ``(job, chunk, cost)``: the options that take least time where a chunk has so many bytes and a send costs so much.
    any_model
        Whether it also makes schedules for any other model without routes in which nodes keep the chunks that they relay.
    cheap
        Whether it costs little to ask it for a job beside a machine's own builders, though these are not its own; None: where few
        chunks arrive.
    alike
        Whether it does so only where sends over all arcs take one step, and arrive as soon.
    needs
        The keyword of the option without which it does not plan, and is no candidate; empty for most.
    """

    name: str
    summary: str
    of: tuple["str | Trait", ...]
    models: tuple[str, ...]
    on: On
    build: Build
    most_copies: Callable[[Network], int] = one_way
    weaker: Mapping[Against, Callable[[Network], int]] = field(default_factory=dict[Against, Callable[[Network], int]])
    by_root: bool = False
    fits: Callable[[Job[Any]], str] = lambda job: ""
    claims: Callable[[Job[Any]], Claims] | None = None
    at: Callable[[Job[Any], int], Built] | None = None
    facts: Facts = lambda job, schedule, depth: Description({})
    options: tuple[Option, ...] = ()
    sparing: bool = False
    backwards: bool = True
    least: Callable[[Job[Any]], tuple[int, int]] | None = None
    orbit: bool = True
    baseline: bool = False
    suits: Suits = lambda job, chunk, cost: {}
    any_model: bool = False
    cheap: Callable[[Job[Any]], bool] | None = None
    alike: bool = False
    needs: str = ""

    @property
    def kinds(self) -> frozenset[str]:
        """The names of the collectives that it plans."""
        return frozenset(filter(self.plans, COLLECTIVES))

    def plans(self, kind: str) -> bool:
        """Return whether it plans a collective."""
        if kind not in self._planned:
            row = COLLECTIVES[kind]
            self._planned[kind] = any(each == kind if isinstance(each, str) else each(row) for each in self.of)
        return self._planned[kind]

    @cached_property
    def _planned(self) -> dict[str, bool]:
        return {}

    @cached_property
    def machines(self) -> tuple[Model, ...]:
        """The models that its schedules are for."""
        return tuple(map(model, self.models))

    @cached_property
    def _own(self) -> frozenset[Model]:
        return frozenset(own.normal for own in self.machines)

    def is_for(self, job: Job[Any]) -> bool:
        """Return whether its schedules are for the very machine of a job; routes that share links are no builder's own."""
        return job.network.past_routes is None and job.machine.normal in self._own

    def serves(self, machine: Model) -> bool:
        """Return whether its schedules hold under a model."""
        if machine not in self._served:
            free = self.any_model and machine.buffered and not machine.routing and not (self.alike and machine.arcs)
            self._served[machine] = free or machine.normal in self._own or any(own <= machine for own in self.machines)
        return self._served[machine]

    @cached_property
    def _served(self) -> dict[Model, bool]:
        return {}

    def takes(self, keywords: Iterable[str]) -> bool:
        """Return whether it has all these options."""
        return set(keywords) <= {option.keyword for option in self.options}

    def most(self, network: Network, against: Against = "nodes") -> int:
        """Return over how many ways it can send on a network, from any root, that share no node, link or arc."""
        other = [count(network) for kind, count in self.weaker.items() if covers(kind, against)]
        return max(1, self.most_copies(network), *other)

    def ways(self, job: Job[Any]) -> int:
        """Return over how many ways it can do a job, from any root: sums go one."""
        return 1 if job.collective.sums else self.most(job.network, job.against)

    def why_not(self, job: Job[Any]) -> str:
        """Return why this builder cannot do a job, as half a sentence; empty when it can."""
        kind = job.collective.kind
        if not self.plans(kind):
            return f"plans {', '.join(sorted(self.kinds))}, not {kind}"
        if reason := self.on(job.network):
            return reason
        if job.network.past_routes is not None and not self.any_model:
            return "is for networks whose arcs share no channel, not for routes past relays"
        if not self.serves(job.machine):
            full = [name for name in self.models if not name.endswith(",half")] or self.models
            full = full or ["without routes, in which nodes keep the chunks that they relay"]
            return f"needs model {' or '.join(full)}, not {job.model.name}"
        if job.copies > 1 and not (self.by_root and not job.collective.sums) and job.copies > (most := self.ways(job)):
            return f"sends over at most {most} {apart(job.against)} paths, not {job.copies}"
        if job.options and not self.takes(job.options):
            unknown = sorted(set(job.options) - {option.keyword for option in self.options})
            return f"takes no {' and no '.join(unknown)}"
        return self.fits(job)

    def __repr__(self) -> str:
        return f"<builder {self.name} of {', '.join(sorted(self.kinds))}>"


_ENTRIES: list[Builder] = []
_KNOWN: list[Callable[[], None]] = []  # how to forget what is known of the entries


def registered() -> list[Builder]:
    """Return all builders, in the order in which they registered."""
    return _ENTRIES


def until_registered(function: Kept) -> Kept:
    """Keep what a function returns until another builder is registered; by itself, if it knows how to forget."""
    known: Any = function if hasattr(function, "cache_clear") else cache(function)
    _KNOWN.append(known.cache_clear)
    return cast(Kept, known)


def forget() -> None:
    """Forget what is known of the entries, which are others now."""
    for forget_one in _KNOWN:
        forget_one()


def builder(
    name: str,
    *of: "str | Trait",
    summary: str,
    under: tuple[str, ...] = ALL_PORT,
    on: Part | tuple[Part, ...] = (),
    walks: bool = False,
    **more: Any,
) -> Callable[[Build], Build]:
    """Register the function below as a builder of collectives, by name or trait; ``more`` are fields of Builder.

    ``on``: a kind of network, or a function that gives the reason why a network will not do, or a tuple of several; if not given,
    any. ``walks``: walks past relays are among these.
    """
    parts: tuple[Part, ...] = (on,) if callable(on) else on

    def register(build: Build) -> Build:
        made = _without_combining(build) if under == ALL_PORT and not more.get("any_model") else build
        entry = Builder(name=name, summary=summary, of=of, models=under, on=On(parts, walks), build=made, **more)
        _ENTRIES[:] = [each for each in _ENTRIES if not _is_older(each, entry)] + [entry]
        forget()
        return build

    return register


def any_machine(name: str, *of: "str | Trait", **more: Any) -> Callable[[Build], Build]:
    """Register a builder as ``builder`` does, for every model in which nodes keep their messages.

    It is no model's own choice, and makes no orbits.
    """
    return builder(name, *of, under=(), any_model=True, orbit=False, **more)


def _without_combining(build: Build) -> Build:
    """Return a builder's function that plans as if messages did not combine: bounds of machines on which they do mislead it."""

    @wraps(build)
    def as_all_port(job: Job[Any]) -> Built:
        return build(replace(job, model=MODELS[ALL_PORT[0]]))

    return as_all_port


def _is_older(entry: Builder, new: Builder) -> bool:
    """Return whether an entry is the same as a new one, defined before: a cell of a notebook that is run again."""

    def told(each: Builder) -> tuple[object, ...]:
        on = tuple(getattr(part, "__qualname__", repr(part)) for part in each.on.parts)
        of = tuple(trait if isinstance(trait, str) else trait.__qualname__ for trait in each.of)
        return (each.name, of, each.models, on, each.build.__module__, each.build.__qualname__)

    return told(entry) == told(new)
