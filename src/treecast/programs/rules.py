"""Every rule by which files of other tools are judged, in the order in which they are told."""

from typing import NamedTuple


class Rule(NamedTuple):
    """A rule: its name, the formats that are judged by it, and a sentence that goes on after "asks that".

    ``warns``: whether a file that breaks it holds all the same.
    """

    name: str
    of: tuple[str, ...]
    asks: str
    warns: bool = False


_SENDS = ("goal",)
_BLOCKS = ("msccl", "mscclpp")
_LISTS = (*_SENDS, "msccl")

RULES = [
    Rule("shape", _BLOCKS, "everything that is named is there, and no limit of the format is passed"),
    Rule("bounds", ("mscclpp",), "every place lies in its buffer"),
    Rule("pairs", (*_LISTS, "mscclpp"), "every send meets a receive of its size, and every signal is awaited"),
    Rule("signalled", ("msccl",), "whatever is awaited is told"),
    Rule("order", _LISTS, "nothing waits in a circle, and nothing goes before the step of a thing it waits for"),
    Rule("deadlock", ("mscclpp",), "nothing waits for ever"),
    Rule("in-flight", ("msccl",), "nothing waits in a circle where queues are as long as the protocol has them"),
    Rule("waits", _SENDS, "the messages a send waits for have brought its contents"),
    Rule("race", _BLOCKS, "of two uses of a place, one of which writes, one surely comes first"),
    Rule("undefined", _BLOCKS, "nothing is read that nobody wrote"),
    Rule("begun", ("mscclpp",), "no buffer of another rank is used before that rank has begun"),
    Rule("ended", ("mscclpp",), "no buffer of another rank is used when that rank may have ended"),
    Rule("relaxed", ("mscclpp",), "signals that order two uses also publish data, which relaxed ones do not"),
    Rule("executor", ("mscclpp",), "the executor of August 2026 does as the words say", warns=True),
    Rule("delivered", (*_SENDS, *_BLOCKS), "every rank ends with the data that the collective wants there"),
    Rule("adjacent", (*_SENDS, *_BLOCKS), "a link leads from each sender to its receiver"),
    Rule("link-once", (*_SENDS, *_BLOCKS), "no link carries more messages at a time than it has cables"),
]
"""Files of sends and receives that are whole schedules are judged by the rules of schedules as well."""
_PLACE = {rule.name: place for place, rule in enumerate(RULES)}


def adopt(name: str, like: str) -> None:
    """Have a format judged by the rules of another. ``goal`` stands for all lists of sends and receives."""
    for place, rule in enumerate(RULES):
        if like in rule.of and name not in rule.of:
            RULES[place] = rule._replace(of=tuple(sorted({*rule.of, name})))


def rules_of(judged: str) -> tuple[Rule, ...]:
    """Return the rules by which a format is ``judged``, in order."""
    return tuple(rule for rule in RULES if judged in rule.of)


def place_of(rule: str) -> int:
    """Return where a rule stands among all; rules of schedules stand behind those of files."""
    return _PLACE.get(rule, len(RULES))
