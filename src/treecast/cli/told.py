"""The facts that a file of another tool leaves open, as options."""

from typing import TYPE_CHECKING, Any

from treecast.cli.options import options_under, with_options
from treecast.units import parse_bytes

if TYPE_CHECKING:
    from treecast.formats import Told

_UNDER = options_under("Files of other tools", 2)
_FACTS = (
    (
        "network",
        "network",
        "Of a file of MSCCL, MSCCL++, GOAL or SimGrid: where its ranks are; by default every two are joined.",
        str,
    ),
    ("collective", "collective", "Of a file of GOAL or SimGrid: its collective, unless its comments say it.", str),
    ("root", "root", "With --collective: the node that all data comes from, or goes to.", str),
    ("messages", "messages", "With --collective: how many messages the data consists of.", int),
    ("allow", "allow", "Of a file of another tool: rules that it may break, as in --allow relaxed.", tuple),
)
_BYTES = "With --collective, or of a plan of MSCCL++: how many bytes the data of all blocks has, as in 16MiB."


class _Facts:
    def read(self) -> "Told":
        """Return these facts. Raises FormatError for a text that is no number of bytes."""
        from treecast.formats import Told

        given: dict[str, Any] = {"size": None} | vars(self)
        if given["size"] is not None:
            given["size"] = parse_bytes(given["size"])
        return Told(**given)


@with_options(_UNDER, _FACTS)
class PlaceOptions(_Facts):
    """The facts that a file of another tool leaves open, but for its bytes."""


@with_options(_UNDER, [*_FACTS, ("size", "bytes", _BYTES, str)])
class ToldOptions(_Facts):
    """The facts that a file of another tool leaves open, its bytes as well."""
