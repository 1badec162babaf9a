"""The verdict on a file of sends and receives: which rules it breaks, where, and its figures beside the lower bound."""

from dataclasses import asdict, dataclass

from treecast.description import Description, count_of, describe
from treecast.formats.verdict import FileVerdict, describe_verdict
from treecast.lower_bounds import spell_bounds

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
class Verdict(FileVerdict):
    """The verdict on a file of sends and receives. It is true when no rule is broken.

    Parameters
    ----------
    format : str
        What was judged; ``collective`` is empty where nobody says it.
    ranks, operations, messages : int
        The sizes of the file.
    findings : tuple of Finding
        The first few of each rule.
    steps : int or None
        The steps if each message takes one: the most messages that must go one after another, or as the file says. None where
        that is not known. ``busiest`` counts messages.
    """

    format: str
    ranks: int
    operations: int
    messages: int
    findings: tuple[Finding, ...]
    steps: int | None = None

    def __repr__(self) -> str:
        return f"<Verdict on {count_of(self.messages, 'message')} of {self.format}: {self.said}>"


@describe.register
def _(verdict: Verdict) -> Description:
    lines: dict[str, object] = {
        "file": f"{verdict.format}: {count_of(verdict.ranks, 'rank')}, {count_of(verdict.operations, 'operation')}, "
        f"{count_of(verdict.messages, 'message')}",
        "collective": verdict.collective or "not said",
        "network": verdict.network,
    }
    if verdict.steps is not None:
        lines["steps"] = [f"{verdict.steps:,}", *spell_bounds(verdict.bounds, "steps")]
    figures = {
        "format": verdict.format,
        "collective": verdict.collective,
        "network": verdict.network,
        "ranks": verdict.ranks,
        "operations": verdict.operations,
        "messages": verdict.messages,
        "rules": dict(verdict.counts),
        "findings": [asdict(finding) for finding in verdict.findings],
        "steps": verdict.steps,
    }
    return describe_verdict(verdict, verdict.findings, lines, figures, "message")
