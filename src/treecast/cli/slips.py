"""Command lines that cannot be read as they are: options that were called otherwise, and errors in the words of all others.

Options that had another name before version 0.2 still work for one version, and say the new name.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import get_args

from cyclopts import CoercionError, CycloptsError, MissingArgumentError, UnknownOptionError, UnusedCliTokensError
from cyclopts.exceptions import ConsumeMultipleError, RepeatArgumentError, UnknownCommandError

from treecast.cli import console
from treecast.cli.app import app, find_verbs
from treecast.discovery import lacking
from treecast.errors import TreecastError, did_you_mean


def _in(unit: str) -> Callable[[str], str]:
    # the old options were plain numbers in a fixed unit
    return lambda text: text if _number(text) is None else text + unit


def _per_byte(text: str) -> str:
    number = _number(text)
    # seconds a byte; none at all is an endless rate
    return text if number is None else f"{1 / number:.15g}B/s" if number else "inf"


def _bits(text: str) -> str:
    unit = text[-4:-3]
    # k is small in front of units, M and G are capitals
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
    # Behind -- stands somebody else's command line: its options are not ours.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words, found, used = list(arguments[:end]), list[str](), set[str]()
    while words:
        word = words.pop(0)
        old, equals, value = word.partition("=")
        if word == "--relays-add" and words[:1] not in (["yes"], ["no"]):
            # alone it means yes
            words.insert(0, "yes")
        if old not in known or not (equals or words):
            found.append(word)
            continue
        (new, convert), value = known[old], value if equals else words.pop(0)
        found += [new, convert(value)]
        # some names are old and new: they are told only where the value changes
        if (new, found[-1]) != (old, value):
            console.warn(f"{old} {value} is now written {new} {found[-1]}")
            used.add(old)
    # Old options had defaults of their own, which the new ones have not.
    if used & {*_COSTS, "--chunk-bytes"}:
        missing = [new for new in dict.fromkeys(new for new, _ in known.values()) if new in _USUAL and new not in found]
        found += [word for new in missing for word in (new, _USUAL[new])]
    return found + arguments[end:]


_OTHERWISE = {"--ports": "; the machine says it, as in --model one-port,ports=2"}
"""How verbs with a machine say what others have an option for."""
_NUMBERS = {int: "a whole number", float: "a number"}


def spell_slip(error: CycloptsError) -> str:
    """Return the words that a command line lacks, or has too many, and where to read on."""
    # 1. What every answer ends with.
    verb = " ".join(error.command_chain or ())
    where = f"'treecast {verb} --help' shows the usage" if verb else "'treecast --help' lists the verbs"
    name = error.argument.name if error.argument is not None else ""
    # 2. The kind of slip, the most special first; one that is none of these has the parser's own words.
    match error:
        case UnknownCommandError():
            unknown = (error.unused_tokens or [""])[0]
            meant = did_you_mean(unknown, find_verbs()) if not verb else ""
            missing = f"; {', '.join(lacking())} may have it, not installed here" if lacking() and not verb else ""
            return f"there is no verb {unknown!r}: {where}{meant or missing}"
        case UnusedCliTokensError():
            return f"{' '.join(error.unused_tokens or [])!r} is one argument too many: {where}"
        case UnknownOptionError():
            asked = error.token.keyword or error.token.value
            known = [name for argument in error.argument_collection for name in argument.names]
            hint = _OTHERWISE.get(asked, "") if "--model" in known else ""
            hint = hint or _elsewhere(asked, set(known)) or did_you_mean(asked, known)
            return f"{verb or 'treecast'} has no option {asked}: {where}{hint}"
        case ConsumeMultipleError():
            return f"{error.keyword or name} has no value: write one or more behind it, with spaces between them"
        case MissingArgumentError() if name.startswith("-"):
            given = error.keyword is not None or bool(error.argument and error.argument.tokens)
            return f"{name} has no value: {where}" if given else f"{name} is missing: {where}"
        case MissingArgumentError():
            return f"{name} is missing: {where}"
        case RepeatArgumentError():
            return f"{error.token.keyword} is given twice: give it once"
        # a converter of ours has said what is wrong
        case CoercionError() if isinstance(error.__cause__, TreecastError):
            return str(error.__cause__)
        case CoercionError() if error.token is not None and error.msg is None:
            asked = f"{error.token.keyword or name} {error.token.value}"
            kinds = [kind for kind in (error.target_type, *get_args(error.target_type)) if kind in _NUMBERS]
            if error.target_type is bool:
                return f"{error.token.keyword} takes no value: leave {error.token.value!r} out"
            if kinds:
                # words that may stand for the number
                words = [str(word) for kind in get_args(error.target_type) for word in get_args(kind)]
                return f"{asked} will not do: write {', or '.join([_NUMBERS[kinds[0]], *words])}"
            if choices := [choice for choice in get_args(error.target_type) if isinstance(choice, str)]:
                hint = did_you_mean(error.token.value, choices)
                return f"{asked} will not do: write one of {', '.join(choices)}{hint}"
        case _:
            pass
    return str(error)


def check_command(verb: str, command: Sequence[str]) -> None:
    """Raise TreecastError where the command that a verb is to start begins with an option: the verb has none of that name."""
    if command and command[0].startswith("-"):
        known = _options().get(verb, ())
        hint = did_you_mean(command[0].partition("=")[0], known) or "; the command stands behind --"
        raise TreecastError(f"{verb} has no option {command[0]}: 'treecast {verb} --help' shows the usage{hint}")


def _elsewhere(asked: str, known: set[str]) -> str:
    """Return which verbs have an option, the likest first: those that have most of the ``known`` options of the verb asked."""
    options = _options()
    # The verb with most options in common is the one that was probably meant.
    having = sorted((verb for verb in options if asked in options[verb]), key=lambda verb: -len(options[verb] & known))
    if not having:
        return ""
    *others, last = having[:3]
    return f"; {', '.join(others)} and {last} have it" if others else f"; {last} has it"


@cache
def _options() -> dict[str, set[str]]:
    """Return the options of each verb."""
    verbs = {verb: app[verb] for verb in find_verbs() if app[verb].default_command is not None}
    usual = app.default_parameter  # without it there would be names that no verb takes, such as --no-json
    arguments = {verb: found.assemble_argument_collection(default_parameter=usual) for verb, found in verbs.items()}
    return {verb: {name for argument in found for name in argument.names} for verb, found in arguments.items()}
