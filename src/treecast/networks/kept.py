"""Results of functions of a network, which the network keeps: they go when it goes."""

from collections.abc import Callable
from functools import lru_cache, partial, wraps
from typing import Concatenate, ParamSpec, TypeVar

from treecast.networks.core import KEPT, Network

_Of = TypeVar("_Of", bound=Network)
_More = ParamSpec("_More")
_Found = TypeVar("_Found")
_Function = Callable[Concatenate[_Of, _More], _Found]


def kept(most: int) -> Callable[[_Function[_Of, _More, _Found]], _Function[_Of, _More, _Found]]:
    """Have a network keep the last results of the function below, whose first argument it is: so many of them.

    ``cache_clear`` of the function has all networks forget them.
    """

    def keeping(function: _Function[_Of, _More, _Found]) -> _Function[_Of, _More, _Found]:
        key = [object()]  # a new one, and all networks have forgotten

        @wraps(function)
        def asked(network: _Of, *more: _More.args, **named: _More.kwargs) -> _Found:
            known = vars(network).setdefault(KEPT, {})
            if key[0] not in known:
                known[key[0]] = lru_cache(most)(partial(function, network))
            return known[key[0]](*more, **named)

        vars(asked)["cache_clear"] = lambda: key.__setitem__(0, object())
        return asked

    return keeping
