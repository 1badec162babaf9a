"""Recipes: the inputs of a plan, from which it can be planned again."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treecast.schedule.schedule import Schedule

RENAMED = {
    "answering-four-phases": "four-phases",
    "axis-trees": "disjoint-trees",
    "balanced-trees": "priced-trees",
    "birkhoff": "direct",
    "bruck": "recursive-doubling",
    "circulant-flits": "circulant",
    "disjoint-paths": "priced-paths",
    "disjoint-ways": "priced-paths",
    "even-and-odd": "recursive-doubling",
    "exchange": "recursive-doubling",
    "eyes-best-order": "eyes",
    "halved-circulant": "circulant",
    "halved-dimensions-in-turn": "dimensions-in-turn",
    "halved-one-by-one": "direct",
    "halved-orbits-in-turn": "orbits",
    "halved-shifted-trees": "disjoint-trees",
    "hamiltonian-cycle": "hamiltonian",
    "hamiltonian-path": "hamiltonian",
    "hypercube-within": "serving",
    "in-pairs": "direct",
    "independent-trees": "packed-trees",
    "last-straight": "disjoint-trees",
    "node-matching": "spread",
    "one-by-one": "direct",
    "one-row": "priced-paths",
    "orbit-paths": "orbits",
    "orbit-trees": "orbits",
    "orbits-in-turn": "orbits",
    "overlapping-list": "list-schedule",
    "overlapping-periods": "periods",
    "overlapping-sums": "priced-trees",
    "owned-sums": "meeting-halves",
    "port-matching": "orbits",
    "priced-disjoint-paths": "priced-paths",
    "priced-ways": "priced-paths",
    "pruned-broadcast": "list-schedule",
    "rarest-first": "spread",
    "rotated-trees": "disjoint-trees",
    "shifted-trees": "disjoint-trees",
    "shortest-disjoint-paths": "priced-paths",
    "shortest-path-tree": "breadth-first-tree",
    "shortest-paths": "orbits",
    "split-off-trees": "packed-trees",
    "there-and-back": "recursive-doubling",
}
"""Builders by their old names, which files and people may still say."""


@dataclass(frozen=True)
class Recipe:
    """The inputs of a plan beside its network, collective and model. It stands in the schedule's file.

    Parameters
    ----------
    builder : str
        The name of the builder; empty for a schedule that no builder made.
    options : mapping from str to str
        The builder's options, by name, as text: ``{"tree": "balanced"}``.
    copies : int
        The copies that were asked for, where the schedule has fewer; else 0.
    whole : bool
        Whether this is all that was asked for: files of version 1 do not say the options.

    Examples
    --------
    >>> import treecast
    >>> print(treecast.plan("gatherv", "tree:2,2", lengths=3, tree="balanced").recipe)
    transmission-certificate --tree balanced
    """

    builder: str = ""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    copies: int = 0
    whole: bool = True

    def __repr__(self) -> str:
        text = f"builder={self.builder!r}, options={dict(self.options)!r}, copies={self.copies}, whole={self.whole}"
        return f"Recipe({text if len(text) < 200 else text[:199] + '…'})"

    def __str__(self) -> str:
        options = "".join(f" --{name} {value[:60]}" for name, value in self.options.items())
        return (self.builder or "made by no builder") + options


NO_RECIPE = Recipe()
"""Of a schedule that no builder made."""


def command_of(schedule: "Schedule") -> str:
    """Return the command that plans a schedule again; empty where no builder made it, or its network lives in memory alone.

    >>> import treecast
    >>> treecast.plan("gatherv", "tree:2,2", lengths=3, tree="balanced").command
    'treecast plan gatherv tree:2,2 --lengths 0,3,3,3,3,3,3 --model bufferless --builder transmission-certificate --tree balanced'
    """
    recipe, collective, network = schedule.recipe, schedule.collective, schedule.network
    if not recipe.builder or not recipe.whole or not network.spelled:
        return ""
    words = ["treecast", "plan", collective.kind, network.spec]
    if collective.root:
        words += ["--root", network.label(collective.root)]
    if collective.demand is not None:
        words += ["--classes", collective.demand.spell(network)]
        words += [] if schedule.sizes is None else ["--chunk", str(schedule.sizes.chunk)]
    elif collective.lengths is not None:
        words += ["--lengths", ",".join(map(str, collective.lengths.flits.tolist()))]
        words += [] if schedule.sizes is None else ["--chunk", str(schedule.sizes.chunk)]
    elif schedule.sizes is not None:
        words += ["--bytes", str(schedule.sizes.total(collective)), "--chunk", str(schedule.sizes.chunk)]
        words += ["--item", str(schedule.sizes.item)] if schedule.sizes.item > 1 else []
    elif collective.messages > 1:
        words += ["--messages", str(collective.messages)]
    if collective.targets:
        words += ["--targets", *network.labels(collective.targets)]
    copies = recipe.copies or schedule.copies
    if copies > 1:
        words += ["--copies", str(copies)]
    if copies > 1 and schedule.against != "nodes":
        words += ["--against", schedule.against]
    words += ["--model", schedule.model.spelling, "--builder", recipe.builder]
    for name, value in recipe.options.items():
        # a flag has no value
        words += [f"--{name}"] if value == "yes" else [f"--{name}", value]
    return shlex.join(words)
