"""Options that were called otherwise before version 0.2: for one version they still work, and say the new name."""

from collections.abc import Callable, Mapping

from treecast.cli import console


def _in(unit: str) -> Callable[[str], str]:
    return lambda text: text if _number(text) is None else text + unit


def _per_byte(text: str) -> str:
    number = _number(text)
    return text if number is None else f"{1 / number:.15g}B/s" if number else "inf"


def _bits(text: str) -> str:
    unit = text[-4:-3]
    return f"{text[:-4]}{unit if unit == 'k' else unit.upper()}bit/s" if text[-4:] in ("kbit", "mbit", "gbit") else text


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


Renamed = Mapping[str, tuple[str, Callable[[str], str]]]
"""For each old option the new one, and how its value is converted."""
_NONE: Renamed = {}
_COSTS: Renamed = {"--startup": ("--latency", _in("s")), "--per-byte": ("--rate", _per_byte)}
_FAULTS: Renamed = {
    "--kill-nodes": ("--dead-nodes", str),
    "--without-nodes": ("--dead-nodes", str),
    "--without-links": ("--cut-links", str),
}
_OLD: Mapping[str, Renamed] = {
    "simulate": {**_COSTS, "--chunk-bytes": ("--chunk", str)},
    "times": {**_COSTS, "--chunk-bytes": ("--bytes", str)},
    "export": {"--bandwidth": ("--rate", _in("B/s")), "--latency": ("--latency", _in("s"))},
    "lab": {"--rate": ("--rate", _bits), "--cut": ("--cut-links", str)},
    "run": {"--kill": ("--dead-nodes", str)},
}
STARTING = ("lab", "launch")
"""The verbs that start programs, which have options of their own."""
_USUAL = {"--latency": "0", "--rate": "inf", "--chunk": "1", "--bytes": "1"}
"""The values of old options where only some of them were given."""


def modern(arguments: list[str]) -> list[str]:
    """Return a command line in which old options have their new names, and say the new names on standard error.

    >>> modern(["simulate", "plan.tc", "--startup=1e-6", "--per-byte", "1e-9", "--chunk-bytes", "4096"])[2:]
    ['--latency', '1e-6s', '--rate', '1000000000B/s', '--chunk', '4096']
    """
    verb = arguments[0] if arguments else ""
    known = _OLD.get(verb, _NONE) if verb in STARTING else {**_FAULTS, **_OLD.get(verb, _NONE)}
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words, found, used = list(arguments[:end]), list[str](), set[str]()
    while words:
        word = words.pop(0)
        old, equals, value = word.partition("=")
        if old not in known or not (equals or words):
            found.append(word)
            continue
        (new, convert), value = known[old], value if equals else words.pop(0)
        found += [new, convert(value)]
        if (new, found[-1]) != (old, value):
            console.warn(f"{old} {value} is now written {new} {found[-1]}")
            used.add(old)
    if used & {*_COSTS, "--chunk-bytes"}:
        missing = [new for new in dict.fromkeys(new for new, _ in known.values()) if new in _USUAL and new not in found]
        found += [word for new in missing for word in (new, _USUAL[new])]
    return found + arguments[end:]
