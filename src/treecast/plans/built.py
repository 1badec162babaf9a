"""What a builder returns."""

from typing import NamedTuple

from treecast.collectives import Collective
from treecast.schedule import Claims, Rows


class Built(NamedTuple):
    """The rows of a schedule, and what its builder says of them, counted or computed by other means than from the rows."""

    rows: Rows
    claims: Claims
    collective: Collective | None = None
    """With the chunks numbered as the rows have it, where the builder chooses that."""
