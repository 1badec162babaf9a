"""The verdict on a program that stands in a file: which rules it breaks, where, and its figures beside the lower bound."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from treecast.description import Described, Description, count_of, describe
from treecast.errors import FormatError
from treecast.files.programs.program import Place
from treecast.lower_bounds import Bound, spell_greatest
from treecast.ragged import Ints
from treecast.units import spell_seconds
from treecast.verification.bits import Bits
from treecast.verification.file_rules import place_of, rules_of

Where = Callable[[int], Place]
"""From an operation to its place in the file, in words and in numbers."""
Nouns = tuple[str, str, str, str]
"""How a format calls a rank, a lane, an operation, and the messages that an arc carries; a lane without a name is not told."""


@dataclass(frozen=True)
class Finding:
    """One breach of a rule: a sentence, and its place in the file, in words and in numbers."""

    rule: str
    text: str
    where: str = ""
    at: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.rule}: {self.where}: {self.text}" if self.where else f"{self.rule}: {self.text}"


@dataclass
class Findings:
    """The breaches that have been found so far in a file of some format.

    ``most``: how many findings of each rule are described. ``allowed``: rules that may be broken, beside those that only warn.
    """

    format: str
    most: int = 3
    allowed: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict[str, int])
    shown: dict[str, list[Finding]] = field(default_factory=dict[str, list[Finding]])
    notes: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        known = [rule.name for rule in rules_of(self.format)]
        for rule in self.allowed:
            if rule not in known:
                raise FormatError(f"{rule[:40]!r} is no rule of {self.format}: there are {', '.join(known)}")

    def judged(self, *rules: str) -> bool:
        """Note that rules were judged; return whether they are kept."""
        # a list, so that all of them are noted
        return not sum([self.counts.setdefault(rule, 0) for rule in rules])

    def stop(self, rule: str) -> bool:
        """Return whether a rule is broken; then nothing that stands behind it makes sense, and all that is left out."""
        if self.judged(rule):
            return False
        for other in [other for other in self.counts if place_of(other) > place_of(rule)]:
            del self.counts[other]
            self.shown.pop(other, None)
        return True

    def describes(self, rule: str) -> bool:
        """Return whether one more breach of a rule is described, not only counted."""
        return len(self.shown.get(rule, ())) < self.most

    def note(self, rule: str, text: str, where: str = "", at: tuple[int, ...] = ()) -> None:
        """Note a breach; one that is noted already counts once."""
        self.judged(rule)
        shown, finding = self.shown.setdefault(rule, []), Finding(rule, text, where, at)
        if finding not in shown:
            self.counts[rule] += 1
            if self.describes(rule):
                shown.append(finding)

    def these(
        self,
        rule: str,
        which: Ints,
        say: Callable[[int], str],
        where: Where,
    ) -> bool:
        """Note a breach for each of ``which``; return whether there are any. Only those that are described are spelled."""
        self.judged(rule)
        self.counts[rule] += len(which)
        shown = self.shown.setdefault(rule, [])
        shown += [Finding(rule, say(one), *where(one)) for one in which[: self.most - len(shown)].tolist()]
        return len(which) > 0

    @property
    def broken(self) -> set[str]:
        """The rules that are broken, but for those that may be."""
        warning = {rule.name for rule in rules_of(self.format) if rule.warns}.union(self.allowed)
        return {rule for rule, count in self.counts.items() if count} - warning

    def first(self) -> Finding:
        """Return the first breach, in the order of the rules."""
        return min(
            (shown[0] for rule, shown in self.shown.items() if rule in self.broken), key=lambda f: place_of(f.rule)
        )


@dataclass(frozen=True, repr=False, kw_only=True)
class FileVerdict(Described):
    """The verdict on a file by rules of its own. It is true when no rule is broken.

    ``collective`` is empty where nobody says it, ``name`` where the file has none. ``nouns``: how the format calls a rank, a
    lane, an operation, and the load of arcs. ``counts``: the breaches of each rule that was judged; rules that make no sense
    where another is broken are left out. ``allowed``: rules that may be broken, beside those that only warn. ``findings``: the
    first few of each rule. ``steps``: how many it takes if an arc carries one chunk in each. ``depth``: how many if arcs carry
    all at once that is there. ``busiest``: the load of the arc that carries most, ``busiest_arc``. ``bounds``: the lower bounds
    of the collective on the network. ``bits``: what those of its sums depend on. ``seconds``: the time of the judgement.
    None stands for figures that are not known.
    """

    format: str
    collective: str
    network: str
    nouns: Nouns
    ranks: int
    operations: int
    counts: dict[str, int]
    allowed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    name: str = ""
    lanes: int | None = None
    notes: tuple[str, ...] = ()
    messages: int | None = None
    steps: int | None = None
    depth: int | None = None
    busiest: int | None = None
    busiest_arc: tuple[int, int] = (-1, -1)
    bounds: tuple[Bound, ...] = ()
    bits: Bits | None = None
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether no rule is broken but such as only warn."""
        return not Findings(self.format, allowed=self.allowed, counts=self.counts).broken

    @property
    def is_open(self) -> bool:
        """Whether no rule is broken, and the result of the collective was not judged, as the file does not say it."""
        return self.holds and "delivered" not in self.counts

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        said = "holds" if self.holds else f"{sum(self.counts.values()):,} breaches"
        return f"<Verdict on {self.name or self.format!r}: {said}, {count_of(self.operations, self.nouns[2])}>"


def _listed(verdict: FileVerdict) -> list[str]:
    """Return the findings, rule by rule, and of each how many are not shown."""
    found = list[str]()
    for rule, count in verdict.counts.items():
        shown = [str(finding) for finding in verdict.findings if finding.rule == rule]
        found += [*shown, *[f"{rule}: {count - len(shown):,} more"] * (len(shown) < count)]
    return found


@describe.register
def _(verdict: FileVerdict) -> Description:
    rank, lane, operation, carried = verdict.nouns
    said: object = f"holds{', contents unknown' * verdict.is_open} ({', '.join(verdict.counts)})"
    if any(verdict.counts.values()):
        broken = ", ".join(f"{rule} ({count:,})" for rule, count in verdict.counts.items() if count)
        said = [said if verdict.holds else f"BROKEN: {broken}", *_listed(verdict)]
    sizes = [count_of(verdict.ranks, rank)]
    sizes += [count_of(verdict.lanes, lane)] if verdict.lanes is not None else []
    sizes.append(count_of(verdict.operations, operation))
    lines: dict[str, object] = {
        "judged": said,
        "file": f"{verdict.format}: {verdict.name}{', ' if verdict.name else ''}{', '.join(sizes)}",
        "collective": verdict.collective or "not said",
        "network": verdict.network,
    }
    if not verdict.ranks:  # its shape is wrong, and nothing behind that was read
        lines = {"judged": said}
    if verdict.messages is not None:
        lines["messages"] = f"{verdict.messages:,}"
    if verdict.steps is not None:
        fewer = "" if verdict.depth in (None, verdict.steps) else f", {verdict.depth:,} if arcs carried all at once"
        lines["steps"] = [f"{verdict.steps:,}{fewer}", *spell_greatest(verdict.bounds, "steps")]
    if verdict.busiest is not None and verdict.busiest_arc[0] >= 0:
        src, dst = verdict.busiest_arc
        lines["busiest arc"] = f"{src} > {dst}: {count_of(verdict.busiest, carried)}"
    if verdict.bits is not None:
        lines["bits"] = str(verdict.bits)
    if verdict.notes:
        lines["notes"] = list(verdict.notes)
    lines["judged in"] = spell_seconds(verdict.seconds)
    figures: dict[str, Any] = {"holds": verdict.holds, "open": verdict.is_open, **asdict(verdict)}
    figures |= {name: list(figures[name]) for name in ("findings", "notes", "busiest_arc", "bounds")}
    figures["rules"] = figures.pop("counts")
    del figures["nouns"]
    figures |= {} if verdict.bits is None else dict(describe(verdict.bits).pick("bits"))
    return Description(figures, lines, holds=verdict.holds, is_open=verdict.is_open)
