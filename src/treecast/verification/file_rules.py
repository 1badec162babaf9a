"""The rules by which files of other tools are judged: each is registered beside the function that judges it."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., object])


class Rule(NamedTuple):
    """A rule: its name, the formats that are judged by it, and a sentence that goes on after "asks that".

    ``warns``: whether a file that breaks it holds all the same.
    """

    name: str
    of: tuple[str, ...]
    asks: str
    warns: bool = False


_RULES, _LIKE = dict[str, Rule](), dict[str, str]()
_ORDER = (
    *("shape", "bounds", "pairs", "signalled", "order", "deadlock", "in-flight", "waits"),
    *("race", "undefined", "begun", "ended", "relaxed", "executor", "delivered", "adjacent", "link-once"),
)
"""The order in which rules are told; rules of schedules, and others, stand behind these."""


def rule(name: str, asks: str = "", *, of: tuple[str, ...], warns: bool = False) -> Callable[[_Function], _Function]:
    """Register the function below as a judge of a rule, in files of the formats ``of``.

    One of its judges says what it ``asks``. Files of sends and receives that are whole schedules are judged by the rules of
    schedules as well.
    """

    def register(judge: _Function) -> _Function:
        known = _RULES.get(name, Rule(name, (), ""))
        _RULES[name] = Rule(name, tuple(sorted({*known.of, *of})), asks or known.asks, warns or known.warns)
        return judge

    return register


def adopt(name: str, like: str) -> None:
    """Have a format judged by the rules of another. ``goal`` stands for all lists of sends and receives."""
    _LIKE[name] = like


def rules_of(judged: str = "") -> tuple[Rule, ...]:
    """Return the rules by which a format is ``judged``, by default all, in order, once their judges are imported."""
    found = list[Rule]()
    for each in sorted(_RULES.values(), key=lambda known: place_of(known.name)):
        of = {*each.of, *(name for name, like in _LIKE.items() if like in each.of)}
        if judged in of or not judged:
            found.append(each._replace(of=tuple(sorted(of))))
    return tuple(found)


def place_of(name: str) -> int:
    """Return where a rule stands among all."""
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)
