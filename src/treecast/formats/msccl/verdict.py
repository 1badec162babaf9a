"""The verdict on an MSCCL file: which rules it breaks, where, and its figures beside the lower bound."""

from dataclasses import asdict, dataclass

from treecast.description import Described, Description, count_of, describe
from treecast.lower_bounds import Bound, spell_bounds

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
class Verdict(Described):
    """The verdict on an MSCCL file. It is true when no rule is broken.

    Parameters
    ----------
    name, collective, network : str
        What was judged, and where.
    gpus, blocks, steps : int
        The sizes of the file.
    counts : dict from str to int
        The breaches of each rule that was judged; rules that make no sense where another is broken are left out.
    breaches : tuple of Breach
        The first few of each rule.
    notes : tuple of str
        What people should know besides.
    messages, chain, busiest : int or None
        The messages; the most chunks that must travel one after another; the chunks of the arc that carries most. None where
        that is not known.
    busiest_arc : tuple of int
        That arc.
    bounds : tuple of Bound
        The lower bounds of the collective on the network.
    seconds : float
        The time that it took.
    """

    name: str
    collective: str
    network: str
    gpus: int
    blocks: int
    steps: int
    counts: dict[str, int]
    breaches: tuple[Breach, ...]
    notes: tuple[str, ...] = ()
    messages: int | None = None
    chain: int | None = None
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
        return f"<Verdict on {self.name!r}: {said}, {count_of(self.steps, 'step')}>"


@describe.register
def _(verdict: Verdict) -> Description:
    judged = ", ".join(verdict.counts)
    said: object = f"holds ({judged})"
    if not verdict.holds:
        broken = ", ".join(f"{rule} ({count:,})" for rule, count in verdict.counts.items() if count)
        said = [f"BROKEN: {broken}", *map(str, verdict.breaches)]
    lines: dict[str, object] = {
        "judged": said,
        "file": f"{verdict.name}: {verdict.collective} over {count_of(verdict.gpus, 'gpu')}, "
        f"{count_of(verdict.blocks, 'threadblock')}, {count_of(verdict.steps, 'step')}",
        "network": verdict.network,
    }
    if verdict.chain is not None:
        lines["messages"] = f"{verdict.messages:,}"
        lines["longest chain"] = [count_of(verdict.chain, "chunk"), *spell_bounds(verdict.bounds, "steps")]
    if verdict.busiest is not None and verdict.busiest_arc[0] >= 0:
        src, dst = verdict.busiest_arc
        lines["busiest arc"] = f"{src} > {dst}: {count_of(verdict.busiest, 'chunk')}"
    if verdict.notes:
        lines["notes"] = list(verdict.notes)
    figures = {
        "holds": verdict.holds,
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
        "busiest": verdict.busiest,
        "busiest_arc": list(verdict.busiest_arc),
        "bounds": [asdict(bound) for bound in verdict.bounds],
        "notes": list(verdict.notes),
        "seconds": verdict.seconds,
    }
    return Description(figures, lines | {"seconds": verdict.seconds}, holds=verdict.holds)
