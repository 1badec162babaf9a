"""Folders with a file for each node, called like the node."""

import os
from pathlib import Path

import numpy as np

from treecast.errors import FormatError, PlanError, TreecastError
from treecast.networks.core import Ints, Network
from treecast.writing import spell_path


def node_files(network: Network, folder: str | os.PathLike[str], root: int | None) -> dict[int, Path]:
    """Return the file of each rank but the root, if there is one: the one called like the node, with or without an ending.

    Hidden files count for nothing. Raises FormatError when the folder cannot be read, when a node has no file or two, and when a
    file belongs to no node: so no file is left out by mistake.
    """
    try:
        paths = sorted(path for path in Path(folder).iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise FormatError(f"{spell_path(folder)} is no folder that can be read: {error.strerror}") from None
    found: dict[int, Path] = {}
    for path in paths:
        node = _node(network, path)
        if not path.is_file():
            raise FormatError(
                f"{spell_path(path)} is no file: the folder holds one file for each node, and nothing else"
            )
        if node in found:
            raise FormatError(
                f"{spell_path(path)} and {spell_path(found[node])} are both of node {network.label(node)}: keep one"
            )
        if node == root:
            raise FormatError(f"{spell_path(path)} is the root's own, which goes nowhere: take it out of the folder")
        if network.relays is not None and network.relays[node]:
            raise FormatError(f"{spell_path(path)} is of a relay, which takes no part: take it out of the folder")
        found[node] = path
    for node in network.ranks.tolist():
        if node != root and node not in found:
            raise FormatError(
                f"node {network.label(node)} has no file in {spell_path(folder)}: call one {network.label(node)}; "
                "if it is empty, the message is null"
            )
    return found


def _node(network: Network, path: Path) -> int:
    for name in (path.name, path.stem):
        try:
            return network.node(name)
        except TreecastError:
            continue
    raise FormatError(
        f"{spell_path(path)} belongs to no node of {network.spec}: call files like nodes, as in {network.label(0)}"
    )


def flits_of(network: Network, files: dict[int, Path], flit: int) -> Ints:
    """Return how many flits of ``flit`` bytes each node's file has, the last one filled up: int64 (N,); 0 at the root.

    Raises PlanError when a flit has no bytes.
    """
    if flit < 1:
        raise PlanError(f"a flit of {flit} bytes carries nothing: write --flit 4096, say")
    flits = np.zeros(network.nodes, np.int64)
    for node, path in files.items():
        flits[node] = -(-path.stat().st_size // flit)
    return flits
