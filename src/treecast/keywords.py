"""Calls with a keyword that a function does not have: the error says which it has."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from treecast.errors import did_you_mean

_Words = ParamSpec("_Words")
_Found = TypeVar("_Found")


def checks_keywords(verb: Callable[_Words, _Found]) -> Callable[_Words, _Found]:
    """Return a function that raises TypeError with the right keywords when it is called with a wrong one.

    >>> @checks_keywords
    ... def simulate(schedule, faults=None): ...
    >>> simulate(None, fualts=3)
    Traceback (most recent call last):
        ...
    TypeError: simulate() has no keyword 'fualts'; did you mean 'faults'? It has: schedule, faults
    """
    known = list(signature(verb).parameters)

    @wraps(verb)
    def checked(*given: _Words.args, **named: _Words.kwargs) -> _Found:
        for name in named:
            if name not in known:
                hint = did_you_mean(name, known).rstrip("?")
                end = "? It has" if hint else "; it has"
                raise TypeError(f"{verb.__name__}() has no keyword {name!r}{hint}{end}: {', '.join(known)}")
        return verb(*given, **named)

    return checked
