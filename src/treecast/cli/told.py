"""The facts that a file of another tool leaves open, as options."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from treecast.cli.arguments import Several
from treecast.cli.options import options_under
from treecast.units import parse_bytes

if TYPE_CHECKING:
    from treecast.formats import Told


_HEAD = "Files of other tools"


@options_under(_HEAD, 2)
@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """The facts that a file of another tool leaves open, but for its bytes."""

    network: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="Of a file of MSCCL, MSCCL++, GOAL or SimGrid: where its ranks are; by default every two are joined.",
        ),
    ] = None
    collective: Annotated[
        str | None,
        Parameter(show_default=False, help="Of a file of GOAL or SimGrid: its collective, unless its comments say it."),
    ] = None
    root: Annotated[
        str | None,
        Parameter(show_default=False, help="With --collective: the node that all data comes from, or goes to."),
    ] = None
    messages: Annotated[
        int | None, Parameter(show_default=False, help="With --collective: how many messages the data consists of.")
    ] = None
    allow: Annotated[
        tuple[str, ...],
        Several,
        Parameter(help="Of a file of another tool: rules that it may break, as in --allow relaxed."),
    ] = ()

    def read(self) -> "Told":
        """Return these facts."""
        from treecast.formats import Told

        return Told(
            network=self.network, collective=self.collective, root=self.root, messages=self.messages, allow=self.allow
        )


@options_under(_HEAD, 2)
@dataclass(frozen=True, kw_only=True)
class ToldOptions(PlaceOptions):
    """The facts that a file of another tool leaves open, its bytes as well."""

    size: Annotated[
        str | None,
        Parameter(
            name="--bytes",
            show_default=False,
            help="With --collective, or of a plan of MSCCL++: how many bytes the data of all blocks has, as in 16MiB.",
        ),
    ] = None

    def read(self) -> "Told":
        """Return these facts. Raises FormatError for a text that is no number of bytes."""
        size = None if self.size is None else parse_bytes(self.size)
        return replace(super().read(), size=size)
