"""The verdict on a file of sends and receives: which rules it breaks, where, and its figures beside the lower bound."""

from dataclasses import asdict, dataclass

from treecast.description import Described, Description, count_of, describe
from treecast.lower_bounds import Bound, spell_bounds

SHOWN = 3
"""How many breaches of each rule are described; all are counted."""


@dataclass(frozen=True)
class Finding:
    """One breach of a rule: where in the file, and in a sentence what and why."""

    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


@dataclass(frozen=True, repr=False, kw_only=True)
class Verdict(Described):
    """The verdict on a file of sends and receives. It is true when no rule is broken.

    Parameters
    ----------
    format, collective, network : str
        What was judged, and where; the collective is empty where nobody says it.
    ranks, operations, messages : int
        The sizes of the file.
    counts : dict from str to int
        The breaches of each rule that was judged; rules that make no sense where another is broken are left out.
    findings : tuple of Finding
        The first few of each rule.
    notes : tuple of str
        What people should know besides.
    steps, busiest : int or None
        The steps if each message takes one: the most messages that must go one after another, or as the file says. The
        messages of the arc that carries most. None where that is not known.
    busiest_arc : tuple of int
        That arc.
    bounds : tuple of Bound
        The lower bounds of the collective on the network.
    seconds : float
        The time that it took.
    """

    format: str
    collective: str
    network: str
    ranks: int
    operations: int
    messages: int
    counts: dict[str, int]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    steps: int | None = None
    busiest: int | None = None
    busiest_arc: tuple[int, int] = (-1, -1)
    bounds: tuple[Bound, ...] = ()
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether no rule is broken."""
        return not any(self.counts.values())

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        said = "holds" if self.holds else f"{sum(self.counts.values()):,} breaches"
        return f"<Verdict on {count_of(self.messages, 'message')} of {self.format}: {said}>"


@describe.register
def _(verdict: Verdict) -> Description:
    said: object = f"holds ({', '.join(verdict.counts)})"
    if not verdict.holds:
        broken = ", ".join(f"{rule} ({count:,})" for rule, count in verdict.counts.items() if count)
        said = [f"BROKEN: {broken}", *map(str, verdict.findings)]
    lines: dict[str, object] = {
        "judged": said,
        "file": f"{verdict.format}: {count_of(verdict.ranks, 'rank')}, {count_of(verdict.operations, 'operation')}, "
        f"{count_of(verdict.messages, 'message')}",
        "collective": verdict.collective or "not said",
        "network": verdict.network,
    }
    if verdict.steps is not None:
        lines["steps"] = [f"{verdict.steps:,}", *spell_bounds(verdict.bounds, "steps")]
    if verdict.busiest is not None and verdict.busiest_arc[0] >= 0:
        src, dst = verdict.busiest_arc
        lines["busiest arc"] = f"{src} > {dst}: {count_of(verdict.busiest, 'message')}"
    if verdict.notes:
        lines["notes"] = list(verdict.notes)
    figures = {
        "holds": verdict.holds,
        "format": verdict.format,
        "collective": verdict.collective,
        "network": verdict.network,
        "ranks": verdict.ranks,
        "operations": verdict.operations,
        "messages": verdict.messages,
        "rules": dict(verdict.counts),
        "findings": [asdict(finding) for finding in verdict.findings],
        "steps": verdict.steps,
        "busiest": verdict.busiest,
        "busiest_arc": list(verdict.busiest_arc),
        "bounds": [asdict(bound) for bound in verdict.bounds],
        "notes": list(verdict.notes),
        "seconds": verdict.seconds,
    }
    return Description(figures, lines | {"seconds": verdict.seconds}, holds=verdict.holds)
