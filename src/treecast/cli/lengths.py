"""How lengths are written on the command line: one number, a list, random ones, or a file of them."""

import os
import re
from collections.abc import Mapping
from io import BytesIO

import numpy as np

from treecast.errors import PlanError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.writing import read_whole, spell_path

_MOST = 2**31 - 1


def parse_lengths(network: Network, text: str, seed: int = 0, *, pairs: bool = False) -> int | Ints | Mapping[str, int]:
    """Return the lengths that ``text`` spells: ``3``, ``0,3,2,…`` (by node), ``random:9`` (0 to 9 each), or a file's name.

    A file has a node and its length a line; ``#`` begins a comment. Where there is a length for each pair of nodes, numbers go
    row by row, and a file has a row a line, or is an array of numpy (``.npy``). Raises PlanError when it spells none.
    """
    # In this order: numbers, a draw, a file. So a file that is called "3" is written ./3.
    if re.fullmatch(r"[-+.,\s0-9]+", text):
        numbers = [_length(part.strip()) for part in text.split(",")]
        return numbers[0] if len(numbers) == 1 else np.array(numbers, np.int64)
    kind, colon, most = text.partition(":")
    if kind == "random" and colon:
        shape = (network.nodes,) * (1 + pairs)
        drawn = np.random.default_rng(seed).integers(0, _length(most), shape, endpoint=True)
        # Relays send nothing: their lengths are 0 along each axis.
        for axis in range(0 if network.relays is None else len(shape)):
            drawn[(slice(None),) * axis + (network.relays,)] = 0
        return drawn
    if not os.path.exists(text):
        contents = "a row of lengths a line, or .npy" if pairs else "a node and its length a line"
        raise PlanError(
            f"{text!r} is neither a length nor a file: write 3, 0,3,2,…, random:9, or a file's name ({contents})"
        )
    return read_matrix(text) if pairs else _by_node(network, text)


def read_matrix(text: str) -> Ints:
    """Return the matrix in a file: rows of numbers with commas, semicolons or blanks between them, or an array of numpy."""
    content = read_whole(text)
    if content.startswith(b"\x93NUMPY"):  # as every .npy file begins
        try:
            found: Ints = np.load(BytesIO(content), allow_pickle=False)
        except ValueError as error:
            raise PlanError(f"{spell_path(text)} is no array of numbers: {error}") from None
        if found.ndim != 2 or found.dtype.kind not in "iu":
            raise PlanError(
                f"{spell_path(text)} is no matrix of whole numbers: it has shape {found.shape}, {found.dtype}"
            )
        return found
    lines = enumerate(re.sub("[,;]", " ", text_of(content, text)).splitlines(), 1)
    words = [(f"{spell_path(text)}, line {number}: ", line.partition("#")[0].split()) for number, line in lines]
    rows = [[_length(word, where) for word in row] for where, row in words if row]
    # a file without rows has no width at all, and is refused as well
    if len({len(row) for row in rows}) != 1:
        raise PlanError(f"{spell_path(text)} is no matrix: write as many lengths in each line")
    return np.array(rows, np.int64)


def text_of(content: bytes, name: str, noun: str = "list of lengths") -> str:
    """Return the text of a file; errors call it by the noun."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise PlanError(f"{spell_path(name)} is no {noun}: it is not UTF-8") from None


def _by_node(network: Network, text: str) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for number, line in enumerate(text_of(read_whole(text), text).splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2:
            raise PlanError(
                f"{spell_path(text)}, line {number}: write a node and its length, as in '{network.label(0)} 3'"
            )
        if words[0] in found:
            raise PlanError(f"{spell_path(text)}, line {number}: node {words[0]} has a length already")
        found[words[0]] = _length(words[1], f"{spell_path(text)}, line {number}: ")
    return found


def _length(digits: str, where: str = "") -> int:
    # ten digits at most, so that int() reads no endless text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10 and int(digits) <= _MOST):
        raise PlanError(f"{where}{digits!r} is no length: write whole numbers of flits from 0 to {_MOST:,}")
    return int(digits)
