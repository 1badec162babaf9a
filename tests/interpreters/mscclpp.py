"""Plans of MSCCL++ in JSON, carried out on real bytes.

A GPU has buffers i, o, s of so many chunks; channels to others, of which the n-th to a GPU is joined with the n-th of
that GPU back; remote buffers (rank, type); semaphores. Ids in a threadblock's operations are places in its own lists:
of its channels, which are places in the GPU's, and of its remote buffers. ``put`` copies to a remote buffer.
``signal`` raises the channel's count at the other end, ``wait`` waits for it and lowers it. ``sem_release`` and
``sem_acquire`` do so within a GPU. ``rlxsignal`` and ``rlxwait`` do as these, and tell nothing of data. ``copy``
copies, ``re`` adds up its sources. Only ``nop`` lets all threads of a block meet: what was put, copied or added
before a signal or release needs one between, and so does what is put, copied or added behind a wait or acquire.
Nothing is put to a GPU that has not begun. Threadblocks take turns by chance.
"""

import json
import random
from collections import Counter

import numpy as np

from tests.interpreters.memory import WrongError

MOST_OPS, MOST_CHANNELS, MOST_AT_ONCE, MOST_SEMAPHORES = 64, 16, 8, 16
WORDS = {"put", "nop", "signal", "wait", "rlxsignal", "rlxwait", "copy", "re", "sem_release", "sem_acquire"}
TOP = {
    "name", "collective", "protocol", "inplace", "num_threads_per_block", "use_double_scratch_buffer", "buffer_alignment",
    "min_message_size", "max_message_size", "gpus",
}  # fmt: skip


def pick(table, place):
    if type(place) is not int or not 0 <= place < len(table):
        raise WrongError(f"{place} is no place in a list of {len(table)}")
    return table[place]


class Run:
    def __init__(self, data, kind, root=0, seed=1):
        found = json.loads(data)
        if not set(found) >= TOP or found["protocol"] not in ("Simple", "LL") or found["inplace"]:
            raise WrongError("the plan lacks something")
        self.gpus, self.random, self.kind, self.root = found["gpus"], random.Random(seed), kind, root
        n = self.n = len(self.gpus)
        self.memory, self.size, self.peers = {}, {}, []
        self.begun = set()
        self.counts, self.semaphores = Counter(), {}
        self.loop = max(max(gpu["input_chunks"], gpu["output_chunks"]) for gpu in self.gpus)
        self.data = np.random.default_rng(5).integers(0, 256, (n, self.loop, 8), np.uint8)
        for g, gpu in enumerate(self.gpus):
            if gpu["id"] != g:
                raise WrongError("a gpu's id is not its place")
            for buffer, name in (("i", "input"), ("o", "output"), ("s", "scratch")):
                self.size[g, buffer] = gpu[f"{name}_chunks"]
            for c in range(gpu["input_chunks"]):
                self.memory[g, "i", c] = self.data[g, c]
            peers = [peer for channel in gpu["channels"] for peer in channel["connected_to"]]
            self.peers.append([(peer, peers[:k].count(peer)) for k, peer in enumerate(peers)])
            if len(gpu["semaphores"]) > MOST_SEMAPHORES:
                raise WrongError("too many semaphores")
            self.semaphores[g] = [one["init_value"] for one in gpu["semaphores"]]
        self.blocks = [
            self.block(g, block, k) for g in range(n) for k, block in enumerate(self.gpus[g]["threadblocks"])
        ]

    def block(self, g, block, place):
        ids = [one for channel in block["channels"] for one in channel["channel_ids"]]
        remote = [one for refs in block["remote_buffer_refs"] for one in refs["remote_buffer_ids"]]
        ops = block["ops"]
        if (
            block["id"] != place
            or len(ops) > MOST_OPS
            or len(ids) > MOST_CHANNELS
            or {op["name"] for op in ops} - WORDS
        ):
            raise WrongError("a threadblock passes a limit")
        if any(len(op.get("channel_ids", ())) > MOST_AT_ONCE for op in ops):
            raise WrongError("an operation has too many channels")
        channels = [pick(self.peers[g], one) for one in ids]
        remotes = [pick(self.gpus[g]["remote_buffers"], one) for one in remote]
        return {"gpu": g, "ops": ops, "channels": channels, "remote": remotes, "at": 0, "wrote": False, "came": False}

    def places(self, g, buffers):
        return [place for one in buffers for place in self.range(g, one["type"], one)]

    def range(self, g, kind, one):
        if one["size"] < 1 or not 0 <= one["index"] <= self.size[g, kind] - one["size"]:
            raise WrongError(f"{one} lies outside of a buffer of gpu {g}")
        return [(g, kind, one["index"] + k) for k in range(one["size"])]

    def read(self, place):
        if place not in self.memory:
            raise WrongError(f"{place} is read, where nothing was written")
        return self.memory[place]

    def targets(self, block, op):
        """Return where an operation writes: for a put in a remote buffer, which its channel must lead to."""
        if op["name"] != "put":
            return self.places(block["gpu"], op["dst_buff"])
        found = []
        for channel, one in zip(op["channel_ids"], op["dst_buff"], strict=True):
            remote = pick(block["remote"], one["buffer_id"])
            if (
                pick(block["channels"], channel)[0] != remote["rank"]
                or op["channel_type"] not in remote["access_channel_types"]
            ):
                raise WrongError("a channel leads elsewhere than its buffer")
            found += self.range(remote["rank"], remote["type"], one)
        return found

    def done(self, block):
        """Carry out the next operation of a threadblock if it can be; return whether."""
        op, g = block["ops"][block["at"]], block["gpu"]
        name = op["name"]
        if name == "nop":
            block["wrote"] = block["came"] = False
        elif name in ("put", "copy", "re"):
            if block["came"]:
                raise WrongError("threads go on before all have seen what came")
            sources = [self.read(place) for place in self.places(g, op["src_buff"])]
            targets = self.targets(block, op)
            if name == "re":
                count = len(targets)
                sources = [sum(sources[k::count][1:], sources[k]) for k in range(count)]
            if any(target[0] not in self.begun for target in targets if target[0] != g):
                raise WrongError("something is put to a gpu that has not begun")
            for target, value in zip(targets, sources, strict=True):
                self.memory[target] = value
            block["wrote"] = True
        elif name in ("signal", "wait", "rlxsignal", "rlxwait"):
            for channel in op["channel_ids"]:
                peer, nth = pick(block["channels"], channel)
                key = (g, peer, nth) if name.endswith("signal") else (peer, g, nth)
                if name.endswith("wait") and not self.counts[key]:
                    return False
                self.counts[key] += 1 if name.endswith("signal") else -1
            block["came"] |= name.endswith("wait")
        else:
            need = Counter(op["semaphore_ids"])
            if name == "sem_acquire" and any(pick(self.semaphores[g], one) < count for one, count in need.items()):
                return False
            for one, count in need.items():
                pick(self.semaphores[g], one)
                self.semaphores[g][one] += count if name == "sem_release" else -count
            block["came"] |= name == "sem_acquire"
        if name in ("signal", "sem_release") and block["wrote"]:
            raise WrongError("others are told before all threads have written")
        block["at"] += 1
        self.begun.add(g)
        return True

    def run(self):
        going = True
        while going:
            going = False
            self.random.shuffle(self.blocks)
            for block in self.blocks:
                most = self.random.choice((1, 2, 1000))
                while most and block["at"] < len(block["ops"]) and self.done(block):
                    most, going = most - 1, True
        if any(block["at"] < len(block["ops"]) for block in self.blocks) or any(self.counts.values()):
            raise WrongError("some operations never end, or some signals are never awaited")
        for g in range(self.n):
            for offset, right in self.wanted(g):
                if offset >= self.size[g, "o"] or not np.array_equal(self.memory.get((g, "o", offset)), right):
                    raise WrongError(f"chunk {offset} of the output of gpu {g} is missing or wrong")

    def wanted(self, g):
        n, data, share = self.n, self.data, self.loop // self.n
        total = data.sum(axis=0, dtype=np.uint8)
        if self.kind == "allgather":
            yield from ((h * share + c, data[h, c]) for h in range(n) for c in range(share))
        elif self.kind == "alltoall":
            yield from ((h * share + c, data[h, g * share + c]) for h in range(n) for c in range(share))
        elif self.kind == "broadcast":
            yield from ((c, data[self.root, c]) for c in range(self.loop))
        elif self.kind in ("allreduce", "reduce-broadcast") or (self.kind == "reduce" and g == self.root):
            yield from ((c, total[c]) for c in range(self.loop))
        elif self.kind == "reduce-scatter":
            yield from ((c, total[g * share + c]) for c in range(share))
        elif self.kind == "scatter":
            yield from ((g * share + c, data[self.root, g * share + c]) for c in range(share))
        elif self.kind == "gather" and g == self.root:
            yield from ((h * share + c, data[h, h * share + c]) for h in range(n) for c in range(share))


def interpret(data, kind, root=0, seeds=(1,)):
    """Carry out a plan in some orders. Raise WrongError when it does not deliver all that it should."""
    for seed in seeds:
        Run(data, kind, root, seed).run()
