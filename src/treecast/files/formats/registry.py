"""The registry of file formats: each entry stands beside the function that writes or reads the format.

A format may be written only, read only, or both; both halves have one name. To add a format, add a file to a folder of this
package: an ``@exporter`` on the function that makes the bytes, an ``@importer`` on the one that reads them.

An exporter may take *settings*, which are keywords of its function, flags of the command line and keywords of ``save``.
"""

import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeVar, cast

from treecast.discovery import import_all
from treecast.errors import FormatError, TreecastError
from treecast.files.programs.verdict import FileVerdict
from treecast.models import Cost
from treecast.schedule import Schedule
from treecast.schedule.costs import Costs
from treecast.units import parse_bytes, parse_rate, parse_seconds
from treecast.verification.file_rules import adopt

HEAD = 512
"""How many of the first bytes of a file must tell its format."""
DEFAULT = "text"
"""The format of files whose name ends in no suffix of a format, and of bytes that no importer recognises."""

_OF_TEXT = ("", ".txt")
_WAYS = ("strip", "scratch")
_RENAMED = {"bandwidth": "rate", "kill_nodes": "dead_nodes"}
"""Settings that were called otherwise before version 0.2."""

_NO_SCHEDULES = {
    (".gz", ".bz2", ".xz", ".zst", ".zip"): "treecast compresses no files, and .tcb is short",
    (".svg", ".png", ".pdf", ".gif", ".html"): "'treecast draw' makes pictures of one",
    (".json",): "--json prints findings",
}


@dataclass(frozen=True, kw_only=True)
class Told:
    """Facts of a file that it does not say itself.

    ``network``: where its nodes are. ``collective``, ``root``, ``messages``: its job. ``size``: how many bytes the data of all
    blocks has. ``allow``: rules that the file may break and hold all the same.
    """

    network: str | None = None
    collective: str | None = None
    root: str | None = None
    messages: int | None = None
    size: int | None = None
    allow: tuple[str, ...] = ()


Encode = Callable[..., bytes | Iterable[tuple[str, bytes]]]
Decode = Callable[[bytes], Schedule]
Judge = Callable[[bytes, Told], tuple[FileVerdict, Callable[[], Schedule]]]
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Something that an exporter can be told.

    ``name``: as the command line writes it, without the dashes before it. ``keyword``: of the exporter's function and of
    ``save``; by default the name, with _ for each -. ``summary``: a sentence of help. ``read``: from text to the value that the
    exporter gets; it raises FormatError for another text. ``flag``: whether it is given or not, without a value. ``several``:
    whether it takes several values, as a sequence.
    """

    name: str
    keyword: str = ""
    summary: str
    read: Callable[[str], Any] = str
    flag: bool = False
    several: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "keyword", self.keyword or self.name.replace("-", "_"))  # it is frozen

    def __str__(self) -> str:
        return self.name if self.name == self.keyword else f"{self.name} (in Python {self.keyword})"


@dataclass(frozen=True, kw_only=True)
class Exporter:
    """Something that writes schedules in the format ``name``; ``summary`` describes it in a few words.

    ``suffix``: the end of the names of its files, with its dot. A longer suffix goes before a shorter one (``.x.json``,
    ``.json``). ``encode`` takes the schedule, and ``settings`` by keyword. It returns the bytes of a file, or the names and bytes
    of the files of a folder, one after another, and raises FormatError for a schedule that the format cannot hold. ``advise``
    takes the same, and returns a warning about the result, or an empty text.
    """

    name: str
    suffix: str
    summary: str
    encode: Encode
    settings: tuple[Setting, ...] = ()
    advise: Callable[..., str] = lambda *_, **__: ""

    def read_settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings by keyword as ``encode`` takes them: texts are read, other values are taken as they are.

        Raises FormatError for a setting that the format does not have, and for a text that is no value of one.
        """
        known = {setting.keyword: setting for setting in self.settings}
        found = dict[str, Any]()
        for said, value in given.items():
            keyword = _RENAMED.get(said, said)
            if keyword not in known:
                takes = ", ".join(map(str, self.settings)) or "nothing"
                asked = {each.keyword: str(each) for entry in exporters().values() for each in entry.settings}
                raise FormatError(f"format {self.name} takes no {asked.get(keyword, keyword)}: it takes {takes}")
            if keyword != said:
                warnings.warn(f"{said}= is now {keyword}=", DeprecationWarning, stacklevel=3)
            try:
                found[keyword] = known[keyword].read(value) if isinstance(value, str) else value
            except TreecastError as error:
                raise FormatError(str(error)) from None
        return found

    def write(self, schedule: Schedule, settings: Mapping[str, Any]) -> bytes | Iterator[tuple[str, bytes]]:
        """Return the bytes of a file, or the names and bytes of the files of a folder.

        Raises FormatError as ``read_settings`` and ``encode`` do, and when ``encode`` returns something else.
        """
        found: Any = self.encode(schedule, **self.read_settings(settings))
        several = isinstance(found, Iterable) and not isinstance(found, str)
        return (
            found if isinstance(found, bytes) else map(self._pair, cast("Iterable[Any]", found if several else [found]))
        )

    def _pair(self, found: Any) -> tuple[str, bytes]:
        match found:
            case (str(name), bytes(data)):
                return name, data
            case _:
                said = f"the writer of format {self.name} gives {type(found).__name__}"
                raise FormatError(f"{said}: return bytes, or yield pairs of a name and bytes")


@dataclass(frozen=True, kw_only=True)
class Importer:
    """A reader of schedules in the format ``name``, which verifies nothing.

    ``recognises``: whether a file that begins with these bytes (512, or all of a shorter file) is of this format. ``decode``
    returns the schedule that the bytes of a file hold, and raises FormatError when they hold none. ``judge``, of a format that
    says more than a schedule does, judges the bytes of a file by rules of its own. It takes facts that the file does not say as
    well, and returns the verdict, and a function that makes the schedule of a right file. ``folder``, of a format that is a
    folder of files: the name of that which lists the others, a line each, in the order in which they are read as one, or a
    pattern of their names.
    """

    name: str
    recognises: Callable[[bytes], bool]
    decode: Decode
    judge: Judge | None = None
    folder: str = ""


_EXPORTERS: dict[str, Exporter] = {}
_IMPORTERS: dict[str, Importer] = {}


def exporter(name: str, *, suffix: str, summary: str, **more: Any) -> Callable[[_Function], _Function]:
    """Register the function below as the writer of a format; ``more`` are fields of Exporter."""

    def register(encode: _Function) -> _Function:
        _EXPORTERS[name] = Exporter(name=name, suffix=suffix, summary=summary, encode=encode, **more)
        return encode

    return register


def importer(name: str, *, recognises: Callable[[bytes], bool], **more: Any) -> Callable[[_Function], _Function]:
    """Register the function below as the reader of a format; ``more`` are fields of Importer."""

    def register(decode: _Function) -> _Function:
        _IMPORTERS[name] = Importer(name=name, recognises=recognises, decode=decode, **more)
        return decode

    return register


def judged(name: str, *, recognises: Callable[[bytes], bool], like: str = "", **more: Any) -> Callable[[Judge], Judge]:
    """Register the function below as the judge of a format with rules of its own, and so as its reader.

    ``like``: the format whose rules it has: ``goal`` for lists of sends and receives.
    """
    adopt(name, like)

    def register(judge: Judge) -> Judge:
        def decode(data: bytes) -> Schedule:
            return judge(data, Told())[1]()

        importer(name, recognises=recognises, judge=judge, **more)(decode)
        return judge

    return register


def begins_with(*starts: bytes) -> Callable[[bytes], bool]:
    """Return a test of whether bytes begin with one of these."""
    return lambda head: head.startswith(starts)


def begins_like(pattern: re.Pattern[bytes]) -> Callable[[bytes], bool]:
    """Return a test of whether bytes begin with a match of a pattern."""
    return lambda head: pattern.match(head) is not None


def exporters() -> dict[str, Exporter]:
    """Return everything that writes schedules, by the name of the format."""
    import_all("treecast.files.formats")
    return dict(sorted(_EXPORTERS.items()))


def importers() -> dict[str, Importer]:
    """Return everything that reads schedules, by the name of the format."""
    import_all("treecast.files.formats")
    return dict(sorted(_IMPORTERS.items()))


def format_of_name(path: str | os.PathLike[str]) -> str:
    """Return the format in which a file of this name is written.

    It is the one with the longest suffix in which the name ends. A name that ends in none of them, or has nothing before
    it, is text: ``plan.tc``, ``plan``, ``plan.txt`` and ``-`` (standard output). Raises FormatError when the name is that of a
    picture or of JSON, which a schedule would not be.
    """
    name = PurePath(path).name
    if not os.fspath(path):
        raise FormatError("'' is no name of a file: write plan.tc, or - for standard output")
    # a suffix alone is no name
    fitting = [known for known in exporters().values() if name.endswith(known.suffix) and name != known.suffix]
    if fitting:
        return max(fitting, key=lambda known: len(known.suffix)).name
    for suffixes, instead in _NO_SCHEDULES.items():
        if name.lower().endswith(suffixes):
            raise FormatError(
                f"{name!r} is no name for a schedule: {instead}; a schedule is called plan.tc, or plan.tcb, and an export by its "
                "format, as 'treecast help files' says"
            )
    return DEFAULT


def unknown_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a file that is written as text though it is neither one of text nor of another format, or "".

    >>> unknown_suffix("plan.foo"), unknown_suffix("plan.txt"), unknown_suffix("plan.tcb"), unknown_suffix("-")
    ('.foo', '', '', '')
    """
    suffix = PurePath(path).suffix
    return "" if format_of_name(path) != DEFAULT or suffix in (*_OF_TEXT, exporters()[DEFAULT].suffix) else suffix


def format_of_bytes(head: bytes) -> str:
    """Return the format of a file that begins with these bytes, or an empty text when no importer recognises them."""
    return next((known.name for known in importers().values() if known.recognises(head[:HEAD])), "")


def exporter_named(name: str) -> Exporter:
    """Return the writer of a format. Raises FormatError when no format has that name, or the format is only read."""
    known = exporters()
    if name not in known:
        raise FormatError(f"{name!r} is no format that can be written: choose one of {', '.join(known)}")
    return known[name]


# -- settings of several exporters, and how their texts are read -------------------------------------------------------


def read_number(text: str) -> float:
    """Return a number above 0. Raises FormatError when it is none.

    >>> read_number("125e6")
    125000000.0
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise FormatError(f"{text!r} will not do: write a number above 0, as in 125e6")
    return number


def _read_way(text: str) -> str:
    if text not in _WAYS:
        raise FormatError(f"copies are {' or '.join(_WAYS)}, not {text!r}")
    return text


BYTES = Setting(
    name="bytes",
    keyword="size",
    summary="How much data there is, all blocks together: 16MiB; by default as planned, or 64KiB a chunk.",
    read=parse_bytes,
)
RATE = Setting(
    name="rate",
    summary="The rate of a link: 12.5GB/s, 100Gbit/s; by default as planned, or 125MB/s.",
    read=parse_rate,
)
LATENCY = Setting(
    name="latency", summary="The latency of a link: 1us; by default as planned, or 1us.", read=parse_seconds
)
ADDING = Setting(
    name="adding",
    summary="The nanoseconds that a node takes to add a number of 8 bytes; by default adding takes no time.",
    read=read_number,
)
COPIES = Setting(
    name="copies",
    summary="Further copies of a chunk: strip (left out, the default), or scratch (received where nobody reads).",
    read=_read_way,
)


def link_costs(schedule: Schedule, latency: float | None = None, rate: float | None = None) -> Costs:
    """Return the costs of links: what is said for all, else as the schedule was planned for, else 1 us and 125 MB/s."""
    own = schedule.costs or Costs.of(1e-6, 125e6)

    def as_said(cost: Cost) -> Cost:
        return Cost(cost.startup if latency is None else latency, cost.per_byte if rate is None else 1 / rate)

    return Costs(as_said(own.default), {arc: as_said(cost) for arc, cost in own.arcs.items()})
