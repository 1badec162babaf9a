"""The facts that both formats say of a schedule before its rows: words and values, as text."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from treecast.against import AGAINST, Against
from treecast.collectives import Collective, Demand, Lengths, find_kind
from treecast.collectives.checks import MOST_MESSAGES
from treecast.collectives.collective import NO_OWNERS
from treecast.errors import FormatError, TreecastError, shorten
from treecast.lower_bounds.proof import Proof, carried, carry, of_bounds
from treecast.models import Model, Ticks, model
from treecast.networks import Network
from treecast.networks import header as graph
from treecast.networks.past_relays import whole_of
from treecast.ragged import Ints
from treecast.schedule import Claims, Payloads, Recipe, Rows, Schedule
from treecast.schedule.adding import added_by_plain_relays
from treecast.schedule.costs import Costs, spell_cost
from treecast.schedule.recipe import RENAMED
from treecast.schedule.sizes import Sizes

Header = dict[str, str]

_WHAT = ("collective", "root", "targets", "classes", "lengths", "sequence", "owners", "messages")
_BYTES = ("block-bytes", "chunk-bytes", "data-bytes", "item-bytes")
_HOW = ("copies", "against", "model", "arc-steps", "orbit", "symmetry", "alone", "sparing", "initiator")
_SAID = ("builder", "option", "options", "planned-copies", "claims", "proof")
WORDS = ("network", *graph.WORDS, graph.ADDS, *_WHAT, *_BYTES, "latency", "rate", "arc-costs", *_HOW, *_SAID)
"""Every word of a header, in the order in which they are written. An option's name belongs to its word: ``option tree``."""
OPTION = "option "
VERSION = 2
"""The version of the formats that is written; version 1 has no options and no planned-copies, and is still read."""
_ARC = re.compile(r"([0-9]{1,10})>([0-9]{1,10}):([^:]+):([^:]+)")
_STEPS = re.compile(r"([0-9]{1,10})>([0-9]{1,10}):([0-9]{1,10}):([0-9]{1,10})")
_PROOF = re.compile(r"steps=([0-9]{1,18}) prices=([0-9]{1,9}(?:,[0-9]{1,9})*)")
_LONGEST = 4096  # of a value: as long as a path may be
_MANY = {"targets": 1 << 20, "owners": 1 << 26, "lengths": 1 << 26, "proof": 1 << 17} | dict.fromkeys(
    ("classes", "arc-costs", "arc-steps", "sequence", *graph.WORDS, graph.ADDS), 1 << 28
)
_MOST_COPIES = 2**15 - 1
_MOST_ALONE = 2**31 - 1


def header_of(schedule: Schedule) -> Header:
    """Return the header of a schedule. Raises FormatError when its network can be neither found again nor held by it."""
    # 1. What a file can say.
    collective, network, recipe, sizes = schedule.collective, schedule.network, schedule.recipe, schedule.sizes
    lengths, costs, claims = collective.lengths, schedule.costs, schedule.claims
    # blocks follow one another as their nodes do
    in_order = lengths is None or not bool((np.diff(lengths.sequence) < 0).any())
    if not in_order and collective.traits.blocks == "pair":
        raise FormatError("blocks for pairs of nodes are numbered in the order of the pairs in a file")
    says_adding = bool(collective.sums) and network.relays is not None
    bytes_of = (
        [None] * 4
        if sizes is None
        else [sizes.block, sizes.chunk, sizes.data, None if sizes.data is None else sizes.item]
    )
    # 2. What each word says; None where it says nothing.
    found: dict[str, object] = {
        "network": network.spec,
        **graph.words_of(network),
        **({graph.ADDS: graph.adds_of(whole_of(network))} if says_adding else {}),
        "collective": collective.kind,
        "root": None if collective.all_source else network.label(collective.root),
        "targets": " ".join(network.labels(collective.targets)) if collective.targets else None,
        "classes": None if collective.demand is None else collective.demand.spell(network),
        "lengths": " ".join(map(str, lengths.flits.tolist()))
        if lengths is not None and collective.demand is None
        else None,
        "sequence": None if lengths is None or in_order else " ".join(network.labels(lengths.sequence)),
        "owners": _spell_owners(collective, network) if collective.owners else None,
        "messages": collective.messages,
        "copies": schedule.copies,
        "model": schedule.model.spelling,
        "arc-steps": " ".join(f"{u}>{v}:{gap}:{delay}" for u, v, gap, delay in schedule.model.arcs) or None,
        **dict(zip(_BYTES, bytes_of, strict=True)),
        **({} if costs is None else dict(zip(("latency", "rate"), spell_cost(costs.default), strict=True))),
        "arc-costs": (costs and " ".join(f"{u}>{v}:{':'.join(spell_cost(c))}" for (u, v), c in costs.arcs.items()))
        or None,
        "against": None if schedule.against == "nodes" else schedule.against,
        "orbit": "yes" if schedule.orbit else None,
        "symmetry": (schedule.symmetry.words or None) if schedule.symmetry else None,
        "alone": schedule.alone or None,
        "sparing": "yes" if schedule.sparing else None,
        "initiator": None if schedule.initiator is None else network.label(schedule.initiator),
        "builder": recipe.builder or None,
        "options": None if recipe.whole else "unknown",
        **{f"{OPTION}{name}": value for name, value in recipe.options.items()},
        "planned-copies": recipe.copies or None,
        "claims": claims and f"steps={claims.steps} transmissions={claims.transmissions}",
    }
    # 3. As text, which a reader takes.
    header = {word: str(value) for word, value in found.items() if value is not None}
    _check(header)
    return header


def header_with_proof(schedule: Schedule) -> Header:
    """Return the header of a schedule's own file, with the proof of a bound: of its report if it was judged, else of its file.

    Nothing is searched for. A report's proof is checked here, so that no file has one that its readers refuse. Raises as
    ``header_of`` does.
    """
    judged = vars(schedule).get("_judged", {}).get((schedule.model, "fast"))  # a report that is there already
    job = schedule.collective, schedule.network, schedule.copies, schedule.model
    found = judged and of_bounds(judged["bounds"], *job)
    proof = found if found and len(spell_proof(found)) <= _MANY["proof"] else carried(schedule)
    return header_of(schedule) | ({"proof": spell_proof(proof)} if proof else {})


def spell_proof(proof: Proof) -> str:
    """Return a proof as a file has it.

    >>> spell_proof(Proof(3, (1, 0, 2)))
    'steps=3 prices=1,0,2'
    """
    return f"steps={proof.steps} prices={','.join(map(str, proof.prices))}"


def _proof(header: Header) -> Proof | None:
    if "proof" not in header:
        return None
    found = _PROOF.fullmatch(header["proof"])
    if found is None:
        raise FormatError(f"a proof is written steps=… prices=A,B,…, not {shorten(header['proof'])!r}")
    return Proof(int(found[1]), tuple(map(int, found[2].split(","))))


def _spell_owners(collective: Collective, network: Network) -> str:
    first, node = zip(*collective.owners, strict=True)
    labels = [""] if collective.shared else network.labels(node)
    return " ".join(f"{chunk}:{label}" for chunk, label in zip(first, labels, strict=True))


def read_word(header: Header, text: str, other: str) -> bool:
    """Take a line's word and value into a header; return whether it is a word, or the ``other`` one, and not there yet.

    >>> header: Header = {}
    >>> read_word(header, "option trees paper", ""), read_word(header, "network star:4", ""), header
    (True, True, {'option trees': 'paper', 'network': 'star:4'})
    """
    word, _, value = text.partition(" ")
    if f"{word} " == OPTION:
        name, _, value = value.strip().partition(" ")
        word = OPTION + name
    if not (is_word(word) or word == other) or word in header:
        return False
    header[word] = value.strip()
    return True


def is_word(word: str) -> bool:
    """Return whether a header has such a word."""
    return (word in WORDS and word != OPTION.strip()) or word.startswith(OPTION)


def schedule_of(header: Header, rows: Callable[[Network], Rows], version: int = VERSION) -> Schedule:
    """Return the schedule of a header and of the rows that ``rows(network)`` makes.

    Raises FormatError when the header lacks or misuses a word, or when the parts do not fit.
    """
    # 1. Words that have to be there, and plain values.
    for word in ("network", "collective"):
        if word not in header:
            raise FormatError(f"the file does not say its {word}: it needs a line '{word} …'")
    _check(header)
    for word in ("orbit", "sparing"):
        if header.get(word, "no") not in ("yes", "no"):
            raise FormatError(f"{word} is yes or no, not {shorten(header[word])!r}")
    try:
        # 2. The network first, as all other words name its nodes.
        where = graph.network_of(header)
        # a root that is not given is number 0, whatever is labelled "0"
        root = where.node(header["root"]) if "root" in header else 0
        targets = tuple(sorted(where.node(text) for text in header.get("targets", "").split()))
        if "classes" in header:
            if find_kind(header["collective"]).blocks != "class":
                raise FormatError(f"classes are those of a demand, not of a {shorten(header['collective'])}")
            collective = Collective.of_demand(where, Demand.of(header["classes"]), owners=_owners(header, where))
        else:
            collective = Collective.over(
                where,
                header["collective"],
                number(header, "messages", MOST_MESSAGES, 1),
                root=root,
                targets=targets,
                lengths=_lengths(header, where),
                owners=_owners(header, where),
            )
        # 3. The rows last, since they go by the network and its symmetry.
        _check_symmetry(header, where)
        if collective.all_source and "root" in header:
            raise FormatError(f"{collective.kind} has no root: delete the line 'root …'")
        # rows of an orbit go by the network with its symmetry
        written_for = (header.get("orbit") == "yes" and where.symmetric) or where
        schedule = Schedule(
            where,
            collective,
            _model(header, where),
            rows(written_for),
            number(header, "copies", _MOST_COPIES),
            header.get("orbit") == "yes",
            _claims(header),
            _recipe(header, version),
            sparing=header.get("sparing") == "yes",
            initiator=where.node(header["initiator"]) if "initiator" in header else None,
            against=_against(header),
            alone=number(header, "alone", _MOST_ALONE) if "alone" in header else 0,
            sizes=_sizes(header),
            costs=_costs(header, where),
        )
        # 4. What old files did not say, and the proof of a bound.
        if graph.ADDS not in header and added_by_plain_relays(where, schedule.rows, collective.sums).any():
            schedule = replace(schedule, network=where.adding())  # files did not say it once, and all relays added
        carry(schedule, _proof(header))
        return schedule
    except TreecastError as error:
        raise FormatError(one_line(str(error))) from None


def _check_symmetry(header: Header, where: Network) -> None:
    """Raise FormatError unless an orbit says the network's own symmetry; that of a Cayley network needs no words."""
    whole = where.symmetric if header.get("orbit") == "yes" else None
    own = whole.symmetry.words if whole is not None and whole.symmetry is not None else ""
    if header.get("symmetry", "") != own:
        right = f"'symmetry {own}'" if own else "no line 'symmetry …'"
        raise FormatError(f"an orbit on {where.spec} needs {right}" if own else f"this schedule needs {right}")


def _recipe(header: Header, version: int) -> Recipe:
    options = {word.removeprefix(OPTION): value for word, value in header.items() if word.startswith(OPTION)}
    copies = number(header, "planned-copies", _MOST_COPIES) if "planned-copies" in header else 0
    if header.get("options", "unknown") != "unknown":
        raise FormatError(f"options are 'unknown', or a line for each of them, not {shorten(header['options'])!r}")
    name = header.get("builder", "")
    # files of version 1 said no options, so theirs are unknown
    return Recipe(RENAMED.get(name, name), options, copies, whole=not name or (version > 1 and "options" not in header))


def _against(header: Header) -> Against:
    for against in AGAINST:
        if header.get("against", "nodes") == against:
            return against
    raise FormatError(f"copies are against {', '.join(AGAINST)}, not {shorten(header['against'])!r}")


def _sizes(header: Header) -> Sizes | None:
    if not set(_BYTES) & set(header):
        return None
    data = number(header, "data-bytes", least=1) if "data-bytes" in header else None
    return Sizes(number(header, "block-bytes"), number(header, "chunk-bytes"), data, number(header, "item-bytes"))


def _arcs(header: Header, word: str, pattern: re.Pattern[str], where: Network, right: str) -> Iterator[list[str]]:
    """Yield the numbers of the ends of each arc of a word, and what is said of it."""
    for said in header.get(word, "").split():
        found = pattern.fullmatch(said)
        if found is None or max(int(found[1]), int(found[2])) >= where.nodes:
            raise FormatError(f"{shorten(said)!r} {right}")
        yield list(found.groups())


def _costs(header: Header, where: Network) -> Costs | None:
    if not {"latency", "rate", "arc-costs"} & set(header):
        return None
    if not {"latency", "rate"} <= set(header):
        raise FormatError(
            "a send costs a latency and a rate: the file needs both lines, as in 'latency 1us', 'rate 1GB/s'"
        )
    said = _arcs(header, "arc-costs", _ARC, where, "is no cost of an arc: write U>V:LATENCY:RATE, as in 0>1:1us:1GB/s")
    arcs = {(int(u), int(v)): Costs.of(*cost).default for u, v, *cost in said}
    return replace(Costs.of(header["latency"], header["rate"]), arcs=arcs)


def _model(header: Header, where: Network) -> Model:
    """Return the machine of a header, with the gaps and delays of its arcs."""
    found = model(header.get("model", "all-port"))
    said = _arcs(header, "arc-steps", _STEPS, where, "says no steps of an arc: write U>V:GAP:DELAY, as in 0>1:3:5")
    arcs = tuple(Ticks(*map(int, each)) for each in said)
    return replace(found, arcs=arcs) if arcs else found


def _lengths(header: Header, where: Network) -> Lengths | None:
    if "lengths" not in header:
        return None
    words = header["lengths"].split()
    if not all(is_whole(word, 10) for word in words):
        raise FormatError("lengths are whole numbers of flits, one for each node, or pair of nodes, in their order")
    if "sequence" in header and len(words) != where.nodes:
        raise FormatError(f"{len(words):,} lengths are given for {where.nodes:,} nodes in sequence: one for each")
    sequence = [where.node(text) for text in header["sequence"].split()] if "sequence" in header else range(len(words))
    return Lengths(np.array(words, np.int64), np.array(sequence))


def _owners(header: Header, where: Network) -> tuple[tuple[int, int], ...]:
    """Return where the sums of an allreduce are completed, as its collective has it: from ``0:label 7:label``, or ``0:``."""
    if header.get("owners") == "0:":
        return NO_OWNERS
    runs = [word.partition(":") for word in header.get("owners", "").split()]
    if not all(is_whole(first) and label for first, _, label in runs):
        raise FormatError("owners are written as the first sum of each run and a node, as in 'owners 0:a 12:b'")
    return tuple((int(first), where.node(label)) for first, _, label in runs)


def _check(header: Header) -> None:
    for word, value in header.items():
        if not value or value != value.strip() or not value.isprintable() or len(value) > _MANY.get(word, _LONGEST):
            raise FormatError(
                f"{word} {shorten(value)!r} cannot stand in a file: it needs 1 to {_LONGEST} plain characters"
            )


def is_whole(text: str, digits: int = 19) -> bool:
    """Return whether a text is a whole number from 0 on, of so many digits at most, and of no other alphabet's."""
    return text.isascii() and text.isdigit() and len(text) <= digits


def number(header: Header, word: str, most: int = 10**18, least: int = 0) -> int:
    """Return the number that a word of a header has (1 by default). Raises FormatError for none from ``least`` to ``most``."""
    text = header.get(word, "1")
    if not (is_whole(text) and least <= int(text) <= most):
        raise FormatError(f"{word} is a whole number from {least} to {most}, not {shorten(text)!r}")
    return int(text)


def _claims(header: Header) -> Claims | None:
    if "claims" not in header:
        return None
    words: Header = {word: value for word, _, value in (part.partition("=") for part in header["claims"].split())}
    if set(words) != {"steps", "transmissions"}:
        raise FormatError(f"claims are written steps=… transmissions=…, not {shorten(header['claims'])!r}")
    return Claims(number(words, "steps"), number(words, "transmissions"))


def one_line(text: str) -> str:
    """Return a message that may quote a file as a single line without control characters, of bearable length."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain if len(plain) <= 400 else plain[:397] + "…"


def text_of(data: bytes, named: str) -> str:
    """Return a file as text. Raises FormatError when it is none."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise FormatError(f"this is no {named}: it is not UTF-8") from None


def rows_of(network: Network, payloads: Payloads, unsaid: int, columns: dict[str, Ints], **more: Ints) -> Rows:
    """Return the rows of a file, single messages where no steps are said; a port that is ``unsaid`` is that between the ends."""
    src, dst, port = columns["src"], columns["dst"], columns["port"]
    some = port == unsaid
    port[some] = network.port_between(src[some], dst[some])
    return Rows.of(payloads, **{"steps": np.ones_like(src)} | columns | more)
