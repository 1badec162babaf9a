"""The collectives that the tests call, each with its data and with what has to come: made anew from numbers, without treecast."""

import hashlib
import random
from array import array

from mpi4py import MPI

from treecast.running.algorithms import personal, spread, sums
from treecast.running.groups.shape import Shape


def bytes_of(salt, source, target, size):
    return random.Random(f"{salt} {source} {target}").randbytes(size)


class Job:
    """A call: ``run`` makes it, ``wrong`` names what is not as it must be without ``failed`` ranks."""

    def __init__(self, call, size, root, salt):
        self.call, self.group, self.size, self.root, self.salt = call, call.group, size, root, salt
        self.me, self.ranks = call.rank, range(call.size)
        self.here = self.me == root
        self.prepare()

    def prepare(self):
        raise NotImplementedError

    def steps(self):
        raise NotImplementedError

    def run(self):
        return self.call.run(self.steps())

    def size_of(self, source, target):
        return self.size

    def data(self, source, target=0):
        return bytes_of(self.salt, source, target, self.size_of(source, target))

    def room(self, source, target=0):
        return bytearray(self.size_of(source, target))

    def expected(self, failed):
        """Return pairs of what is here and what has to be here."""
        raise NotImplementedError

    def wrong(self, failed):
        return [place for place, (found, wanted) in enumerate(self.expected(failed)) if bytes(found) != bytes(wanted)]

    def digest(self):
        return ""


class Broadcast(Job):
    buffer = None

    def prepare(self):
        self.buffer = bytearray(self.data(self.root)) if self.here else self.room(self.root)

    def steps(self):
        return spread.broadcast(self.group, self.buffer, self.root)

    def expected(self, failed):
        return [(self.buffer, self.data(self.root))]


class Allgather(Job):
    mine = blocks = None

    def prepare(self):
        self.blocks = [self.room(r) for r in self.ranks]
        self.mine = self.data(self.me)

    def steps(self):
        return spread.allgather(self.group, self.mine, self.blocks)

    def expected(self, failed):
        return [(self.blocks[r], self.data(r)) for r in self.ranks if r not in failed]


class Allgatherv(Allgather):
    def size_of(self, source, target):
        return self.size // (source + 1)


class Alltoall(Job):
    outgoing = incoming = None
    equal = True

    def prepare(self):
        self.outgoing = [self.data(self.me, r) for r in self.ranks]
        self.incoming = [self.room(r, self.me) for r in self.ranks]

    def steps(self):
        return personal.alltoall(self.group, self.outgoing, self.incoming, self.equal)

    def expected(self, failed):
        return [(self.incoming[r], self.data(r, self.me)) for r in self.ranks if r not in failed]


class Alltoallv(Alltoall):
    equal = False

    def size_of(self, source, target):
        return self.size // (1 + abs(source - 2 * target)) * (source != target)


class Scatter(Job):
    outgoing = mine = None

    def prepare(self):
        self.outgoing = [self.data(self.root, r) for r in self.ranks] if self.here else None
        self.mine = self.room(self.root, self.me)

    def steps(self):
        return personal.scatter(self.group, self.outgoing, self.mine, self.root)

    def expected(self, failed):
        return [(self.mine, self.data(self.root, self.me))]


class Gather(Job):
    mine = incoming = None

    def size_of(self, source, target):
        return self.size // (source + 1)

    def prepare(self):
        self.mine = self.data(self.me)
        self.incoming = [self.room(r) for r in self.ranks] if self.here else None

    def steps(self):
        return personal.gather(self.group, self.mine, self.incoming, self.root)

    def expected(self, failed):
        return [(self.incoming[r], self.data(r)) for r in self.ranks if r not in failed] if self.here else []


class Sum(Job):
    """Of floating-point numbers whose sum depends on the order: any other fold, or another set of ranks, has other bits."""

    mine = out = how = None
    in_place = False

    def numbers(self, rank):
        source = random.Random(f"{self.salt} {rank} sum")
        scale = [source.uniform(-1, 1) * 10 ** source.randrange(9) for _ in range(257)]
        return array("d", [scale[k % 257] for k in range(self.size // 8)])

    def prepare(self):
        mine = self.numbers(self.me)
        self.how = sums.Sums(MPI.DOUBLE, MPI.SUM, len(mine))
        self.mine = mine.tobytes()
        self.out = memoryview(bytearray(self.mine if self.in_place else len(self.mine)))

    def given(self):
        return None if self.in_place else self.mine

    def steps(self):
        return sums.allreduce(self.group, self.given(), self.out, self.how)

    def contributors(self, failed):
        return [r for r in self.ranks if r not in failed]

    def fold(self, failed):
        """Return the sum of those who have not failed, from the left."""
        total = None
        for rank in self.contributors(failed):
            mine = self.numbers(rank)[:257]  # they come again and again
            total = mine if total is None else array("d", [a + b for a, b in zip(total, mine, strict=True)])
        return total

    def expected(self, failed):
        total = self.fold(failed)
        if total is None:
            return [(self.out, bytes(self.size // 8 * 8))]
        count = self.size // 8
        return [(self.out, (total * (count // 257 + 1))[:count].tobytes())]

    def digest(self):
        return hashlib.sha256(self.out or b"").hexdigest()


class SumInPlace(Sum):
    in_place = True


class ExactSum(Sum):
    """Of whole numbers, in place, which MPI may add in any order."""

    in_place = True

    def numbers(self, rank):
        source = random.Random(f"{self.salt} {rank} exact")
        numbers = [source.randrange(1 << 40) for _ in range(257)]
        return array("q", [numbers[k % 257] for k in range(self.size // 8)])

    def prepare(self):
        super().prepare()
        self.how = self.how._replace(datatype=MPI.INT64_T, any_order=True)

    def fold(self, failed):
        terms = [self.numbers(rank)[:257] for rank in self.contributors(failed)]
        return array("q", map(sum, zip(*terms, strict=True)))


class Reduce(Sum):
    def steps(self):
        return sums.reduce(self.group, self.given(), self.out if self.here else None, self.root, self.how)

    def expected(self, failed):
        return super().expected(failed) if self.here else []

    def digest(self):
        return ""


class Scan(Sum):
    def steps(self):
        return sums.scan(self.group, self.given(), self.out, self.how)

    def contributors(self, failed):
        return [r for r in range(self.me + 1) if r not in failed]

    def digest(self):
        return ""


class Exscan(Scan):
    def steps(self):
        return sums.exscan(self.group, self.given(), self.out, self.how)

    def contributors(self, failed):
        return [r for r in range(self.me) if r not in failed]

    def expected(self, failed):
        """Return nothing for a rank before which all have failed: its buffer may hold a sum that was begun with them."""
        return [] if self.me and not self.contributors(failed) else super().expected(failed)


class ReduceScatter(Sum):
    """Rank r gets r + 1 shares of the entries, the last one the rest."""

    counts = ()

    def prepare(self):
        super().prepare()
        share = self.how.entries // 32
        self.counts = [share * (r + 1) for r in self.ranks]
        self.counts[-1] += self.how.entries - sum(self.counts)
        self.out = memoryview(bytearray(8 * self.counts[self.me]))

    def steps(self):
        return sums.reduce_scatter(self.group, self.mine, self.out, self.counts, self.how)

    def expected(self, failed):
        [(_, whole)] = super().expected(failed)
        first = 8 * sum(self.counts[: self.me])
        return [(self.out, whole[first : first + len(self.out)])]

    def digest(self):
        return ""


class Transfer(Job):
    """Something that others have carried out; the last rank lacks what the root had for it."""

    def prepare(self):
        pass

    def steps(self):
        if self.me == len(self.ranks) - 1:
            self.group.lack(self.root)
        return (yield from self.group.settle(Shape("transfer")))

    def expected(self, failed):
        return []


class Barrier(Job):
    def prepare(self):
        pass

    def steps(self):
        return sums.barrier(self.group)

    def expected(self, failed):
        return []


COLLECTIVES = {
    "broadcast": Broadcast, "allgather": Allgather, "allgatherv": Allgatherv, "alltoall": Alltoall, "alltoallv": Alltoallv,
    "scatter": Scatter, "gather": Gather, "allreduce": Sum, "allreduce in place": SumInPlace,
    "exact sum": ExactSum, "reduce": Reduce, "scan": Scan,
    "exscan": Exscan, "reduce_scatter": ReduceScatter,
    "transfer": Transfer, "barrier": Barrier,
}  # fmt: skip
