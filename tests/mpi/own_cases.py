"""Run by mpirun: calls that treecast carries out, beside MPI's own, on arguments of every form. Rank 0 prints how many agree.

usage: own_cases.py OPTIONS [EXAMPLES [SEED]]: OPTIONS of ``wrap`` in JSON. All ranks draw the same calls, and
write their arguments each in its own way.
"""

import faulthandler
import json
import random
import sys

import numpy as np
from mpi4py import MPI

import treecast.mpi
from treecast.mpi.comm import wrapped

faulthandler.enable()
theirs = MPI.COMM_WORLD.Dup()
ours = treecast.mpi.wrap(MPI.COMM_WORLD, **json.loads(sys.argv[1]))
me, size = ours.rank, ours.size
examples = int(sys.argv[2]) if len(sys.argv) > 2 else 150
draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 11)
draw_own = random.Random(f"{me} {draw.random()}")  # for what ranks may write in different ways
wrong, done, straight = [], 0, 0
LEAST = 100  # bytes from which on calls go straight that survive nothing: in the midst of those below
wrapped.least_bytes = lambda near: dict.fromkeys(ours._least, LEAST)
ours._least = wrapped.least_bytes(near=True)

GAPS = MPI.LONG.Create_vector(2, 1, 2).Commit()
STRIDED = GAPS.Create_resized(0, 32).Commit()
TYPES = (None, MPI.LONG, "l", MPI.BYTE, "i", GAPS, STRIDED, MPI.DOUBLE_INT)
ROOTED = ("Gather", "Gatherv", "Scatter", "Scatterv")
ALIKE = ("Allgather", "Allgatherv", "Alltoall", "Alltoallv")


def memory(length, seed):
    return np.random.default_rng(seed).integers(0, 256, length, np.uint8)


def form(vector, counts, datatype):
    """Draw this rank's way of writing a message as a function of a buffer, of which it may take no more than it needs."""
    spell, fits = spelling(vector, counts, datatype), draw_own.random() < 0.5
    real = datatype if isinstance(datatype, MPI.Datatype) else MPI.Datatype.fromcode(datatype)
    entries = 3 + (max(counts) * len(counts) + size if isinstance(counts, list) else counts)
    return lambda b: spell(b[: entries * real.extent] if fits else b)


def spelling(vector, counts, datatype):
    """Draw one way of writing a message of ``counts`` entries for each rank (a number: in all) as a function of a buffer."""
    several = isinstance(counts, list)
    total = sum(counts) if several else counts
    place = draw_own.choice((None, 0, 1, 3))
    if not several:
        return draw_own.choice(
            (
                lambda b: [b, total, datatype],
                lambda b: (b, (total, place or 0), datatype),
                lambda b: [b, total, place, datatype],
                lambda b: [b, [total, place or 0], datatype],
            )
        )
    if not vector:
        each = counts[0]
        return draw_own.choice(
            (
                lambda b: [b, each, datatype],
                lambda b: [b, (each, place or 0), datatype],
                lambda b: [b, each, place, datatype],
            )
        )
    places = [sum(counts[:k]) + k for k in range(size)]
    stride = max(counts) + 1
    return draw_own.choice(
        (
            lambda b: [b, counts, datatype],
            lambda b: [b, counts, places, datatype],
            lambda b: [b, (counts, places), datatype],
            lambda b: [b, (counts, None), datatype],
            lambda b: (b, counts, stride, datatype),
            lambda b: [b, np.array(counts), np.array(places), datatype],
        )
    )


def spoiled(vector):
    """Draw a way to write it that mpi4py refuses, the same on all ranks."""
    # of vectors MPI itself does not look at these, and crashes
    checked = (lambda b: [None, 2, MPI.LONG], lambda b: [b, 1, -1, MPI.LONG], lambda b: [b, -1, MPI.LONG])
    return draw.choice(
        (
            *(() if vector else checked),
            lambda b: None,
            lambda b: 7,
            lambda b: [b, 1, 0, MPI.LONG, 5],
            lambda b: [b],
            lambda b: [b, 1, "no such type"],
            lambda b: np.zeros(4, ">f8"),
            lambda b: np.zeros(4 * size, object),
            lambda b: [b, [1] * (size + 1), MPI.LONG],
            lambda b: np.zeros((4, 4 * size))[:, ::2],
        )
    )


def outcome(comm, name, arguments, buffers):
    """Return what a call leaves in its buffers, or the type of what it raises."""
    try:
        getattr(comm, name)(*arguments)
    except Exception as error:
        return type(error).__name__
    return [buffer.tobytes() for buffer in buffers]


def compare(name, make, lengths, *more):
    """Make the same call on both communicators, on equal buffers."""
    global done, straight
    found = []
    for comm in (theirs, ours):
        buffers = [memory(length, 1000 * done + 10 * me + k) for k, length in enumerate(lengths)]
        found.append(outcome(comm, name, [*make(*buffers), *more], buffers))
    done, straight = done + 1, straight + (ours.last.way == "straight")
    if found[0] != found[1]:
        short = [each if isinstance(each, str) else "other bytes" for each in found]
        wrong.append((done, name, *short, ours.last.way))


ROOM = 1 << 14


def move():
    """Call something that moves data."""
    kind = draw.choice(("Bcast", *ROOTED, *ALIKE, "Alltoallw"))
    datatype, root = draw.choice(TYPES[1:]), draw.randrange(size)
    vector = kind.endswith("v")
    deal = [draw.randrange(5) for _ in range(size)] if vector else [draw.randrange(5)] * size
    if kind == "Bcast":
        spell = form(False, deal[0], datatype)
        compare(kind, lambda b: (spell(b),), (ROOM,), root)
    elif kind == "Alltoallw":
        types, counts = [draw.choice(TYPES[1:2] + TYPES[5:]) for _ in range(size)], deal
        mine, places = [types[(me + r) % size] for r in range(size)], [400 * r for r in range(size)]
        number = [counts[(me + r) % size] for r in range(size)]
        compare(kind, lambda a, b: ([a, number, places, mine], [b, (number, places), mine]), (ROOM, ROOM))
    elif kind in ROOTED:
        many, one = form(vector, deal, datatype), form(False, deal[me], datatype)
        scatters = kind.startswith("Scatter")
        in_place = draw.random() < 0.2 and me == root
        other = MPI.IN_PLACE if in_place else None
        if scatters:
            compare(kind, lambda a, b: (many(a) if me == root else None, other or one(b)), (ROOM, ROOM), root)
        else:
            compare(kind, lambda a, b: (other or one(a), many(b) if me == root else None), (ROOM, ROOM), root)
    else:
        within = draw.random() < 0.2
        if kind.startswith("Alltoall"):
            deal = [draw.randrange(5)] * size if not vector else deal
            there = [deal[me]] * size if vector else deal
            send, receive = form(vector, there if vector else deal, datatype), form(vector, deal, datatype)
            if within and vector:
                within = False
        else:
            send, receive = form(False, deal[me], datatype), form(vector, deal, datatype)
        if kind == "Alltoallv":
            # rank r sends deal[r] entries to each, and receives deal[s] from rank s
            compare(kind, lambda a, b: (send(a), receive(b)), (ROOM, ROOM))
        else:
            compare(kind, lambda a, b: (MPI.IN_PLACE if within else send(a), receive(b)), (ROOM, ROOM))


def refuse():
    """Call something that mpi4py refuses on every rank."""
    kind = draw.choice(("Bcast", "Allgather", "Allgatherv", "Alltoall", "Alltoallv"))
    bad, good = spoiled(kind.endswith("v")), (lambda b: [b, 1, MPI.LONG])
    if kind == "Bcast":
        compare(kind, lambda b: (bad(b),), (ROOM,))
    elif draw.random() < 0.5:
        compare(kind, lambda a, b: (bad(a), good(b)), (ROOM, ROOM))
    else:
        read_only = draw.random() < 0.1
        compare(kind, lambda a, b: (good(a), b.tobytes() if read_only else bad(b)), (ROOM, ROOM))


def first_of(a, b, _):
    """Keep what the lower rank says: associative, and not commutative."""
    b[:] = bytes(a)


OPS = (MPI.SUM, MPI.MAX, MPI.PROD, MPI.BXOR, MPI.Op.Create(first_of))


def add():
    """Call something that adds."""
    kind = draw.choice(("Allreduce", "Reduce", "Scan", "Exscan", "Reduce_scatter_block", "Reduce_scatter"))
    op, code = draw.choice(OPS), draw.choice("lidB?")
    count, root, within = draw.randrange(1, 9), draw.randrange(size), draw.random() < 0.25
    counts = [draw.randrange(3) for _ in range(size)]
    total = sum(counts) if kind == "Reduce_scatter" else count * size if kind.endswith("block") else count

    def numbers(buffer, number, code=code):
        view = buffer.view(code)[:number]
        view[:] = np.arange(number) % 2 + (buffer[:number] % 3)
        return view

    if kind == "Reduce":
        compare(
            kind,
            lambda a, b: (
                MPI.IN_PLACE if within and me == root else numbers(a, total),
                numbers(b, total) if me == root else None,
            ),
            (ROOM, ROOM),
            op,
            root,
        )
    elif kind == "Reduce_scatter":
        compare(
            kind,
            lambda a, b: (numbers(a, total), numbers(b, counts[me])),
            (ROOM, ROOM),
            draw.choice((None, counts)),
            op,
        )
    elif kind.endswith("block"):
        compare(kind, lambda a, b: (numbers(a, total), numbers(b, count)), (ROOM, ROOM), op)
    else:
        compare(kind, lambda a, b: (MPI.IN_PLACE if within else numbers(a, total), numbers(b, total)), (ROOM, ROOM), op)


def objects():
    """Call something that moves or adds objects, or is nonblocking."""
    global done
    root, things = draw.randrange(size), [{"of": me, "to": r, "data": "x" * draw.randrange(200)} for r in range(size)]
    text, number = f"<{me}>", me + draw.randrange(50)
    calls = {
        "bcast": (things, root),
        "gather": (text, root),
        "scatter": (things if me == root else None, root),
        "allgather": (things,),
        "alltoall": (things,),
        "reduce": (text, lambda a, b: a + b, root),
        "allreduce": (number, draw.choice((MPI.SUM, MPI.MAX))),
        "scan": (text, lambda a, b: a + b),
        "exscan": (number,),
        "barrier": (),
    }
    name = draw.choice([*calls])
    found = [getattr(comm, name)(*calls[name]) for comm in (theirs, ours)]
    done += 1
    if found[0] != found[1]:
        wrong.append((done, name, found))
    several = [np.full((3, 5), me), np.zeros((3, 5 * size), int)]
    for comm in (theirs, ours):
        requests = [comm.Iallgather(sent, place) for sent, place in zip(*several, strict=True)]
        MPI.Request.Waitall([comm.Ibarrier(), *requests])
        if not (several[1] == np.repeat(np.arange(size), 5)).all():
            wrong.append((done, "Iallgather", several[1].tolist()))
        several[1][:] = -1


for _ in range(examples):
    move()
    if draw.random() < 0.3:
        objects()
    if draw.random() < 0.4:
        refuse()
    if draw.random() < 0.5:
        add()
if (size > 1 and not straight) or (straight == done and not ours._straight):
    wrong.append(("straight", straight, done))
found = theirs.gather(wrong)
if me == 0:
    print(f"{done} calls agree" if not any(found) else f"WRONG: {found}", flush=True)
