"""Collectives by MPI's definitions: buffers that are filled item by item, in plain loops.

Every item is named by the rank whose send buffer it stands in, and its place there. A chunk's number is an item's place in
the one buffer that lists all of them: the send buffer of the root, the receive buffer of the root or of any rank, or all
send buffers one behind the other.
"""

from dataclasses import dataclass, field


@dataclass
class Task:
    """What MPI's definition says: who has each chunk, who gets it, which chunks are sums, and where these end."""

    source: dict[int, int] = field(default_factory=dict)
    aims: dict[int, set[int]] = field(default_factory=dict)
    owner_of_sum: dict[int, int] = field(default_factory=dict)

    def item(self, chunk, source, aims):
        assert chunk not in self.source
        self.source[chunk], self.aims[chunk] = source, set(aims)

    def sum_at(self, chunk, owner, wanted):
        self.owner_of_sum[chunk] = owner
        self.item(chunk, owner, [owner] if wanted else [])

    def held_at_first(self, ranks):
        """The chunks that each rank holds, or adds to, before anything is sent."""
        sums, results = self.owner_of_sum, set(range(len(self.owner_of_sum), 2 * len(self.owner_of_sum)))
        return [{c for c, h in self.source.items() if (h == v and c not in results) or c in sums} for v in range(ranks)]

    def wanted_at_last(self, ranks):
        """The chunks that each rank ends with."""
        return [{c for c, aims in self.aims.items() if v in aims} for v in range(ranks)]


def bcast(ranks, count, root):
    task = Task()
    for place in range(count):
        task.item(place, root, range(ranks))
    return task


def scatter(ranks, count, root):
    task, sendbuf = Task(), 0
    for rank in range(ranks):
        for _ in range(count):
            task.item(sendbuf, root, [rank])
            sendbuf += 1
    return task


def gather(ranks, count, root):
    task, recvbuf = Task(), 0
    for rank in range(ranks):
        for _ in range(count):
            task.item(recvbuf, rank, [root])
            recvbuf += 1
    return task


def scatterv(ranks, counts, root, order):
    task, displacement = Task(), 0
    for rank in order:
        for place in range(counts[rank]):
            task.item(displacement + place, root, [rank])
        displacement += counts[rank]
    return task


def gatherv(ranks, counts, root, order):
    task, displacement = Task(), 0
    for rank in order:
        for place in range(counts[rank]):
            task.item(displacement + place, rank, [root])
        displacement += counts[rank]
    return task


def allgather(ranks, count):
    task, recvbuf = Task(), 0
    for rank in range(ranks):
        for _ in range(count):
            task.item(recvbuf, rank, range(ranks))
            recvbuf += 1
    return task


def allgatherv(ranks, counts, root, order):
    task, displacement = Task(), 0
    for rank in order:
        for place in range(counts[rank]):
            task.item(displacement + place, rank, range(ranks))
        displacement += counts[rank]
    return task


def alltoall(ranks, count):
    task, chunk = Task(), 0
    for source in range(ranks):
        for target in range(ranks):
            for _ in range(count):
                task.item(chunk, source, [target])
                chunk += 1
    return task


def alltoallv(ranks, counts):
    task, displacement = Task(), 0
    for source in range(ranks):
        for target in range(ranks):
            for place in range(counts[source][target]):
                task.item(displacement + place, source, [target])
            displacement += counts[source][target]
    return task


def reduce(ranks, count, root):
    task = Task()
    for place in range(count):
        task.sum_at(place, root, wanted=True)
    return task


def reduce_scatter_block(ranks, count):
    task, sendbuf = Task(), 0
    for rank in range(ranks):
        for _ in range(count):
            task.sum_at(sendbuf, rank, wanted=True)
            sendbuf += 1
    return task


def allreduce(ranks, count):
    """Every rank owns a block of the vector, whose sums it brings to all."""
    task = Task()
    for place in range(ranks * count):
        task.sum_at(place, place // count, wanted=False)
    for place in range(ranks * count):
        task.item(ranks * count + place, place // count, range(ranks))
    return task


def reduce_then_bcast(ranks, count, root):
    task = Task()
    for place in range(count):
        task.sum_at(place, root, wanted=False)
    for place in range(count):
        task.item(count + place, root, range(ranks))
    return task


def multicast(ranks, count, root, targets):
    task = Task()
    for place in range(count):
        task.item(place, root, targets)
    return task
