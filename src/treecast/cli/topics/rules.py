"""What the rules ask that 'verify' names in a report."""

import re
from importlib.util import find_spec
from pathlib import Path

from treecast.description import Description, Table

_RULE = re.compile(r'"""Rule ``([a-z-]+)``(?:, ([^:]*))?: ((?:[^\n]|\n(?!\n|\s*"""))+?\.)(?="""|\n| [A-Z])')
_ABOUT = {
    "links": "links",
    "spreading": "data that spreads",
    "personal": "personal data",
    "sums": "sums",
    "disjoint": "copies",
    "calling": "copies, sparing schedules",
    "wormhole": "wormhole switching",
    "bufferless": "no buffers",
}


def topic() -> Description:
    """Return every rule with its sentence, read from the functions that judge it."""
    spec = find_spec("treecast.verification")
    folder = Path((spec and spec.origin) or "").parent
    files = [*(folder / "rules" / f"{name}.py" for name in _ABOUT), folder / "verifier.py"]
    rows = [
        (name, when or _ABOUT.get(file.stem, "what the builder says"), " ".join(sentence.replace("``", "").split()))
        for file in files
        for name, when, sentence in _RULE.findall(file.read_text("utf-8"))
    ]
    table = Table(columns=("rule", "of", "asks that"), rows=rows, of="rules")
    notes = (
        "A schedule obeys those that its model and its collective call for; 'verify' prints which.",
        "MSCCL files have rules of their own: docs/formats.md.",
    )
    figures = [{"rule": name, "of": of, "asks": asks} for name, of, asks in rows]
    return Description(figures, tables=(table,), notes=notes)
