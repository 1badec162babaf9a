"""XML, JSON and YAML from strangers, in limits.

XML has no entities, JSON no name twice and no NaN, YAML no anchors, aliases or tags, and its values are texts.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn, cast
from xml.parsers import expat

_DEEPEST_XML, _LONGEST = 256, 1 << 16  # levels of elements; characters of an attribute
_DEEPEST_JSON = 64  # levels of brackets
_DEEPEST, _MOST = 32, 1 << 20  # levels of YAML; its values, and the elements of XML that are kept


def json_of(data: bytes) -> Any:
    """Return the contents of a JSON file. Raises ValueError when it is none, is too deep, or names something twice."""
    said = data.decode("utf-8-sig", "replace")  # a byte order mark is no part of it
    deep = most = 0
    # json recurses at each level, so levels are counted before; brackets in texts are none
    for sign in re.sub(r'(?s)"(?:[^"\\]|\\.)*+"?', "", said):
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
    import yaml  # which most networks do without

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # values stay texts; the one in C is not in every build
    deep = many = 0
    try:
        # events alone first: an alias could make a small file huge when it is built
        for event in cast(Any, yaml).parse(data, Loader=loader):
            many += 1
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
                raise ValueError(_at(event, "has an anchor or alias: write the value out"))
            if getattr(event, "tag", None) is not None:
                raise ValueError(_at(event, f"has the tag {event.tag[:40]!r}: leave it out"))
            deep += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if deep > _DEEPEST or many > _MOST:
                raise ValueError(_at(event, f"is more than {_DEEPEST} levels deep, or the file has {_MOST:,} values"))
        return cast(Any, yaml).load(data, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ValueError(f"it is no YAML: {error.problem}" + (f" in line {mark.line + 1}" if mark else "")) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise ValueError(f"it is no YAML: {' '.join(str(error).split())[:100]}") from None


def _at(event: Any, name: str) -> str:
    return f"line {event.start_mark.line + 1} {name}"


def table(value: Any, name: str) -> dict[str, Any]:
    """Return a value that is to be a table of names and values; no value is an empty one. Raises ValueError for another."""
    if value in (None, ""):  # YAML says nothing as an empty text
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


@dataclass(eq=False, slots=True)
class Element:
    """An element: its name without its name space, its attributes, its contents, and the line where it begins."""

    tag: str
    of: dict[str, str]
    line: int = 0
    below: list["Element"] = field(default_factory=list["Element"])
    text: str = ""

    def every(self, tag: str) -> Iterator["Element"]:
        """Yield the elements of this name in it, at any depth, in order."""
        ahead: list[Element] = [self]
        while ahead:
            here = ahead.pop()
            if here.tag == tag and here is not self:
                yield here
            ahead += here.below[::-1]  # a stack: the first comes out first

    def first(self, tag: str) -> "Element | None":
        """Return the first element of this name right below it."""
        return next((each for each in self.below if each.tag == tag), None)


def _refuse_entities(*_: Any) -> None:
    raise ValueError("it declares entities, which it has no need of: they can make a small file huge")


def tree_of(
    data: bytes, kind: str = "XML", taken: Mapping[str, Callable[[Element, Element], None]] = MappingProxyType({})
) -> Element:
    """Return the first element of a file.

    ``kind`` is the sort of file that it is to be, if it may have any document type; hwloc's is the only one of other files.
    ``taken``: the function called with each element of a name when it ends, and with its parent; then it is forgotten. Raises
    ValueError when it is no XML, declares entities or a document type, or is beyond a limit: 256 elements deep, 2^20 that are
    kept, 64 KiB of an attribute.
    """
    # 1. The elements that are open, and a parser.
    root = Element("", {})
    inside, many = [root], [0]  # the elements that are open, and how many were kept before each
    kept = 0
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    # 2. What happens at each sign, within the limits.
    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal kept
        line = parser.CurrentLineNumber
        if len(inside) > _DEEPEST_XML or kept >= _MOST:
            raise ValueError(f"line {line}: it is more than {_DEEPEST_XML} deep, or has {_MOST:,} elements")
        for name, value in attributes.items():
            if len(value) > _LONGEST:
                raise ValueError(f"line {line}: {name[:40]} is longer than {_LONGEST:,} characters")
        here = Element(tag.rpartition(" ")[2], attributes, line)
        inside[-1].below.append(here)
        inside.append(here)
        many.append(kept)
        kept += 1

    def text(some: str) -> None:
        if len(inside[-1].text) + len(some) <= 64 * _LONGEST:  # a text keeps 4 Mi characters
            inside[-1].text += some

    def document_type(name: str, system: str | None, public: str | None, internal: int) -> None:
        if kind == "XML" and (internal or public or not (system or "").startswith("hwloc")):
            raise ValueError(f"it declares the document type {name[:40]!r}: delete that line")

    def end(_: str) -> None:
        nonlocal kept
        here, before = inside.pop(), many.pop()
        if here.tag in taken:
            taken[here.tag](here, inside[-1])
            inside[-1].below.pop()  # itself: start put it there last
            kept = before  # what was in it counts no more, either

    # 3. Read it all, and say what is wrong in the words of the kind.
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.EntityDeclHandler, parser.StartDoctypeDeclHandler = _refuse_entities, document_type
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(f"it is no {kind}: {expat.ErrorString(error.code)} in line {error.lineno}") from None
    except LookupError as error:  # its encoding
        raise ValueError(f"it is no {kind}: {error}") from None
    return root.below[0]  # XML that parses has one
