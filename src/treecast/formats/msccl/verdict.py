"""The verdict on an MSCCL file, XML or JSON: which rules it breaks, where, and its figures beside the lower bound."""

from dataclasses import asdict, dataclass

from treecast.description import Description, count_of, describe
from treecast.formats.verdict import FileVerdict, describe_verdict
from treecast.lower_bounds import spell_bounds

SHOWN = 3
"""How many breaches of each rule are described; all are counted."""
RULES = ("shape", "pairs", "signalled", "order", "in-flight", "race", "undefined", "delivered", "adjacent", "link-once")
"""The rules, in the order in which they are judged."""


@dataclass(frozen=True)
class Breach:
    """One breach of a rule. ``gpu``, ``tb``, ``step``: where in the file, -1 where it has no one place."""

    rule: str
    text: str
    gpu: int = -1
    tb: int = -1
    step: int = -1

    def __str__(self) -> str:
        named = (("gpu", self.gpu), ("tb", self.tb), ("step", self.step))
        where = " ".join(f"{word} {number}" for word, number in named if number >= 0)
        return f"{self.rule}: {where}: {self.text}" if where else f"{self.rule}: {self.text}"


Broken = tuple[int, list[Breach]]
"""How often a rule is broken, and the first few breaches."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Verdict(FileVerdict):
    """The verdict on an MSCCL file. It is true when no rule is broken.

    Parameters
    ----------
    name : str
        What was judged.
    gpus, blocks, steps : int
        The sizes of the file.
    unit : str
        How the file calls its steps.
    breaches : tuple of Breach
        The first few of each rule.
    messages, chain : int or None
        The messages; the most chunks that must travel one after another. None where that is not known. ``busiest`` counts
        chunks.
    """

    name: str
    gpus: int
    blocks: int
    steps: int
    breaches: tuple[Breach, ...]
    unit: str = "step"
    messages: int | None = None
    chain: int | None = None

    def __repr__(self) -> str:
        return f"<Verdict on {self.name!r}: {self.said}, {count_of(self.steps, self.unit)}>"


@describe.register
def _(verdict: Verdict) -> Description:
    lines: dict[str, object] = {
        "file": f"{verdict.name}: {verdict.collective} over {count_of(verdict.gpus, 'gpu')}, "
        f"{count_of(verdict.blocks, 'threadblock')}, {count_of(verdict.steps, verdict.unit)}",
        "network": verdict.network,
    }
    if verdict.chain is not None:
        lines["messages"] = f"{verdict.messages:,}"
        lines["longest chain"] = [count_of(verdict.chain, "chunk"), *spell_bounds(verdict.bounds, "steps")]
    figures = {
        "name": verdict.name,
        "collective": verdict.collective,
        "network": verdict.network,
        "gpus": verdict.gpus,
        "blocks": verdict.blocks,
        "steps": verdict.steps,
        "rules": dict(verdict.counts),
        "breaches": [asdict(breach) for breach in verdict.breaches],
        "messages": verdict.messages,
        "chain": verdict.chain,
    }
    return describe_verdict(verdict, verdict.breaches, lines, figures, "chunk")
