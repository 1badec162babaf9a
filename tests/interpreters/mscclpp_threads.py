"""Plans of MSCCL++ carried out thread by thread: it finds what really goes wrong when threads are slow, and nothing else.

Each threadblock has two threads; each moves half of the bytes of every chunk. The k-th channel or semaphore of an
operation is for thread k modulo two. They go at speeds of their own and meet at ``nop`` alone. Buffers hold rubbish
at first, nothing may be put to a GPU that has not begun, and its output is what it holds when the last of its threads
has ended.
"""

from collections import Counter

import numpy as np

from tests.interpreters.mscclpp import Run, WrongError, pick


class Threads(Run):
    def __init__(self, data, kind, root=0, seed=1):
        super().__init__(data, kind, root, seed)
        rubbish = np.random.default_rng(seed + 99)
        for (g, buffer), size in self.size.items():
            for c in range(size):
                mine = self.memory.get((g, buffer, c))
                self.memory[g, buffer, c] = rubbish.integers(0, 256, 8, np.uint8) if mine is None else mine.copy()
        self.at = {(b, t): 0 for b in range(len(self.blocks)) for t in (0, 1)}
        self.left = Counter(self.blocks[b]["gpu"] for b, t in self.at)
        self.outputs = {g: {} for g in range(self.n) if not self.left[g]}

    def go(self, b, t):
        """Let a thread do its part of its next operation if it can; return whether."""
        block = self.blocks[b]
        op, g = block["ops"][self.at[b, t]], block["gpu"]
        name, own = op["name"], slice(4 * t, 4 * t + 4)
        if name == "nop":
            if self.at[b, 1 - t] < self.at[b, t]:
                return False
        elif name in ("put", "copy", "re"):
            sources = [self.memory[place][own].copy() for place in self.places(g, op["src_buff"])]
            targets = self.targets(block, op)
            if any(target[0] not in self.begun for target in targets if target[0] != g):
                raise WrongError("something is put to a gpu that has not begun")
            if name == "re":
                sources = [sum(sources[k :: len(targets)][1:], sources[k]) for k in range(len(targets))]
            for target, value in zip(targets, sources, strict=True):
                self.memory[target][own] = value
        elif not self.count(block, op, name, t):
            return False
        self.at[b, t] += 1
        return True

    def count(self, block, op, name, t):
        """Signal, release, wait or acquire; return whether the thread may go on."""
        g, keys = block["gpu"], []
        raises = name.endswith(("signal", "release"))
        for channel in op.get("channel_ids", ())[t::2]:
            peer, nth = pick(block["channels"], channel)
            keys.append((g, peer, nth) if raises else (peer, g, nth))
        for one in op.get("semaphore_ids", ())[t::2]:
            pick(self.semaphores[g], one)
            keys.append((g, one))
        need = Counter(keys)
        if not raises and any(self.counts[key] < count for key, count in need.items()):
            return False
        (self.counts.update if raises else self.counts.subtract)(need)
        return True

    def run(self):
        speed = {key: 10 ** self.random.uniform(-2, 0) for key in self.at}
        start = {g: self.random.choice((0, 0, 10, 100)) for g in range(self.n)}
        turn, idle = 0, 0
        while idle < 1000 and any(self.left.values()):
            turn += 1
            self.begun |= {g for g in start if start[g] <= turn}
            idle += 1
            for (b, t), fast in speed.items():
                block = self.blocks[b]
                if self.at[b, t] > len(block["ops"]) or block["gpu"] not in self.begun or self.random.random() > fast:
                    continue
                if self.at[b, t] < len(block["ops"]):
                    idle = 0 if self.go(b, t) else idle
                    continue
                self.at[b, t] += 1
                self.left[block["gpu"]] -= 1
                if not self.left[block["gpu"]]:
                    g = block["gpu"]
                    held = {c: self.memory[g, "o", c].copy() for c in range(self.size[g, "o"])}
                    self.outputs[g] = held
        if any(self.left.values()) or any(self.counts.values()):
            raise WrongError("some operations never end, or some signals are never awaited")
        for g in range(self.n):
            for offset, right in self.wanted(g):
                if not np.array_equal(self.outputs[g].get(offset), right):
                    raise WrongError(f"chunk {offset} of the output of gpu {g} is missing or wrong")


def wrong(data, kind, root=0, seeds=range(10)):
    """Return what goes wrong in some runs, or nothing."""
    try:
        for seed in seeds:
            Threads(data, kind, root, seed).run()
    except WrongError as error:
        return str(error)
    return ""
