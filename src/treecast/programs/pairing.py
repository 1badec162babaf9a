"""Which send meets which receive: rule ``pairs`` of programs with messages."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treecast.programs.program import RECEIVE, SEND, Program
from treecast.programs.verdict import Findings
from treecast.ragged import Ints, places


@dataclass(frozen=True, eq=False)
class Pairs:
    """The messages of a program: the n-th send of a source, destination and tag meets the n-th receive.

    ``send`` and ``receive``, int64 (messages,), are the operations that meet, in the order of the sends; ``alone`` meet nothing.
    """

    operations: int
    send: Ints
    receive: Ints
    alone: Ints

    @cached_property
    def sender(self) -> Ints:
        """The operation that sends the message of each of all operations; -1: none."""
        found = np.full(self.operations, -1, np.int64)
        found[self.receive] = self.send
        return found


def find_pairs(program: Program) -> Pairs:
    """Return which send meets which receive."""
    sends, receives = np.flatnonzero(program.does(SEND)), np.flatnonzero(program.does(RECEIVE))
    ends = [(program.rank[sends], program.to[sends]), (program.source[receives], program.rank[receives])]
    moves = np.concatenate([sends, receives])
    receiving = np.arange(len(moves)) >= len(sends)
    columns = [np.concatenate(column) for column in zip(*ends, strict=True)]
    key = np.unique(np.stack([*columns, program.tag[moves]]), axis=1, return_inverse=True)[1].reshape(-1)
    turn = np.lexsort([moves, receiving, key])
    nth = np.empty(len(moves), np.int64)
    nth[turn] = places(np.bincount(key * 2 + receiving, minlength=2 * (int(key.max(initial=-1)) + 1)))
    order = np.lexsort([receiving, nth, key])
    key, nth, moves, receiving = key[order], nth[order], moves[order], receiving[order]
    meets = np.zeros(len(moves), np.bool_)
    meets[:-1] = ~receiving[:-1] & receiving[1:] & (key[:-1] == key[1:]) & (nth[:-1] == nth[1:])
    first = np.flatnonzero(meets)
    alone = np.ones(len(moves), np.bool_)
    alone[first] = alone[first + 1] = False
    by_send = np.argsort(moves[first])
    return Pairs(len(program), moves[first][by_send], moves[first + 1][by_send], np.unique(moves[alone]))


def judge_pairs(found: Findings, program: Program, pairs: Pairs, unit: str) -> bool:
    """Judge ``pairs``; ``unit``: the unit of the sizes of messages. Return whether it is kept."""
    found.these("pairs", pairs.alone, lambda one: "it meets nothing at the other end", program.where)
    size, sender = program.size, pairs.sender
    differs = pairs.receive[size[pairs.send] != size[pairs.receive]]
    found.these(
        "pairs",
        np.sort(differs),
        lambda one: (
            f"it awaits {size[one]:,} {unit}, and {program.spell(int(sender[one]))} sends {size[sender[one]]:,}"
        ),
        program.where,
    )
    return found.judged("pairs")
