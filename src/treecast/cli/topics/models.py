"""The models: the powers of a node and a link in one step."""

from treecast.description import Description, Table
from treecast.discovery import import_extensions
from treecast.models import MODELS


def topic() -> Description:
    """Return the presets of the machine, as --model takes them."""
    import_extensions()
    rows = [(name, preset.summary) for name, preset in MODELS.items()]
    notes = (
        "',half' behind a name (one-port,half): a link transmits in one direction in a step, not in both.",
        "',combining' (one-port,combining): a message holds any number of chunks.",
        "',partner' (one-port,partner): a node sends to one neighbour in a step, and receives from the same.",
        "',ports=K' (one-port,ports=2): a node sends over K links in a step, and receives over K.",
        "',latency=L' (one-port,latency=3): a chunk that is sent in a step can be sent on L steps later.",
    )
    figures = [{"model": name, "summary": summary} for name, summary in rows]
    return Description(figures, tables=(Table(columns=("model", "in a step"), rows=rows, of="models"),), notes=notes)
