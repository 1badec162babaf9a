"""Collectives that no name says, as the command line has them: a demand in words or a file, layouts, tokens, groups."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from treecast.cli.options import options_under
from treecast.errors import PlanError, TreecastError

if TYPE_CHECKING:
    from treecast.collectives import Demand
    from treecast.demands import Tensor


@options_under("A demand", 1)
class DemandOptions:
    """Who has which chunk, and who wants it."""

    classes: Annotated[
        str | None,
        Parameter(help="Of a demand: '12: a b > c d; a + b > c', or a file with a class a line, or JSON."),
    ] = None
    before: Annotated[
        str | None,
        Parameter(name="--from", help="Of distribute: the mesh that tensors lie on, neighbours first: tp4,pp4,dp2."),
    ] = None
    after: Annotated[
        str | None,
        Parameter(
            name="--to", help="Of distribute: the mesh that they go to: tp4,dp8; its ranks come behind the others."
        ),
    ] = None
    tensors: Annotated[
        str | None,
        Parameter(
            help="Of distribute: a CSV file of tensors, 'name,shape,layer,tp,ep', as in 'up,5120x8192,0,1,': tp and ep name the "
            "dimension that they cut, if any; by default a matrix a layer that all cut evenly."
        ),
    ] = None
    same_ranks: Annotated[
        bool, Parameter(show_default=False, help="Of distribute: both meshes have the same ranks.")
    ] = False
    routing: Annotated[
        str | None,
        Parameter(
            help="Of dispatch and combine: the experts of each token, as .npy (tokens x experts of each) or CSV."
        ),
    ] = None
    experts_per_rank: Annotated[int, Parameter(help="Of dispatch and combine: how many experts each rank has.")] = 1
    twice: Annotated[
        bool, Parameter(show_default=False, help="Of dispatch: a token goes to a rank once for each expert there.")
    ] = False
    mesh: Annotated[
        str | None,
        Parameter(help="Of 'allreduce tp + alltoall dp' and other groups at once: the mesh of all ranks, tp4,dp8."),
    ] = None

    def read(self, kind: str, network: str) -> "str | Demand":
        """Return the demand that is asked for, or the name of a collective as it is."""
        makers: dict[str, tuple[tuple[str, ...], Callable[[], Any]]] = {
            "demand": (("classes",), self._classes),
            "distribute": (("before", "after"), self._distribute),
            "dispatch": (("routing",), lambda: self._routed(kind, network)),
            "combine": (("routing",), lambda: self._routed(kind, network)),
            "groups": (("mesh",), lambda: _groups(kind, self.mesh or "")),
        }
        name = "groups" if " " in kind.strip() else kind
        needs, make = makers.get(name, ((), lambda: kind))
        spelled = {"before": "--from", "after": "--to"}
        for field in ("classes", "before", "after", "tensors", "same_ranks", "routing", "twice", "mesh"):
            option = spelled.get(field, f"--{field.replace('_', '-')}")
            given = getattr(self, field)
            if field in needs and not given:
                raise TreecastError(f"{kind} needs {option}: 'treecast plan --help' says how it is written")
            if given and field not in needs and not (name in _MORE and field in _MORE[name]):
                raise TreecastError(f"{option} is no option of {kind}: it is one of {_taker(field)}")
        return make()

    def _classes(self) -> "Demand":
        import json

        from treecast.collectives import Demand

        text = self.classes or ""
        if os.path.exists(text):
            text = _text(text)
        if not text.lstrip().startswith("{"):
            return Demand.of(text)
        try:
            return Demand.of(json.loads(text))
        except ValueError as error:
            raise PlanError(f"this is no JSON: {error}") from None

    def _distribute(self) -> "Demand":
        from treecast.demands import distribute

        tensors = [] if self.tensors is None else _tensors(self.tensors)
        return distribute(self.before or "", self.after or "", tensors, same_ranks=self.same_ranks)

    def _routed(self, kind: str, network: str) -> "Demand":
        from treecast import demands
        from treecast.cli.lengths import read_matrix
        from treecast.networks import network as find

        table, ranks = read_matrix(self.routing or ""), find(network).rank_count
        if kind == "combine":
            return demands.combine(table, ranks, self.experts_per_rank)
        return demands.dispatch(table, ranks, self.experts_per_rank, twice=self.twice)


_MORE = {"distribute": ("tensors", "same_ranks"), "dispatch": ("twice",)}


def _taker(field: str) -> str:
    for names, fields in (
        ("demand", ("classes",)),
        ("groups, as 'allreduce tp'", ("mesh",)),
        ("dispatch", ("twice", "routing")),
    ):
        if field in fields:
            return names
    return "distribute"


def _groups(kind: str, mesh: str) -> "Demand":
    from treecast.demands import groups

    return groups(kind, mesh)


def _text(name: str) -> str:
    from treecast.files import read_whole, spell_path

    try:
        return read_whole(name).decode()
    except UnicodeDecodeError:
        raise PlanError(f"{spell_path(name)} is no text: it is not UTF-8") from None


def _tensors(name: str) -> "list[Tensor]":
    """Return the tensors of a CSV file."""
    import csv

    from treecast.demands import Tensor

    found = list["Tensor"]()
    for number, row in enumerate(csv.DictReader(_text(name).splitlines()), 2):
        try:
            shape = tuple(int(part) for part in row["shape"].lower().split("x"))
            tp, ep = (int(row[word]) if row.get(word) else None for word in ("tp", "ep"))
            found.append(Tensor(row["name"], shape, int(row.get("layer") or 0), tp, ep))
        except (KeyError, ValueError, AttributeError):
            raise PlanError(f"{name}, line {number}: write name,shape,layer,tp,ep, as in 'up,5120x8192,0,1,'") from None
    if not found:
        raise PlanError(f"{name} has no tensors: write a line name,shape,layer,tp,ep, and one for each")
    return found
