"""What the verdicts on files of other tools share: which rules are broken, notes, the busiest arc, and the lower bounds."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from treecast.description import Described, Description, count_of
from treecast.lower_bounds import Bound
from treecast.units import spell_seconds


@dataclass(frozen=True, repr=False, kw_only=True)
class FileVerdict(Described):
    """The verdict on a file by rules of its own. It is true when no rule is broken.

    Parameters
    ----------
    collective, network : str
        What was judged, and where.
    counts : dict from str to int
        The breaches of each rule that was judged; rules that make no sense where another is broken are left out.
    warnings : tuple of str
        The rules that a file may break and hold all the same.
    notes : tuple of str
        What people should know besides.
    busiest : int or None
        What the arc that carries most carries. None where that is not known.
    busiest_arc : tuple of int
        That arc.
    bounds : tuple of Bound
        The lower bounds of the collective on the network.
    seconds : float
        The time that it took.
    """

    collective: str
    network: str
    counts: dict[str, int]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    busiest: int | None = None
    busiest_arc: tuple[int, int] = (-1, -1)
    bounds: tuple[Bound, ...] = ()
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether no rule is broken but such as only warn."""
        return not any(count for rule, count in self.counts.items() if rule not in self.warnings)

    def __bool__(self) -> bool:
        return self.holds

    @property
    def said(self) -> str:
        """Whether it holds, in a word or two."""
        return "holds" if self.holds else f"{sum(self.counts.values()):,} breaches"


def describe_verdict(
    verdict: FileVerdict,
    breaches: Iterable[object],
    lines: Mapping[str, object],
    figures: Mapping[str, object],
    carried: str,
) -> Description:
    """Return how a verdict is described.

    Parameters
    ----------
    verdict
        The verdict.
    breaches
        The breaches to show.
    lines, figures
        What is said between the rules and the busiest arc, and JSON's figures of the file itself.
    carried
        What the busiest arc carries, in the singular.
    """
    said: object = f"holds ({', '.join(verdict.counts)})"
    if verdict.holds and any(verdict.counts.values()):
        said = [said, *map(str, breaches)]
    if not verdict.holds:
        broken = ", ".join(f"{rule} ({count:,})" for rule, count in verdict.counts.items() if count)
        said = [f"BROKEN: {broken}", *map(str, breaches)]
    last: dict[str, object] = {}
    if verdict.busiest is not None and verdict.busiest_arc[0] >= 0:
        src, dst = verdict.busiest_arc
        last["busiest arc"] = f"{src} > {dst}: {count_of(verdict.busiest, carried)}"
    if verdict.notes:
        last["notes"] = list(verdict.notes)
    shared = {
        "busiest": verdict.busiest,
        "busiest_arc": list(verdict.busiest_arc),
        "bounds": [asdict(bound) for bound in verdict.bounds],
        "notes": list(verdict.notes),
        "seconds": verdict.seconds,
    }
    return Description(
        {"holds": verdict.holds, **figures, **shared},
        {"judged": said, **lines, **last, "judged in": spell_seconds(verdict.seconds)},
        holds=verdict.holds,
    )
