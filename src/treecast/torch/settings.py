"""The terms of the process groups that begin from now on."""

from typing import Unpack

from treecast.groups.terms import Said, Terms

_SET: list[Terms] = []


def options(**terms: Unpack[Said]) -> None:
    """Say on which terms groups live that begin from now on, the same at all ranks.

    Parameters
    ----------
    **terms
        What becomes of calls when ranks fail: ``survive=1, deadline=30, late=None, sure=False, on_failed="warn",
        on_error="die", network=None``. ``treecast.groups.terms.Terms`` explains them. ``late`` is by default the timeout of the
        group. The errors of ``on_failed`` are DistBackendErrors.

    Raises
    ------
    PlanError
        They make no sense.

    Examples
    --------
    >>> treecast.torch.options(survive=2)                           # doctest: +SKIP
    """
    _SET[:] = [Terms.of(terms, _USUAL).check()]


_USUAL = Terms(on_error="die")


def read_terms() -> Terms:
    """Return the terms: those that were said, else those of the environment, else the usual ones."""
    return _SET[0] if _SET else Terms.of({}, _USUAL).check()
