"""XML from strangers: read by expat, without entities, in limits."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from xml.parsers import expat

_DEEPEST, _MOST, _LONGEST = 256, 1 << 20, 1 << 16


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
            ahead += here.below[::-1]

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
    root = Element("", {})
    inside, many = [root], [0]  # the elements that are open, and how many were kept before each
    kept = 0
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal kept
        line = parser.CurrentLineNumber
        if len(inside) > _DEEPEST or kept >= _MOST:
            raise ValueError(f"line {line}: it is more than {_DEEPEST} deep, or has {_MOST:,} elements")
        for name, value in attributes.items():
            if len(value) > _LONGEST:
                raise ValueError(f"line {line}: {name[:40]} is longer than {_LONGEST:,} characters")
        here = Element(tag.rpartition(" ")[2], attributes, line)
        inside[-1].below.append(here)
        inside.append(here)
        many.append(kept)
        kept += 1

    def text(some: str) -> None:
        if len(inside[-1].text) + len(some) <= 64 * _LONGEST:
            inside[-1].text += some

    def document_type(name: str, system: str | None, public: str | None, internal: int) -> None:
        if kind == "XML" and (internal or public or not (system or "").startswith("hwloc")):
            raise ValueError(f"it declares the document type {name[:40]!r}: delete that line")

    def end(_: str) -> None:
        nonlocal kept
        here, before = inside.pop(), many.pop()
        if here.tag in taken:
            taken[here.tag](here, inside[-1])
            inside[-1].below.pop()
            kept = before

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.EntityDeclHandler, parser.StartDoctypeDeclHandler = _refuse_entities, document_type
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(f"it is no {kind}: {expat.ErrorString(error.code)} in line {error.lineno}") from None
    except LookupError as error:  # its encoding
        raise ValueError(f"it is no {kind}: {error}") from None
    return root.below[0]
