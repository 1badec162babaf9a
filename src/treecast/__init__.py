"""Collective communication that is proven to arrive.

>>> import treecast
>>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
>>> treecast.verify(schedule).holds
True
"""

from treecast.faces import homes_in, module_of, named

_HOME = homes_in(f"{__file__}i")
"""The module that each public name comes from."""
_PACKAGES = ("demands", "extend", "formats", "mpi", "protocols", "tcp", "testing", "torch")

__version__ = "0.2.0.dev0"
__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the command line answers --help without numpy."""
    if name in _PACKAGES:
        return module_of(f"treecast.{name}", f"treecast.{name}")
    value = globals()[name] = named(name, _HOME, "treecast")
    return value


def __dir__() -> list[str]:
    return __all__
