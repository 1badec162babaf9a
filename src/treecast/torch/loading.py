"""Torch finds this by itself when it is imported: a backend called ``treecast``. It costs nothing, and never fails."""


def register() -> None:
    """Tell torch of the backend, and of ``init_method="treecast://"``; where torch is not, do nothing."""
    try:
        from torch import distributed  # pyright: ignore
        from torch.distributed.rendezvous import register_rendezvous_handler  # pyright: ignore

        if distributed.is_available() and not hasattr(distributed.Backend, "TREECAST"):  # pyright: ignore
            distributed.Backend.register_backend("treecast", _create, extended_api=True, devices=["cpu"])  # pyright: ignore
            register_rendezvous_handler("treecast", _meet)
    except Exception:  # whatever it is: `import torch` must not fail for that
        return


def _create(options: object, more: object = None) -> object:
    from treecast.torch.starting import create

    return create(options, more)


def _meet(url: str, **more: object) -> object:
    from treecast.torch.starting import rendezvous

    return rendezvous(url, **more)
