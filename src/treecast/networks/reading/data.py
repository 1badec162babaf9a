"""JSON and YAML from strangers, in limits: no name twice and no NaN; no anchors, aliases or tags, and every value a text."""

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn, cast

import yaml

_DEEPEST_JSON = 64
_DEEPEST, _MOST = 32, 1 << 20
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def json_of(data: bytes) -> Any:
    """Return the contents of a JSON file. Raises ValueError when it is none, is too deep, or names something twice."""
    said = data.decode("utf-8-sig", "replace")
    deep = most = 0
    for sign in re.sub(r'"(?:[^"\\]|\\.)*"', "", said):
        deep += (sign in "[{") - (sign in "]}")
        most = max(most, deep)
    if most > _DEEPEST_JSON:
        raise ValueError(f"it is more than {_DEEPEST_JSON} levels deep")
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


def yaml_of(data: bytes) -> Any:
    """Return the contents of a YAML file: dicts, lists and texts.

    Raises ValueError when it is no YAML, or has an anchor, an alias, a tag, or more than 32 levels or 2^20 values.
    """
    deep = many = 0
    try:
        for event in cast(Any, yaml).parse(data, Loader=_LOADER):
            many += 1
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
                raise ValueError(_at(event, "has an anchor or alias: write the value out"))
            if getattr(event, "tag", None) is not None:
                raise ValueError(_at(event, f"has the tag {event.tag[:40]!r}: leave it out"))
            deep += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if deep > _DEEPEST or many > _MOST:
                raise ValueError(_at(event, f"is more than {_DEEPEST} levels deep, or the file has {_MOST:,} values"))
        return cast(Any, yaml).load(data, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ValueError(f"it is no YAML: {error.problem}" + (f" in line {mark.line + 1}" if mark else "")) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise ValueError(f"it is no YAML: {' '.join(str(error).split())[:100]}") from None


def _at(event: Any, name: str) -> str:
    return f"line {event.start_mark.line + 1} {name}"


def table(value: Any, name: str) -> dict[str, Any]:
    """Return a value that is to be a table of names and values; no value is an empty one. Raises ValueError for another."""
    if value in (None, ""):
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{name} is to be a table of names and values")
    return {str(key): each for key, each in cast("dict[Any, Any]", value).items()}


def row(value: Any, name: str) -> list[Any]:
    """Return a value that is to be a list; no value is an empty one. Raises ValueError for another."""
    if value in (None, ""):
        return []
    if not isinstance(value, list):
        raise ValueError(f"{name} is to be a list")
    return cast("list[Any]", value)


def tables(value: Any, name: str) -> list[dict[str, Any]]:
    """Return a value that is to be a list of tables of names and values. Raises ValueError for another."""
    return [table(each, f"each of {name}") for each in row(value, name)]


def text(value: Any, name: str) -> str:
    """Return a value that is to be a text or number. Raises ValueError for another."""
    if isinstance(value, dict | list) or value is None:
        raise ValueError(f"{name} is to be a text")
    return str(value)
