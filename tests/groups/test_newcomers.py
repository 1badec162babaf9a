"""A rank that dies and is taken in again, in any order of messages: it gets what the others have, and calls go on with all."""

import random
from collections import deque

import numpy as np
import pytest

from tests.groups.scheduler import EOF, Net, Node, bytes_of
from treecast.running.algorithms import spread, sums
from treecast.running.groups.group import Group
from treecast.running.groups.terms import Terms
from treecast.running.groups.unlike import called
from treecast.running.transport.base import FrameKind

KINDS = (
    FrameKind.STATE,
    FrameKind.DECIDED,
    FrameKind.FETCH,
    FrameKind.ENDED,
    FrameKind.FENCE,
    FrameKind.LEFT,
    FrameKind.BYE,
    FrameKind.UNLIKE,
)
TOGETHER = 3  # calls that all make in the end


class Story:
    """Ranks that make calls; one dies at a time drawn by chance, and comes back when the others have found that out."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.size = self.rng.randint(2, 5)
        self.victim, self.net = self.rng.randrange(self.size), Net(self.size)
        self.waits, self.steps, self.groups, self.results = {}, {}, {}, {}
        self.is_new, self.before = False, {rank: deque() for rank in range(self.size) if rank != self.victim}
        """What the dead has sent to those who have not taken it in again yet."""
        for rank in range(self.size):
            self.begin(rank, self.old(rank))

    def begin(self, rank, steps):
        node = self.net.nodes[rank]
        group = self.groups[rank] = Group(node, range(self.size), terms=Terms(self.size, None))
        for kind in KINDS:
            node.on(kind, group.hear)
        node.watch(group.lose)
        self.steps[rank], self.waits[rank] = steps, lambda: True

    def old(self, rank):
        """Make calls until the victim is out at all, take it in, and go on with it."""
        group = self.groups[rank]
        while self.victim in group.agreement.members:
            yield from called(group, sums.barrier(group))
        self.come_back(group.agreement)
        self.net.nodes[rank].lost.pop(self.victim, None)  # the new connection takes the place of the old one
        self.net.lanes[rank, self.victim].clear()
        self.net.long[rank, self.victim].clear()
        del self.before[rank]
        group.agreement.admit([self.victim])
        yield from self.all_of(rank, bytes_of(np.arange(9)), False)

    def come_back(self, agreement):
        """Have the victim begin anew, in the first of these calls of the others."""
        if self.is_new:
            return
        self.is_new = True
        for rank in self.before:
            self.before[rank], self.net.lanes[self.victim, rank] = self.net.lanes[self.victim, rank], deque()
        self.net.nodes[self.victim] = Node(self.net, self.victim)
        self.begin(self.victim, self.new())
        members = sorted({*agreement.members, self.victim})
        self.groups[self.victim].agreement.join(members, agreement.number)

    def new(self):
        yield from self.all_of(self.victim, bytes_of(np.zeros(9, np.int64)), True)

    def all_of(self, rank, data, is_new):
        group = self.groups[rank]
        yield from called(group, spread.share(group, data, is_new))
        found = [np.frombuffer(data, np.int64).tolist()]
        for _ in range(TOGETHER):
            places = [memoryview(bytearray(1)) for _ in range(self.size)]
            failed = yield from called(group, spread.allgather(group, bytes([rank]), places))
            found.append((failed, [place[0] for place in places]))
        self.results[rank] = found

    def go_on(self, rank):
        while rank in self.steps and self.waits[rank]():
            try:
                self.waits[rank] = next(self.steps[rank])
            except StopIteration:
                del self.steps[rank]

    def die(self):
        del self.steps[self.victim]
        for other in range(self.size):
            if other != self.victim:
                lane = self.net.lanes[self.victim, other]
                for _ in range(self.rng.randint(0, len(lane))):
                    lane.pop()
                lane.append(EOF)
                self.net.long[self.victim, other].clear()

    def run(self):
        death, pairs = self.rng.randrange(40), list(self.net.lanes)
        for turn in range(5000):
            if turn == death:
                self.die()
            for rank in range(self.size):
                self.go_on(rank)
            ready = [
                (a, b, what)
                for a, b in self.rng.sample(pairs, len(pairs))
                for what in self.net.deliverable(a, b)
                if b in self.steps
                and not (
                    self.is_new and ((a == self.victim and b in self.before) or (b == self.victim and a in self.before))
                )
            ]
            late = [rank for rank, lane in self.before.items() if self.is_new and lane]
            if late and (not ready or self.rng.random() < 0.2):
                rank = self.rng.choice(late)
                self.net.nodes[rank].take(self.victim, self.before[rank].popleft())
            elif ready:
                self.net.deliver(*self.rng.choice(ready))
            elif turn > death and not self.steps:
                break
        return self.results


@pytest.mark.parametrize("seeds", range(0, 80, 40))
def test_who_comes_back_gets_what_the_others_have_and_takes_part(seeds):
    for seed in range(seeds, seeds + 40):
        story = Story(seed)
        results = story.run()
        whole = [list(range(9)), *[((), list(range(story.size)))] * TOGETHER]
        assert results == dict.fromkeys(range(story.size), whole), (seed, results)
