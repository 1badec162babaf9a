"""Options of a file beside its name: which parts are ranks, which part, in which unit. They stand in a network's spelling.

``file:net.xml with links all part 2`` is ``--links all --part 2`` on the command line.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

from treecast.errors import NetworkError, TreecastError, did_you_mean
from treecast.units import parse_rate, parse_share

_WITH = re.compile(r"\s+with\s+(?=[a-z-]+\s)")


def _gbits(text: str) -> float:
    return parse_rate(text) * 8 / 1e9


def _share(text: str) -> float:
    if (share := parse_share(text)) == 1:
        raise TreecastError(f"{text!r} is all of it: write 1%, or 0.01")
    return share


def _yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise TreecastError(f"{text!r} is neither yes nor no")
    return text == "yes"


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,4}", text):
        raise TreecastError(f"{text!r} is no number of cables: write 1 to 99999")
    return int(text)


def _called(text: str) -> tuple[str, int]:
    word, equals, many = text.rpartition("=")
    if not word or not equals or not re.fullmatch(r"[0-9]{1,5}", many):
        raise TreecastError(f"{text!r} is no word and its number of links: write it as in MX=1")
    return word, int(many)


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise TreecastError(f"{text!r} is none of {', '.join(words)}{did_you_mean(text, words)}")
        return text

    return read


@dataclass(frozen=True)
class FileOption:
    """An option of files: how its text is read, a sentence of help, and its type: bool for a flag, tuple for several values."""

    read: Callable[[str], Any]
    summary: str
    kind: type


def _option(default: Any, read: Callable[[str], Any], summary: str) -> Any:
    """Return a field of ``Asked`` that is an option of the command line, too."""
    kind = bool if default is False else tuple if default == () else str
    return field(default=default, metadata={"option": FileOption(read, summary, kind)})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of a file. A rate is in Gbit/s; where it is 0, and where a text is empty, the file decides."""

    format: str = _option("", str, "The kind of file, where its bytes do not tell.")
    ranks: str = _option("", _one_of("hosts", "hcas", "gpus", "numa"), "Of a file: its ranks: hosts, hcas, gpus, numa.")
    links: str = _option(
        "", _one_of("gpu", "all"), "Of a node's file: GPU links alone (gpu), or PCIe and NUMA nodes, too (all)."
    )
    part: str = _option("", str, "Of a file with several networks: the number, the name or a node of one.")
    unit: float = _option(0.0, _gbits, "Of a file with rates: the rate of a capacity of 1, as in 400Gbit/s.")
    rounding: float = _option(
        0.05, _share, "Of a file with rates: by how much they may be rounded, as in 1%; 5% by default."
    )
    pcie_rate: float = _option(0.0, _gbits, "Of a matrix: the rate of PCIe, as in 126Gbit/s.")
    gpu: str = _option("", str, "Of a matrix: the GPU, as in H100, which tells the rate of its links.")
    links_called: tuple[tuple[str, int], ...] = _option(
        (), _called, "Of a matrix: how many links a word stands for, as in MX=1; 0 where it is none."
    )
    uplinks: int = _option(1, _count, "Of a Slurm file: how many cables a line between switches stands for.")
    node: tuple[str, ...] = _option((), str, "Of a fabric's file: the file of a node, or PATTERN=FILE for some hosts.")
    relays_add: str = _option(
        "",
        _one_of("yes", "no"),
        "All relays add contributions to sums, as switches with SHARP or NVLS do; no: none does, whatever the file says.",
    )
    keep_relays: bool = _option(False, _yes, "Of a node's file: keep relays that do nothing.")
    undirected: bool = _option(False, _yes, "Of a graph's file: all links lead both ways.")
    whole: bool = _option(
        False, _yes, "Of a fabric's file: put back parts that are missing beside parts that are alike."
    )


OPTIONS: Mapping[str, FileOption] = {each.name.replace("_", "-"): each.metadata["option"] for each in fields(Asked)}
"""The options of files, by the words that spellings and the command line have for them."""


def field_of(name: str) -> str:
    """Return the field of ``Asked`` that has an option."""
    return name.replace("-", "_")


def spell_asked(given: Mapping[str, Any]) -> str:
    """Return options, by their words, as the end of a spelling; those that are None, False or empty are left out.

    >>> spell_asked({"ranks": "hosts", "whole": True, "node": ("a.xml",), "part": None})
    ' with ranks hosts whole yes node a.xml'
    """
    words = list[str]()
    for name, value in given.items():
        for each in cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,):
            if each is None or each is False or each == "":
                continue
            text = "yes" if each is True else str(each)
            if text.split() != [text]:
                raise NetworkError(f"--{name} {text!r} holds a blank: give it without one, a file by another name")
            words += [name, text]
    return " with " + " ".join(words) if words else ""


def read_asked(spelling: str) -> tuple[str, Asked]:
    """Return the path in a spelling, and its options. Raises NetworkError when one is unknown, or its text is none of its kind.

    >>> path, asked = read_asked("net with me.xml with links all part 2")
    >>> path, asked.links, asked.part
    ('net with me.xml', 'all', '2')
    """
    # a path may have this word in it: options begin where the name of one follows
    ends = [found for found in _WITH.finditer(spelling) if spelling[found.end() :].split()[0] in OPTIONS]
    if not ends:
        return spelling, Asked()
    path, words = spelling[: ends[0].start()], spelling[ends[0].end() :].split()
    asked = Asked()
    if len(words) % 2:
        raise NetworkError(f"{words[-1]!r} in {spelling[:80]!r} has no value: write options as in 'with part 2'")
    for name, text in zip(words[::2], words[1::2], strict=True):
        option = OPTIONS.get(name)
        if option is None:
            raise NetworkError(
                f"{name!r} is no option of a file{did_you_mean(name, OPTIONS) or ': ' + ', '.join(OPTIONS)}"
            )
        try:
            value = option.read(text)
        except TreecastError as error:
            raise NetworkError(f"{name}: {error}") from None
        field_name = field_of(name)
        several = (*getattr(asked, field_name), value) if option.kind is tuple else value
        asked = replace(asked, **{field_name: several})
    return path, asked
