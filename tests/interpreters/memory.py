"""What nodes hold while a file is interpreted: real bytes. Whoever sends what it has not got is found out."""

import numpy as np


class WrongError(Exception):
    """A file that does not do what it should."""


class Memory:
    """The bytes of the chunks of a collective at every node.

    A sum has a random contribution of each node, and is added byte by byte. So a contribution that is missing, or counted
    twice, makes another total.
    """

    def __init__(self, collective, sizes):
        random = np.random.default_rng(7)
        self.collective, self.sums = collective, collective.sums
        self.sizes = sizes
        draw = lambda chunk: random.integers(0, 256, max(sizes[chunk], 8), np.uint8)  # noqa: E731
        self.held, same = {}, {}
        for node, first, stop in collective.given():
            for chunk in range(
                first, stop
            ):  # all that have a chunk have the same, but of a sum each has its own contribution
                self.held[node, chunk] = draw(chunk) if chunk < self.sums else same.setdefault(chunk, draw(chunk))
        self.given = dict(self.held)
        if not self.sums:
            self.right = {chunk: data for (_, chunk), data in self.held.items()}
        else:
            zero = {chunk: np.zeros(max(sizes[chunk], 8), np.uint8) for chunk in range(self.sums)}
            for (_, chunk), data in self.held.items():
                zero[chunk] = zero[chunk] + data
            total = list(zero.values())
            self.right = dict(enumerate(total + (total if collective.results else [])))

    def take(self, node, chunk, known=None):
        """Return the bytes of a chunk that a node sends; a finished sum at its owner is what the owner has of the sum.

        Where nobody owns it, it is so at whoever has not been told it.

        ``known``: (chunk, bytes) of all that has surely come to the node; by default all that has come.
        """
        told = (node, chunk) in self.held if known is None else chunk in dict(known)
        name = self.name(node, chunk, told)
        found = self.held.get((node, name))
        if known is not None:
            found = self.given.get((node, name))
            for other, data in known:
                if other == name and (found is None or name < self.sums):
                    found = data if found is None else found + data
        if found is None:
            raise WrongError(f"node {node} sends chunk {chunk}, which it has not got")
        return found.copy()

    def name(self, node, chunk, told):
        """Return the chunk as which a node has one: a finished sum is at its owner the sum."""
        mine = not told if self.collective.shared else int(self.collective.source_of(chunk)) == node
        return chunk - self.sums if self.sums and chunk >= self.sums and mine else chunk

    def put(self, node, chunk, data):
        """Take in the bytes of a chunk: sums are added up, anything else is kept."""
        if chunk < self.sums and (node, chunk) in self.held:  # a relay has no contribution of its own
            self.held[node, chunk] = self.held[node, chunk] + data
        else:
            self.held[node, chunk] = data

    def check(self):
        """Raise WrongError unless every node has what it wants, byte by byte."""
        for node, first, stop in self.collective.wanted():
            for chunk in range(first, stop):
                found = self.held.get((node, self.name(node, chunk, (node, chunk) in self.held)))
                if found is None or not np.array_equal(found, self.right[chunk]):
                    raise WrongError(f"chunk {chunk} at node {node} is missing or wrong")


def carried(schedule, key=lambda step, src, dst: (src, dst), alone=False):
    """Return {key: chunks of each message, in order} from the single sends of a schedule, sorted by step, then tree.

    Where messages combine, what goes over an arc in a step is one message, unless rows are to stand ``alone``.
    """
    plain, found = schedule.plain(), {}
    rows = plain.rows
    for step in range(plain.steps):
        (sends,) = plain.expand(step, step + 1)
        messages = {}
        columns = (sends.src, sends.dst, sends.tree, sends.row, sends.chunk)
        for src, dst, tree, row, chunk in zip(*(column.tolist() for column in columns), strict=True):
            one = (src, dst) if plain.model.combining and not alone else (src, dst, tree, row)
            messages.setdefault(one, []).append(chunk)
        for row in np.flatnonzero(rows.control & (rows.step == step)).tolist():
            messages[int(rows.src[row]), int(rows.dst[row]), int(rows.tree[row]), row] = []
        for (src, dst, *_), chunks in sorted(messages.items()):
            found.setdefault(key(step, src, dst), []).append(chunks)
    return found
