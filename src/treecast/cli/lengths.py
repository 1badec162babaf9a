"""How lengths are written on the command line: one number, a list, random ones, or a file of them."""

import os
import re
from collections.abc import Mapping

import numpy as np

from treecast.errors import PlanError
from treecast.files import read_whole, spell_path
from treecast.networks import Network
from treecast.networks.core import Ints

_MOST = 2**31 - 1


def parse_lengths(network: Network, text: str, seed: int = 0) -> int | Ints | Mapping[str, int]:
    """Return the lengths that ``text`` spells: ``3``, ``0,3,2,…`` (by node), ``random:9`` (0 to 9 each), or a file's name.

    A file has a node and its length a line; ``#`` begins a comment. Raises PlanError when it spells none.
    """
    if re.fullmatch(r"[-+.,\s0-9]+", text):
        numbers = [_length(part.strip()) for part in text.split(",")]
        return numbers[0] if len(numbers) == 1 else np.array(numbers, np.int64)
    kind, colon, most = text.partition(":")
    if kind == "random" and colon:
        drawn = np.random.default_rng(seed).integers(0, _length(most), network.nodes, endpoint=True)
        return drawn if network.relays is None else np.where(network.relays, 0, drawn)
    found: dict[str, int] = {}
    if not os.path.exists(text):
        raise PlanError(f"{text!r} is neither a length nor a file: write 3, 0,3,2,…, random:9, or a file's name")
    try:
        content = read_whole(text).decode()
    except UnicodeDecodeError:
        raise PlanError(f"{spell_path(text)} is no list of lengths: it is not UTF-8") from None
    for number, line in enumerate(content.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2:
            raise PlanError(
                f"{spell_path(text)}, line {number}: write a node and its length, as in '{network.label(0)} 3'"
            )
        if words[0] in found:
            raise PlanError(f"{spell_path(text)}, line {number}: node {words[0]} has a length already")
        found[words[0]] = _length(words[1])
    return found


def _length(digits: str) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10 and int(digits) <= _MOST):
        raise PlanError(f"{digits!r} is no length: write whole numbers of flits from 0 to {_MOST:,}")
    return int(digits)
