"""SimGrid's time-independent traces, carried out on real bytes.

A line is RANK and ``init``, ``irecv SRC TAG BYTES``, ``isend DST TAG BYTES``, ``waitall``, ``compute N`` or ``finalize``.
Lines that begin with ``#`` are comments.
The n-th send of a source, destination and tag meets the n-th receive. Neither ends before the other is there.
A trace says no content: what the n-th message of an arc and step carries is looked up in the schedule's single sends.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field

from tests.interpreters.memory import Memory, WrongError, carried

NUMBERS = {"init": 0, "irecv": 3, "isend": 3, "waitall": 0, "compute": 1, "finalize": 0}


@dataclass(eq=False)
class Request:
    size: int
    sends: bool
    data: list = field(default_factory=list)
    done: bool = False


def parsed(data, rank):
    """Return the lines of a trace as (word, numbers)."""
    lines = []
    for line in data.decode().splitlines():
        if line.startswith("#"):
            continue
        first, word, *numbers = line.split(" ")
        if int(first) != rank or len(numbers) != NUMBERS.get(word, -1):
            raise WrongError(f"{line!r} is no line of rank {rank}")
        lines.append((word, [int(number) for number in numbers]))
    words = [word for word, _ in lines]
    if words[:1] != ["init"] or words[-1:] != ["finalize"] or {"init", "finalize"} & set(words[1:-1]):
        raise WrongError(f"the trace of rank {rank} does not go from init to finalize")
    return lines


class Replay:
    """The state of a replay; ``run`` carries it out."""

    def __init__(self, files, schedule, sizes):
        names = files["list.txt"].decode().split()
        self.ranks = [parsed(files[name], rank) for rank, name in enumerate(names)]
        if len(names) != schedule.network.nodes or len(files["hosts"].decode().split()) != len(names):
            raise WrongError("there is not one trace and one host for each node")
        self.memory, self.sizes = Memory(schedule.collective, sizes), sizes
        content = carried(schedule, lambda step, src, dst: (src, dst, step % 30_000))
        self.content = {key: deque(messages) for key, messages in content.items()}
        self.waiting = defaultdict(deque), defaultdict(deque)  # sends and receives that have not met
        self.open = [[] for _ in names]

    def run(self):
        place = [0] * len(self.ranks)
        moved = True
        while moved:
            moved = False
            for rank, lines in enumerate(self.ranks):
                while place[rank] < len(lines) and self.carry_out(rank, *lines[place[rank]]):
                    place[rank] += 1
                    moved = True
        blocked = [rank for rank, lines in enumerate(self.ranks) if place[rank] < len(lines)]
        if blocked:
            raise WrongError(f"ranks {blocked} wait for ever")
        if any(self.content.values()):
            raise WrongError("some messages of the schedule are never sent")
        self.memory.check()

    def carry_out(self, rank, word, numbers):
        """Carry out a line; return whether that is possible now."""
        if word == "isend":
            dst, tag, size = numbers
            if not self.content.get((rank, dst, tag)):
                raise WrongError(f"the schedule has no message from {rank} to {dst} at step {tag}")
            chunks = self.content[rank, dst, tag].popleft()
            if size != sum(self.sizes[chunk] for chunk in chunks):
                raise WrongError(f"{rank} sends chunks {chunks} as {size} bytes")
            data = [(chunk, self.memory.take(rank, chunk)) for chunk in chunks]
            self.post(rank, (rank, dst, tag), Request(size, True, data))
        elif word == "irecv":
            src, tag, size = numbers
            self.post(rank, (src, rank, tag), Request(size, False))
        elif word == "waitall":
            if not all(request.done for request in self.open[rank]):
                return False
            for request in self.open[rank]:
                for chunk, data in [] if request.sends else request.data:
                    self.memory.put(rank, chunk, data)
            self.open[rank] = []
        elif word == "finalize" and self.open[rank]:
            raise WrongError(f"{rank} ends with requests that it has not waited for")
        return True

    def post(self, rank, key, request):
        self.open[rank].append(request)
        out, into = self.waiting
        (out if request.sends else into)[key].append(request)
        if out[key] and into[key]:
            send, receive = out[key].popleft(), into[key].popleft()
            if send.size != receive.size:
                raise WrongError(f"{key}: {send.size} bytes are sent, {receive.size} awaited")
            send.done = receive.done = True
            receive.data = send.data


def interpret(files, schedule, sizes):
    """Carry out a folder of traces, {name: bytes}; raise WrongError when they do not deliver all that the schedule should."""
    Replay(files, schedule, sizes).run()
