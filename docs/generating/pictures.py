"""The dark pictures beside those of ``docs/pictures``, which are light since they are read where no site is built, too."""

from pathlib import Path

import treecast

_LENGTHS = {"path:6": [0, 2, 3, 1, 0, 4], "tree:2,2": [0, 3, 2, 4, 0, 1, 5]}


def draw_dark(folder: Path) -> None:
    """Draw them into a folder: ``NAME-dark.png`` for ``NAME.png``. Those that are there stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (kind, make) in DRAWN.items():
        path = folder / name
        if not (dark := path.with_stem(f"{path.stem}-dark")).exists():
            treecast.draw(make(), dark, kind=kind, look=treecast.Look(dark=True))


def _gather(network: str, builder: str) -> treecast.Schedule:
    return treecast.plan("gatherv", network, lengths=_LENGTHS[network], model="bufferless", builder=builder)


DRAWN = {
    "hypercube4-paths.svg": (None, lambda: treecast.paths("hypercube:4", 14)),
    "mesh8-sources.png": ("sources", lambda: treecast.network("mesh:8x8")),
    "mesh8-steps.png": ("steps", lambda: treecast.plan("broadcast", "mesh:8x8", root="2,3", model="wormhole")),
    "path-scatter.png": ("space-time", lambda: treecast.plan("scatterv", "path:6", lengths=_LENGTHS["path:6"])),
    "path-shoulder-tap.png": ("space-time", lambda: _gather("path:6", "shoulder-tap")),
    "star4-network.svg": ("network", lambda: treecast.plan("broadcast", "star:4", survive=2)),
    "star4-trees.png": ("trees", lambda: treecast.plan("broadcast", "star:4", messages=12, survive=2)),
    "tree-certificates.png": ("space-time", lambda: _gather("tree:2,2", "transmission-certificate")),
}
"""The kind of each picture, and what makes its subject."""
