"""Sends, receives and additions with what each requires, carried out on real bytes.

A send meets the receive of its source, destination and tag. What never ends is a deadlock. A send has only what has surely come:
what it requires, and what that requires. Content: the message of tag t from a to b carries what the t-th message from a to b of
the schedule carries.
"""

from collections import defaultdict

from tests.interpreters.memory import Memory, WrongError, carried


class Run:
    """What is carried out, in units of time: each message takes one, and an arc carries one at a time.

    ``ranks`` has for each rank {label: (word, peer, tag, bytes)}, of words ``send``, ``recv`` and ``calc``, and
    [(label, label that it requires)].
    """

    def __init__(self, ranks, schedule, sizes):
        self.ranks = ranks
        if len(self.ranks) != schedule.network.nodes:
            raise WrongError("there is not one rank for each node")
        self.sizes, self.memory = sizes, Memory(schedule.collective, sizes)
        self.content = defaultdict(list, carried(schedule, alone=True))
        self.left = sum(map(len, self.content.values()))
        self.waits = [defaultdict(list) for _ in self.ranks]
        self.receives = {}
        for rank, (operations, pairs) in enumerate(self.ranks):
            for label, other in pairs:
                self.waits[rank][label].append(other)
            for label, (word, peer, tag, size) in operations.items():
                if word == "recv" and self.receives.setdefault((peer, rank, tag), (label, size))[0] != label:
                    raise WrongError(f"rank {rank} awaits two messages of tag {tag} from {peer}")
        self.bit = [{label: 1 << i for i, label in enumerate(operations)} for operations, _ in self.ranks]
        self.past = {}  # of what has ended, all that it required, as bits: nothing else is sure to have come before
        self.ends, self.free = {}, defaultdict(int)
        self.came = [[] for _ in self.ranks]  # (bit of the receive, chunk, bytes)

    def run(self):
        todo = [(rank, label) for rank, (operations, _) in enumerate(self.ranks) for label in operations]
        time = 0
        while todo:
            left = [operation for operation in todo if not self.carried_out(*operation, time)]
            left = [operation for operation in left if operation not in self.ends]
            if len(left) == len(todo):  # nothing can be done now
                time += 1
                if time > max(self.ends.values(), default=0):
                    raise WrongError(f"{left[:3]} never end")
            todo = left
        if self.left or self.receives:
            raise WrongError("some messages are never sent")
        self.memory.check()
        return max(self.ends.values(), default=0)

    def ready(self, rank, label, time):
        """Whether all that an operation requires has ended; if so, note all that has come before it."""
        required = self.waits[rank][label]
        if any(self.ends.get((rank, other), time + 1) > time for other in required):
            return False
        past = 0
        for other in required:
            past |= self.past[rank, other] | self.bit[rank][other]
        self.past[rank, label] = past
        return True

    def carried_out(self, rank, label, time):
        """Carry out an operation if it can begin now, with the receive that it meets; return whether it could."""
        word, peer, tag, size = self.ranks[rank][0][label]
        if word == "recv" or (word == "send" and self.free[rank, peer] > time) or not self.ready(rank, label, time):
            return False
        if word == "calc":
            self.ends[rank, label] = time
            return True
        into, awaited = self.receives.pop((rank, peer, tag), (None, None))
        if into is None or not self.ready(peer, into, time):
            raise WrongError(f"rank {peer} awaits no message of tag {tag} from {rank}")
        messages = self.content[rank, peer]
        if tag >= len(messages) or not size == awaited == max(1, sum(self.sizes[chunk] for chunk in messages[tag])):
            raise WrongError(f"rank {rank} sends {size} bytes of tag {tag} to {peer}, which awaits {awaited}")
        known = [(chunk, data) for bit, chunk, data in self.came[rank] if bit & self.past[rank, label]]
        for chunk in messages[tag]:
            data = self.memory.take(rank, chunk, known)
            self.memory.put(peer, chunk, data)
            self.came[peer].append((self.bit[peer][into], chunk, data))
        self.free[rank, peer] = self.ends[rank, label] = self.ends[peer, into] = time + 1
        self.left -= 1
        return True
