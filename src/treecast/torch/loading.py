"""Torch finds this by itself when it is imported: a backend called ``treecast``. It costs nothing, and never fails."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def register() -> None:
    """Tell torch of the backend, and of ``init_method="treecast://"``; where torch is not, do nothing."""
    try:
        from torch import distributed  # pyright: ignore
        from torch.distributed.rendezvous import register_rendezvous_handler  # pyright: ignore

        if distributed.is_available() and not hasattr(distributed.Backend, "TREECAST"):  # pyright: ignore
            distributed.Backend.register_backend("treecast", _later("create"), extended_api=True, devices=["cpu"])  # pyright: ignore
            register_rendezvous_handler("treecast", _later("rendezvous"))
    except Exception:  # whatever it is: `import torch` must not fail for that
        return


def _later(name: str) -> Callable[..., Any]:
    """Return a function of ``starting``, which is imported when it is called."""
    return lambda *given, **named: getattr(import_module("treecast.torch.starting"), name)(*given, **named)
