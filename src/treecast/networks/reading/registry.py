"""The registry of readers of networks' files: each entry stands beside the function that reads one kind of file.

A new kind of file is a new file in this folder: a function from bytes to a Machine (or to the Parts of a graph), and above it
``@reader``. The first bytes of a file tell its kind; its name only where they do not.
"""

import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TypeVar
from xml.parsers import expat

from treecast.description import list_few
from treecast.discovery import import_all, lacking
from treecast.errors import did_you_mean
from treecast.networks.reading.frames import hosts_in, looks_like, unframed
from treecast.networks.reading.links import Parts
from treecast.networks.reading.machine import Complaint, Machine, spell_nodes

HEAD = 1 << 16
"""How many of the first bytes of a file tell its kind."""
_OF_MACHINES = (".xml", ".ibnetdiscover", ".conf", ".yaml", ".yml", ".json", ".textproto", ".topo", ".txt")
SUFFIXES = frozenset([".graphml", ".gml", ".edges", ".edgelist", ".csv", ".mtx", ".npy", ".dot", ".gv"]).union(
    _OF_MACHINES
)
"""A name that ends so is that of a file, also where nobody writes ``file:`` before it."""
_MOST, _MOST_OF_GRAPHS = 1 << 26, 1 << 28


@dataclass(frozen=True)
class Files:
    """The files that a file names, which are read together."""

    names: tuple[str, ...]

    def beside(self, path: str) -> list[str]:
        """Return where they lie: in the folder of that file, or below; folders in front of names may be others.

        Raises ValueError when one does not lie there.
        """
        folder, found = Path(path).resolve().parent, list[str]()
        for name in self.names:
            parts = PurePosixPath(name).parts
            # the whole name first, then without the folders in front, one by one
            tails = [folder.joinpath(*parts[start:]).resolve() for start in range(len(parts))]
            # a stranger's file may name any
            there = [tail for tail in tails if tail.is_relative_to(folder) and tail.is_file()]
            if not there:
                raise ValueError(f"it names {name[:80]!r}, which lies neither in its folder nor below")
            found.append(str(there[0]))
        return found


_Read = TypeVar("_Read", bound=Callable[[bytes], Machine | Parts | Files])


@dataclass(frozen=True, kw_only=True)
class FileReader:
    """Something that reads files, called ``name``, of a tool: ``summary`` in a few words.

    ``recognises``: whether a file that begins with these bytes, as many as ``HEAD``, is of this kind. ``read`` returns the
    machine or graph of a file, or the files that it names; it raises ValueError when it is none. ``suffixes``: names that end
    so are of this kind, if no bytes tell.
    """

    name: str
    summary: str
    recognises: Callable[[bytes], bool]
    read: Callable[[bytes], Machine | Parts | Files]
    suffixes: tuple[str, ...] = ()


_READERS: dict[str, FileReader] = {}


def reader(
    name: str, *, summary: str, recognises: Callable[[bytes], bool], suffixes: tuple[str, ...] = ()
) -> Callable[[_Read], _Read]:
    """Register the function below as the reader of a kind of file; see FileReader."""

    def register(read: _Read) -> _Read:
        _READERS[name] = FileReader(name=name, summary=summary, recognises=recognises, read=read, suffixes=suffixes)
        return read

    return register


def readers() -> dict[str, FileReader]:
    """Return everything that reads files of networks, by name."""
    import_all("treecast", "reading")
    return dict(sorted(_READERS.items()))


def matches(pattern: bytes) -> Callable[[bytes], bool]:
    """Return a test of whether a regular expression is found in bytes; ``^`` and ``$`` are ends of lines."""
    found = re.compile(pattern, re.MULTILINE)
    return lambda head: found.search(head) is not None


def begins_with_element(name: str) -> Callable[[bytes], bool]:
    """Return a test of whether bytes are XML whose first element has this name."""

    def begins_so(head: bytes) -> bool:
        names = list[str]()
        parser = expat.ParserCreate(namespace_separator=" ")

        def start(found: str, _: dict[str, str]) -> None:
            names.append(found.rpartition(" ")[2])
            raise StopIteration  # one is enough

        parser.StartElementHandler = start
        with suppress(expat.ExpatError, StopIteration, ValueError, LookupError):
            parser.Parse(head, False)
        return names == [name]

    return begins_so


def read_file(path: str, kind: str = "") -> Machine | Parts | Files:
    """Return the machine or graph in a file, or the files that it names; a pipe is read to its end.

    ``kind`` is the name of the reader, where the file is not to tell. Raises OSError or ValueError when it cannot be read, is too
    large, or no reader, or several, take it.
    """
    if not stat.S_ISREG(mode := os.stat(path).st_mode) and not stat.S_ISFIFO(mode):
        # a device may have no end
        raise ValueError("it is a folder: name a file in it" if stat.S_ISDIR(mode) else "it is no file")
    with Path(path).open("rb") as file:
        data = file.read(_MOST_OF_GRAPHS + 1)  # one more than most shows that it is too large
    if not data or data.isspace():
        raise ValueError("it is empty")
    if data[:10].lstrip(b"\x89").startswith(b"treecast"):
        raise ValueError("it is a plan, no network: 'treecast show' says on which one")
    if not kind and (several := _of_hosts(data)):
        return several
    chosen = _chosen(data[:HEAD], path, kind)
    if not kind and chosen is None and (chosen := _found(unframed(data[:HEAD]))):  # a paste
        data = unframed(data)
    chosen = chosen or _by_name(data[:HEAD], path)
    most = _MOST_OF_GRAPHS if chosen.name in ("graphml", "links") else _MOST
    if len(data) > most:
        raise ValueError(f"it has more than {most >> 20} MiB, the most of a file of {chosen.summary}")
    return chosen.read(data)


def _of_hosts(data: bytes) -> Machine | None:
    """Return the machines of several hosts in one paste: the first one, and all by the names of the hosts."""
    # pastes are short
    texts = {name: unframed(text) for name, text in (hosts_in(data) if len(data) < 16 * HEAD else {}).items()}
    kinds = {name: each for name, text in texts.items() if (each := _found(text[:HEAD]))}
    read = {name: each.read(texts[name]) for name, each in kinds.items()}
    found = {name: each for name, each in read.items() if isinstance(each, Machine)}
    if len(found) < 2:
        return None
    first, *others = found
    said = [f"{name} ({spell_nodes(found[name]).rpartition(': ')[2]})" for name in others]
    text = f"this is {first}; also {list_few(said, 8)}: take one by --part NAME"
    return replace(found[first], complaints=[*found[first].complaints, Complaint(text)], named=found)


def _chosen(head: bytes, path: str, kind: str) -> FileReader | None:
    """Return the reader that is asked for, or that recognises a file; None where none does."""
    known = readers()
    if not kind:
        return _found(head)
    if kind not in known:
        hint = did_you_mean(kind, known) or f": --format is one of {', '.join(known)}"
        raise ValueError(f"{kind!r} is no kind of file{hint}")
    return known[kind]


def _found(head: bytes) -> FileReader | None:
    found = [each for each in readers().values() if each.recognises(head)]
    if len(found) > 1:
        names = " and ".join(each.name for each in found)
        raise ValueError(f"it may be of {names}: say which, by --format {found[0].name}")
    return found[0] if found else None


def _by_name(head: bytes, path: str) -> FileReader:
    """Return the reader of a file that none recognises, by its name, or that of links; ValueError where it looks otherwise."""
    suffix = Path(path).suffix.lower()
    if missing := lacking():
        raise ValueError(f"what reads such files may be in {' or '.join(missing)}, not installed here")
    by_name = [each for each in readers().values() if suffix in each.suffixes]
    # many tools share these suffixes: they tell little
    if (not by_name or suffix in _OF_MACHINES) and (looks := looks_like(head)):
        raise ValueError(looks)
    return (by_name or [readers()["links"]])[0]
