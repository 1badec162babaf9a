"""XML from strangers: read by expat, without entities, in limits."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

_DEEPEST, _MOST, _LONGEST = 256, 1 << 20, 1 << 16


@dataclass(eq=False, slots=True)
class Element:
    """An element: its name without its name space, its attributes, what is in it, and the line where it begins."""

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


def refuse_entities(*_: Any) -> None:
    """Refuse a file that declares an entity."""
    raise ValueError("it declares entities, which it has no need of: they can make a small file huge")


def tree_of(data: bytes) -> Element:
    """Return the first element of a file.

    Raises
    ------
    ValueError
        When it is no XML, declares entities or a document type other than hwloc's, or is beyond a limit: 256 elements deep, 2^20
        in all, 64 KiB of a value.
    """
    root, inside, many = Element("", {}), list[Element](), 0
    inside.append(root)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal many
        many += 1
        if len(inside) > _DEEPEST or many > _MOST:
            raise ValueError(
                f"line {parser.CurrentLineNumber}: it is more than {_DEEPEST} deep, or has {_MOST:,} elements"
            )
        for name, value in attributes.items():
            if len(value) > _LONGEST:
                raise ValueError(f"line {parser.CurrentLineNumber}: {name[:40]} is longer than {_LONGEST:,} characters")
        here = Element(tag.rpartition(" ")[2], attributes, parser.CurrentLineNumber)
        inside[-1].below.append(here)
        inside.append(here)

    def text(some: str) -> None:
        if len(inside[-1].text) + len(some) <= 64 * _LONGEST:
            inside[-1].text += some

    def document_type(name: str, system: str | None, public: str | None, internal: int) -> None:
        if internal or public or not (system or "").startswith("hwloc"):
            raise ValueError(f"it declares the document type {name[:40]!r}: delete that line")

    def end(_: str) -> None:
        inside.pop()

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.EntityDeclHandler, parser.StartDoctypeDeclHandler = refuse_entities, document_type
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(f"it is no XML: {expat.ErrorString(error.code)} in line {error.lineno}") from None
    except LookupError as error:
        raise ValueError(f"it is no XML: {error}") from None
    return root.below[0]
