"""Collectives that no name says, as the command line has them: a demand in words or a file, layouts, tokens, groups."""

import os
from typing import TYPE_CHECKING, NamedTuple

from treecast.cli.options import with_options
from treecast.collectives import COLLECTIVES
from treecast.errors import PlanError, TreecastError

if TYPE_CHECKING:
    from treecast.collectives import Demand
    from treecast.collectives.demands import Tensor
    from treecast.networks import Network


class _DemandOption(NamedTuple):
    """An option: its name without dashes, the kinds of demands that need it, those that may have it, its help, and its type."""

    name: str
    needs: tuple[str, ...]
    may: tuple[str, ...]
    summary: str
    kind: type = str


_GROUPS = "groups, as 'allreduce tp'"
_OPTIONS = {
    "classes": _DemandOption(
        "classes", ("demand",), (), "Of a demand: '12: a b > c d; a + b > c', or a file with a class a line, or JSON."
    ),
    "before": _DemandOption(
        "from", ("distribute",), (), "Of distribute: the mesh that tensors lie on, neighbours first: tp4,pp4,dp2."
    ),
    "after": _DemandOption(
        "to",
        ("distribute",),
        (),
        "Of distribute: the mesh that they go to: tp4,dp8; its ranks come behind the others.",
    ),
    "tensors": _DemandOption(
        "tensors",
        (),
        ("distribute",),
        "Of distribute: a CSV file of tensors, 'name,shape,layer,tp,ep', as in 'up,5120x8192,0,1,': tp and ep name the dimension "
        "that they cut, if any; by default a matrix a layer that all cut evenly.",
    ),
    "same_ranks": _DemandOption(
        "same-ranks", (), ("distribute",), "Of distribute: both meshes have the same ranks.", bool
    ),
    "routing": _DemandOption(
        "routing",
        ("dispatch", "combine"),
        (),
        "Of dispatch and combine: the experts of each token, as .npy (tokens x experts of each) or CSV.",
    ),
    "experts_per_rank": _DemandOption(
        "experts-per-rank",
        (),
        ("dispatch", "combine"),
        "Of dispatch and combine: how many experts each rank has; 1 by default.",
        int,
    ),
    "twice": _DemandOption(
        "twice", (), ("dispatch",), "Of dispatch: a token goes to a rank once for each expert there.", bool
    ),
    "mesh": _DemandOption(
        "mesh",
        (_GROUPS,),
        (),
        "Of 'allreduce tp + alltoall dp' and other groups at once: the mesh of all ranks, tp4,dp8.",
    ),
}


@with_options("A demand", 1, [(field, option.name, option.summary, option.kind) for field, option in _OPTIONS.items()])
class DemandOptions:
    """Who has which chunk, and who wants it."""

    classes: str | None
    before: str | None
    after: str | None
    tensors: str | None
    same_ranks: bool
    routing: str | None
    experts_per_rank: int | None
    twice: bool
    mesh: str | None

    def read(self, kind: str, network: "str | Network") -> "str | Demand":
        """Return the demand that is asked for, or the name of a collective as it is."""
        # several collectives of groups have blanks between their words
        name = _GROUPS if " " in kind.strip() else kind
        # All options are looked at before any file is read.
        for field, option in _OPTIONS.items():
            given, takers = getattr(self, field), (*option.needs, *option.may)
            if name in option.needs and not given:
                raise TreecastError(f"{kind} needs --{option.name}: 'treecast plan --help' says how it is written")
            if given and name not in takers:
                raise TreecastError(f"--{option.name} is no option of {kind}: it is one of {' and '.join(takers)}")
        make = {
            "demand": self._of_classes,
            "distribute": self._distributed,
            "dispatch": self._routed,
            "combine": self._routed,
            _GROUPS: self._of_groups,
        }.get(name)
        return kind if make is None else make(kind, network)

    def _of_classes(self, kind: str, network: "str | Network") -> "Demand":
        """Return the demand in a text, or in the file of that name."""
        import json

        from treecast.collectives import Demand

        text = self.classes or ""
        if os.path.exists(text):
            text = _read(text)
        if not text.lstrip().startswith("{"):
            return Demand.of(text)
        try:
            said = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"this is no JSON: {error}") from None
        return Demand.of(said)

    def _distributed(self, kind: str, network: "str | Network") -> "Demand":
        from treecast.collectives.demands import distribute

        tensors = [] if self.tensors is None else _tensors(self.tensors)
        return distribute(self.before or "", self.after or "", tensors, same_ranks=self.same_ranks)

    def _routed(self, kind: str, network: "str | Network") -> "Demand":
        from treecast.cli.lengths import read_matrix
        from treecast.collectives.demands import combine, dispatch
        from treecast.networks import network as find

        asked = read_matrix(self.routing or ""), find(network).rank_count, self.experts_per_rank or 1
        return combine(*asked) if kind == "combine" else dispatch(*asked, twice=self.twice)

    def _of_groups(self, kind: str, network: "str | Network") -> "Demand":
        from treecast.collectives.demands import groups

        return groups(kind, self.mesh or "")


def kind_of(text: str) -> str:
    """Return a collective by its name here: ``all-reduce`` and ``ALL_TO_ALL`` are read, too."""
    plain = {name.replace("-", ""): name for name in COLLECTIVES}
    return plain.get(text.lower().replace("-", "").replace("_", ""), text)


def network_of(text: str) -> str:
    """Return how a network is spelled. Raises TreecastError for the name of a collective, which stands elsewhere."""
    if kind_of(text) in COLLECTIVES and not os.path.exists(text):
        raise TreecastError(
            f"{text!r} is no network but a collective: a network is spelled like ring:8, and --help shows the order"
        )
    return text


def _read(name: str) -> str:
    from treecast.cli.lengths import text_of
    from treecast.writing import read_whole

    return text_of(read_whole(name), name, "text")


def _tensors(name: str) -> "list[Tensor]":
    """Return the tensors of a CSV file."""
    import csv

    from treecast.collectives.demands import Tensor

    found = list["Tensor"]()
    # the head is line 1
    for number, row in enumerate(csv.DictReader(_read(name).splitlines()), 2):
        try:
            shape = tuple(int(part) for part in row["shape"].lower().split("x"))
            tp, ep = (int(row[word]) if row.get(word) else None for word in ("tp", "ep"))
            found.append(Tensor(row["name"], shape, int(row.get("layer") or 0), tp, ep))
        except (KeyError, ValueError, AttributeError):
            raise PlanError(f"{name}, line {number}: write name,shape,layer,tp,ep, as in 'up,5120x8192,0,1,'") from None
    if not found:
        raise PlanError(f"{name} has no tensors: write a line name,shape,layer,tp,ep, and one for each")
    return found
