"""JSON from strangers: no name twice, no NaN, in limits."""

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn

_DEEPEST = 64


def json_of(data: bytes) -> Any:
    """Return the contents of a JSON file. Raises ValueError when it is none, is too deep, or names something twice."""
    said = data.decode("utf-8-sig", "replace")
    deep = most = 0
    for sign in re.sub(r'"(?:[^"\\]|\\.)*"', "", said):
        deep += (sign in "[{") - (sign in "]}")
        most = max(most, deep)
    if most > _DEEPEST:
        raise ValueError(f"it is more than {_DEEPEST} levels deep")
    try:
        return json.loads(said, object_pairs_hook=_once, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error.msg} in line {error.lineno}") from None


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found = dict[str, Any]()
    for name, value in pairs:
        if name in found:
            raise ValueError(f"it says {name[:40]!r} twice")
        found[name] = value
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"it has {word}, which is no number")
