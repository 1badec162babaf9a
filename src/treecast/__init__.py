"""Collective communication that is proven to arrive.

>>> import treecast
>>> schedule = treecast.plan("broadcast", "star:4", messages=6, survive=2)
>>> treecast.verify(schedule).holds
True
"""

with open(f"{__file__}i", encoding="utf-8") as _stub:
    _lines = [line.split() for line in _stub if line.startswith("from treecast.")]
_HOME = {name: module.removeprefix("treecast.") for _, module, _, name, *_ in _lines}
"""The module that each public name comes from, as ``__init__.pyi`` lists them."""
_PACKAGES = ("demands", "extend", "mpi", "tcp", "torch")

__version__ = "0.2.0.dev0"
__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the command line answers --help without numpy."""
    from importlib import import_module  # late, as all else: nothing comes before the command line heeds Ctrl-C

    if name in _PACKAGES:
        return import_module(f"treecast.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'treecast' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"treecast.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
