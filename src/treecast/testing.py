"""Checks for parts that others add to treecast: each holds one part against the laws that all parts keep.

``check_network``, ``check_maker``, ``check_machine``, ``check_format`` and ``check_transport`` return nothing when the part keeps
them, and raise AssertionError with the first that it breaks. treecast's own tests call them for every entry of every registry.

Examples
--------
>>> from treecast.testing import check_format, check_machine, check_network
>>> check_network("hypercube")
>>> check_format("text")
"""

from functools import partial

from treecast.faces import homes_in, named

_HOME = homes_in(f"{__file__}i")
__all__ = list(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = partial(named, homes=_HOME, face=__name__)
