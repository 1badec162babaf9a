"""PyTorch's process groups over sockets, which outlive their ranks; nothing of torch is imported before it is needed.

>>> import torch.distributed as dist                                # doctest: +SKIP
>>> dist.init_process_group("treecast")                             # doctest: +SKIP
>>> treecast.torch.failed()                                         # doctest: +SKIP
(2,)
"""

from importlib import import_module
from typing import Any

from treecast.errors import PlanError
from treecast.torch.loading import register

_HOME = {
    "options": "starting",
    **dict.fromkeys(("calls", "failed", "living", "is_first", "is_new", "shrink", "admit", "share"), "membership"),
    **dict.fromkeys(("mean", "Sampler"), "training"),
    **dict.fromkeys(("run", "bind"), "running"),
    "redistribute": "demands",
}
__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"treecast.torch.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise PlanError(f"treecast.torch.{name} needs PyTorch: pip install torch") from None


register()
