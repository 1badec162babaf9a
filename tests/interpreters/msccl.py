"""MSCCL XML, carried out on real bytes.

A threadblock takes its steps in order. ``s`` sends what is at src; ``r`` puts what comes at dst; ``rcs`` does so and sends it on;
``rrc`` puts what comes plus src at dst; ``rrs`` sends that sum, ``rrcs`` does both; ``cpy`` copies src to dst, ``re`` adds src to
dst, ``nop`` only waits. A step of cnt c does so c times, for places one behind the other. Before a step with depid and deps
begins, that threadblock of its GPU must have passed a step with hasdep=1 that is not before deps. Between two GPUs each channel
holds 2 chunks (Simple) or 8. Threadblocks take turns by chance, so that what is not ordered comes in many orders.
"""

import random
import xml.etree.ElementTree as ET
from collections import defaultdict, deque

import numpy as np

from tests.interpreters.memory import WrongError

ROOM = {"Simple": 2, "LL": 8, "LL128": 8}
TAKES = {"r", "rcs", "rrc", "rrs", "rrcs"}
GIVES = {"s", "rcs", "rrs", "rrcs"}
READS = {"s", "rrc", "rrs", "rrcs", "cpy", "re"}
STORES = {"r", "rcs", "rrc", "rrcs", "cpy", "re"}
ADDS = {"rrc", "rrs", "rrcs", "re"}


class Block:
    def __init__(self, gpu, element):
        number = lambda name: int(element.get(name))  # noqa: E731
        self.gpu, self.send, self.recv, self.chan = gpu, number("send"), number("recv"), number("chan")
        self.steps = [dict(step.attrib) for step in element.findall("step")]
        for at, step in enumerate(self.steps):
            for name in ("s", "srcoff", "dstoff", "cnt", "depid", "deps", "hasdep"):
                step[name] = int(step[name])
            if (
                step["s"] != at
                or step["type"] not in READS | STORES | {"nop"}
                or {step["srcbuf"], step["dstbuf"]} - set("ios")
            ):
                raise WrongError("no step")
        self.at, self.unit, self.flag = 0, 0, -1


class Run:
    """A file that is carried out; ``kind``: what it should do, else as it says."""

    def __init__(self, data, kind=None, root=0, inplace=False, seed=1):
        self.random, self.inplace = random.Random(seed), inplace
        algo = ET.fromstring(data)
        self.n, self.loop = int(algo.get("ngpus")), int(algo.get("nchunksperloop"))
        self.kind, self.root, self.share = kind or algo.get("coll"), root, self.loop // self.n
        self.room = ROOM[algo.get("proto")]
        self.size, self.memory, self.blocks, self.queue = {}, {}, {}, defaultdict(deque)
        for gpu in algo.findall("gpu"):
            g = int(gpu.get("id"))
            for buffer in "ios":
                self.size[g, buffer] = int(gpu.get(f"{buffer}_chunks"))
            for element in gpu.findall("tb"):
                self.blocks[g, int(element.get("id"))] = Block(g, element)
        if sorted({g for g, _ in self.size}) != list(range(self.n)) or self.n < 1:
            raise WrongError("not the gpus that it says")
        self.data = np.random.default_rng(3).integers(0, 256, (self.n, self.loop, 8), np.uint8)
        first = self.share if self.kind == "allgather" else self.loop
        for g in range(self.n):
            for c in range(first if inplace else self.size[g, "i"]):
                self.memory[self.place(g, "i", c)] = self.data[g, c]

    def place(self, g, buffer, offset):
        """Return where a place is: in place, input and output are one buffer."""
        if self.inplace and buffer != "s":
            own = (buffer == "i" and self.kind == "allgather") or (buffer == "o" and self.kind == "reduce_scatter")
            return g, "io", offset + own * g * self.share
        return g, buffer, offset

    def at(self, block, step, side):
        offset = step[f"{side}off"] + block.unit
        if not 0 <= offset < self.size[block.gpu, step[f"{side}buf"]]:
            raise WrongError("outside of a buffer")
        return self.place(block.gpu, step[f"{side}buf"], offset)

    def read(self, place):
        if place not in self.memory:
            raise WrongError(f"{place} is read, where nothing was written")
        return self.memory[place]

    def moved(self, block):
        """Move one chunk of a block's step if it can be; return whether anything has happened."""
        step = block.steps[block.at]
        kind = step["type"]
        if block.unit == 0 and step["depid"] >= 0:
            other = self.blocks.get((block.gpu, step["depid"]))
            if other is None or other.flag < step["deps"]:
                return False
        if kind != "nop":
            into, out = self.queue[block.recv, block.gpu, block.chan], self.queue[block.gpu, block.send, block.chan]
            if (kind in TAKES and (block.recv < 0 or not into)) or (
                kind in GIVES and (block.send < 0 or len(out) >= self.room)
            ):
                return False
            value = self.read(self.at(block, step, "src")) if kind in READS else None
            if kind in TAKES:
                came = into.popleft()
                value = came + value if kind in ADDS else came
            elif kind == "re":
                value = value + self.read(self.at(block, step, "dst"))
            if kind in STORES:
                self.memory[self.at(block, step, "dst")] = value
            if kind in GIVES:
                out.append(value)
            block.unit += 1
        if kind == "nop" or block.unit >= step["cnt"]:
            block.flag = step["s"] if step["hasdep"] == 1 else block.flag
            block.at, block.unit = block.at + 1, 0
        return True

    def run(self):
        blocks = list(self.blocks.values())
        going = True
        while going:
            going = False
            self.random.shuffle(blocks)
            for block in blocks:
                most = self.random.choice((1, 2, 1000))
                while most and block.at < len(block.steps) and self.moved(block):
                    most, going = most - 1, True
        if any(block.at < len(block.steps) for block in blocks) or any(self.queue.values()):
            raise WrongError("some steps never end, or some chunks are never received")
        for g in range(self.n):
            for offset, right in self.wanted(g):
                place = self.place(g, "o", offset)
                if not self.inplace and offset >= self.size[g, "o"]:
                    raise WrongError("the output is too short")
                if place not in self.memory or not np.array_equal(self.memory[place], right):
                    raise WrongError(f"{place} is missing or wrong")

    def wanted(self, g):
        """Yield the places of a GPU's output that must be right, and what must be there."""
        loop, share, data, total = self.loop, self.share, self.data, self.data.sum(axis=0, dtype=np.uint8)
        if self.kind == "allgather":
            yield from ((h * share + c, data[h, c]) for h in range(self.n) for c in range(share))
        elif self.kind == "alltoall":
            yield from ((h * share + c, data[h, g * share + c]) for h in range(self.n) for c in range(share))
        elif self.kind == "broadcast":
            yield from ((c, data[self.root, c]) for c in range(loop))
        elif self.kind == "allreduce" or (self.kind == "reduce" and g == self.root):
            yield from ((c, total[c]) for c in range(loop))
        elif self.kind == "reduce_scatter":
            yield from ((c, total[g * share + c]) for c in range(share))
        elif self.kind == "scatter":
            yield from ((g * share + c, data[self.root, g * share + c]) for c in range(share))
        elif self.kind == "gather" and g == self.root:
            yield from ((h * share + c, data[h, h * share + c]) for h in range(self.n) for c in range(share))


def interpret(data, kind=None, root=0, inplace=False, seeds=(1,)):
    """Carry out a file in some orders. Raise WrongError when it does not deliver all that it should."""
    for seed in seeds:
        Run(data, kind, root, inplace, seed).run()
