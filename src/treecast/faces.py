"""Faces: modules that have names of others, which a stub beside them lists; each is imported when it is first used."""

from importlib import import_module
from types import ModuleType


def homes_in(stub: str) -> dict[str, str]:
    """Return the module that each name comes from, as a stub lists them; nothing else says it."""
    with open(stub, encoding="utf-8") as lines:
        words = [line.split() for line in lines if line.startswith("from treecast.")]
    return {name: module for _, module, *_, name in words}


def named(name: str, homes: dict[str, str], face: str) -> object:
    """Return what a face has under a name, which may be a module below the one that the stub says."""
    if name not in homes:
        raise AttributeError(f"module {face!r} has no attribute {name!r}")
    module = module_of(homes[name], f"{face}.{name}")
    return getattr(module, name) if hasattr(module, name) else import_module(f"{homes[name]}.{name}")


def module_of(home: str, asked: str) -> ModuleType:
    """Import the module of a public name. Raises TreecastError where it stands in a wing that is not installed."""
    try:
        return import_module(home)
    except ModuleNotFoundError as error:
        from treecast.errors import TreecastError

        if not str(error.name).startswith("treecast."):
            raise
        raise TreecastError(f"{asked} is in {error.name}, which is not installed here") from None
