"""The rules that 'verify' names in a report."""

import ast
import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from treecast.description import Description, Table
from treecast.programs.rules import RULES

_RULE = re.compile(r"Rule ``([a-z-]+)``(?:, ([^:]*))?: (.+?\.)(?:\s+([A-Z].*))?$", re.DOTALL)
_ABOUT = {
    "links": "links",
    "spreading": "data that spreads",
    "personal": "personal data",
    "sums": "sums",
    "disjoint": "copies",
    "calling": "copies, sparing schedules",
    "wormhole": "wormhole switching",
    "bufferless": "no buffers",
    "verifier": "the builder's claims",
}


class Rule(NamedTuple):
    """A rule: its name, where it applies, its demand in a sentence, more to say of it, and the file that judges it."""

    name: str
    of: str
    asks: str
    more: str
    file: str


def read_rules() -> list[Rule]:
    """Return every rule, read from the docstrings of the functions that judge it."""
    spec = find_spec("treecast.verification")
    folder = Path((spec and spec.origin) or "").parent
    found = list[Rule]()
    for stem, about in _ABOUT.items():
        path = folder / "verifier.py" if stem == "verifier" else folder / "rules" / f"{stem}.py"
        for node in ast.parse(path.read_text("utf-8")).body:
            match = isinstance(node, ast.FunctionDef) and _RULE.match(ast.get_docstring(node) or "")
            if match:
                name, when, asks, more = match.groups()
                plain = " ".join(asks.replace("``", "").split())
                found.append(Rule(name, when or about, plain, more or "", stem))
    return found


def topic() -> Description:
    """Return every rule with its sentence."""
    from treecast.formats.registry import importers

    importers()  # formats say by whose rules they are judged
    rows = [(rule.name, rule.of, rule.asks) for rule in read_rules()]
    table = Table(columns=("rule", "of", "asks that"), rows=rows, of="rules")
    others = [(rule.name, ", ".join(rule.of), f"{rule.asks}{' (a warning)' * rule.warns}") for rule in RULES]
    files = Table(columns=("rule", "of files of", "asks that"), rows=others, of="rules of files of other tools")
    notes = ("A schedule obeys those that its model and its collective call for; 'verify' prints which.",)
    figures = [{"rule": name, "of": of, "asks": asks} for name, of, asks in rows + others]
    return Description(figures, tables=(table, files), notes=notes)
