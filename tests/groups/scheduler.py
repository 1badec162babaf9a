"""A seeded scheduler: ranks in one process, whose messages come in any order, and which die, stop, and lose sight of each
other."""

import random
from collections import deque
from itertools import combinations, pairwise

import numpy as np

from treecast.errors import DeliveryError, Evicted, UnlikeCallsError
from treecast.running.algorithms import personal, spread, sums
from treecast.running.groups.group import Group
from treecast.running.groups.terms import Carrier, Terms
from treecast.running.groups.unlike import called
from treecast.running.groups.words import Words
from treecast.running.transport.base import DIRECT, FrameError, FrameKind, Ticket, Transport
from treecast.running.transport.together import Together

LONG = 40  # bytes above which a message waits to be asked for
EOF = None


class Node(Transport):
    """The transport of one rank: what it has sent lies in lanes until the scheduler delivers it."""

    def __init__(self, net, rank):
        super().__init__(rank, net.size)
        self.net, self.posted, self.early = net, {}, {}

    def send(self, to, key, piece, lent=False):
        ticket, here = Ticket(), (self.rank, to)
        if key.kind == FrameKind.DATA and to in self.lost:
            ticket.end(lost=True)
        elif key.kind == FrameKind.DATA and (len(piece) > self.net.small or key.instance == DIRECT):
            self.net.long[here][key] = piece, ticket
            self.net.lanes[here].append((key._replace(kind=FrameKind.OFFER), b"", self.marks.of(key)))
            if lent:
                ticket.lent = lambda is_read: self._take_back(here, key, ticket, is_read)
        else:
            self.net.lanes[here].append((key, bytes(piece), self.marks.of(key)))
            self.net.sent += 1
            ticket.end(len(piece))
        return ticket

    def _take_back(self, here, key, ticket, is_read):
        """Take back what was lent: who has not read it by then never does."""
        self.net.long[here].pop(key, None)
        ticket.end(lost=not is_read)

    def receive(self, source, key, place):
        ticket = Ticket()
        if (source, key) in self.early:
            self._fill(place, self.early.pop((source, key)), ticket)
        elif source in self.lost:
            ticket.end(lost=True)
        else:
            self.posted[source, key] = place, ticket
        return ticket

    def cancel(self, source, key=None):
        for each in [each for each in self.posted if each == (source, key) or (each[0] == source and key is None)]:
            self.posted[each][1].end(lost=True)
            self.posted[each] = None, Ticket()
        if key is None:
            self._end_sends(source)

    def waits(self, source, key):
        if (source, key) in self.early:
            return len(self.early[source, key])
        held = self.net.long[source, self.rank].get(key)
        return None if held is None or source in self.lost or (source, key) in self.posted else len(held[0])

    def wait(self, until, seconds=None):
        """Have whatever comes delivered; there is no clock."""
        while not until() and self.net.deliver_any(self.rank):
            pass

    def shut(self, rank, why="shut"):
        if rank not in self.lost:
            self.early = {key: body for key, body in self.early.items() if key[0] != rank}
            self._lose(rank, False, why)

    def close(self):
        super().close()
        for other in self.peers:
            self.net.lanes[self.rank, other].append(EOF)
            self._end_sends(other)

    def _end_sends(self, to):
        for _, ticket in self.net.long[self.rank, to].values():
            ticket.end(lost=True)
        self.net.long[self.rank, to].clear()

    def _lose(self, rank, proof, why):
        self.net.together[self.rank].end()
        for key in [key for key in self.posted if key[0] == rank]:
            self.posted.pop(key)[1].end(lost=True)
        self._end_sends(rank)
        super()._lose(rank, proof, why)

    def _fill(self, place, body, ticket):
        if place is not None and len(place) == len(body):
            place[:] = body
        ticket.end(len(body))

    def take(self, source, item):
        """Take what comes from a rank."""
        if item is EOF:
            if not self.lost.get(source):
                self._lose(source, True, "eof")
            return
        key, body, digest = item
        fits = not digest or self.marks.fits(source, key, digest)
        if key.kind == FrameKind.OFFER:
            return
        if key.kind != FrameKind.DATA:
            try:
                self._hear(source, key, body)
            except FrameError:
                self.shut(source, "frame")
        elif source in self.lost or not fits:
            return
        elif (source, key) in self.posted:
            place, ticket = self.posted.pop((source, key))
            self._fill(place, body, ticket)
        else:
            self.early[source, key] = body


class Turns(Together):
    """Calls of all ranks at once: each ends when all have entered it, or is lost at any rank when they were ended anywhere."""

    def __init__(self, net, rank):
        self.net, self.rank, self.made, self.ticket = net, rank, 0, None

    def _enter(self, take, *given):
        self.ticket, self.take = Ticket(), take
        self.net.entered.setdefault(self.made, {})[self.rank] = given
        self.made += 1
        return self.ticket

    def broadcast(self, data, root):
        def take(all_given):
            data[:] = all_given[root][0]

        return self._enter(take, bytes(data))

    def allgather(self, mine, whole, lengths):
        def take(all_given):
            whole[:] = b"".join(all_given[rank][0] for rank in range(self.net.size))

        return self._enter(take, bytes(mine))

    def alltoall(self, out, lengths, into, length):
        first = [sum(lengths[:k]) for k in range(len(lengths) + 1)]

        def take(all_given):
            into[:] = b"".join(all_given[rank][0][self.rank] for rank in range(self.net.size))

        return self._enter(take, [bytes(out[a:b]) for a, b in pairwise(first)])

    def allreduce(self, mine, out, how):
        def take(all_given):
            out[:] = bytes_of(sum(np.frombuffer(all_given[rank][0], np.int64) for rank in range(self.net.size)))

        return self._enter(take, bytes(mine))

    def end(self):
        self.net.is_ended = True

    def can_end(self):
        """Return how the call that a rank is in can end: well, or not."""
        if self.ticket is None or self.ticket.over:
            return []
        all_in = len(self.net.entered[self.made - 1]) == self.net.size
        return [False] * all_in + [True] * self.net.is_ended

    def go_out(self, lost):
        if not lost:
            self.take(self.net.entered[self.made - 1])
        self.ticket.end(lost=lost)


class Net:
    """The lanes between ranks. ``small``: bytes above which a message waits to be asked for."""

    def __init__(self, size, small=LONG):
        self.small = small
        self.entered, self.is_ended = {}, False
        self.size, self.sent = size, 0
        pairs = [(a, b) for a in range(size) for b in range(size) if a != b]
        self.lanes = {pair: deque() for pair in pairs}
        self.long = {pair: {} for pair in pairs}
        self.nodes = [Node(self, rank) for rank in range(size)]
        self.together = [Turns(self, rank) for rank in range(size)]

    def deliverable(self, a, b):
        """Return what can come from a to b next: the head of the lane, or a long message that b has asked for."""
        found = [("lane", None)] if self.lanes[a, b] else []
        posted = self.nodes[b].posted
        return found + [("long", key) for key in self.long[a, b] if (a, key) in posted or b_refuses(self, a, b)]

    def deliver_any(self, b):
        """Deliver something to a rank; return whether there was anything."""
        for a in self.nodes[b].peers:
            for what in self.deliverable(a, b):
                self.deliver(a, b, what)
                return True
        return False

    def deliver(self, a, b, what):
        lane, key = what
        if lane == "together":
            self.together[a].go_out(key)
        elif lane == "lane":
            self.nodes[b].take(a, self.lanes[a, b].popleft())
        else:
            piece, ticket = self.long[a, b].pop(key)
            self.nodes[b].take(a, (key, bytes(piece), self.nodes[a].marks.of(key)))
            if ticket.lent is None:
                ticket.end(len(piece))
        self.nodes[b].raise_error()


def b_refuses(net, a, b):
    return a in net.nodes[b].lost


class Add:
    """Adds whole numbers, as operations of MPI do."""

    @staticmethod
    def Reduce_local(before, part):  # noqa: N802
        np.frombuffer(part[0], np.int64)[:] += np.frombuffer(before[0], np.int64)


def given(call, rank, count):
    """Return what a rank gives to a call."""
    return np.arange(count, dtype=np.int64) * 7 + call * 1000 + rank * 31 + 1


def bytes_of(array):
    return memoryview(array).cast("B")


class Call:
    """A collective of one rank: its steps, and whether its result is right for who failed."""

    def __init__(self, group, number, name, root, count):
        size, me = group.size, group.rank
        self.me, self.size, self.root = me, size, root
        self.every = [given(number, r, count) for r in range(size)]
        self.out = np.zeros((size, count), np.int64)
        mine, pieces = bytes_of(self.every[me]), [bytes_of(row) for row in self.out]
        how = sums.Sums(None, Add, count, any_order=number % 2 == 0)
        at_root, wide = me == root, sums.Sums(None, Add, count * size)
        copies = [bytes_of(np.copy(self.every[root]) + r) for r in range(size)]
        data = mine if at_root else pieces[0]
        self.steps, self.is_right = {
            "barrier": lambda: (sums.barrier(group), lambda failed: True),
            "broadcast": lambda: (spread.broadcast(group, data, root), lambda failed: self.has(self.every[root])),
            "allgather": lambda: (spread.allgather(group, mine, pieces), self.rows),
            "alltoall": lambda: (personal.alltoall(group, [mine] * size, pieces, equal=True), self.rows),
            "gather": lambda: (
                personal.gather(group, mine, pieces if at_root else None, root, equal=True),
                self.rows_at_root,
            ),
            "scatter": lambda: (
                personal.scatter(group, copies if at_root else None, pieces[0], root, equal=True),
                lambda failed: self.has(self.every[root] + me),
            ),
            "reduce": lambda: (
                sums.reduce(group, mine, pieces[0] if at_root else None, root, how),
                self.summed_at_root,
            ),
            "reduce_scatter": lambda: (
                sums.reduce_scatter(group, bytes_of(np.tile(self.every[me], size)), pieces[0], [count] * size, wide),
                self.summed,
            ),
            "allreduce": lambda: (sums.allreduce(group, mine, pieces[0], how), self.summed),
            "scan": lambda: (sums.scan(group, mine, pieces[0], how), lambda failed: self.summed(failed, me + 1)),
            "exscan": lambda: (sums.exscan(group, mine, pieces[0], how), lambda failed: self.summed(failed, me)),
        }[name]()

    def has(self, wanted):
        return self.me == self.root or (self.out[0] == wanted).all()

    def rows(self, failed):
        return all((self.out[r] == self.every[r]).all() for r in range(self.size) if r not in failed)

    def rows_at_root(self, failed):
        return self.me != self.root or self.rows(failed)

    def summed(self, failed, upto=None):
        terms = [self.every[r] for r in range(self.size)[:upto] if r not in failed]
        return not terms or (self.out[0] == np.sum(terms, axis=0)).all()

    def summed_at_root(self, failed):
        return self.me != self.root or self.summed(failed)


def words_of(name, root, count):
    """Return the words of a call, in which all ranks agree."""
    rooted = name in ("broadcast", "gather", "scatter", "reduce")
    return Words(name, count, root=root if rooted else None)


NAMES = (
    "broadcast",
    "allgather",
    "allreduce",
    "reduce",
    "scan",
    "exscan",
    "alltoall",
    "gather",
    "scatter",
    "reduce_scatter",
)


class OwnError(Exception):
    """An error of a handler: the rank that has it dies of it."""


FATES = ("kill", "kill", "kill", "stop", "stop", "part", "suspect", "suspect")


class Rank:
    """A rank that makes a row of calls; ``results`` are what they returned, or how they failed."""

    def __init__(self, net, rank, calls, survive, together=False, relays=False):
        self.node, self.results, self.over, self.wrong = net.nodes[rank], [], False, []
        self.group = Group(
            self.node, range(net.size), terms=Terms(survive, None), carrier=Carrier(relays=relays, is_wide=True)
        )
        self.group.together = net.together[rank] if together else None
        for kind in (
            FrameKind.STATE,
            FrameKind.DECIDED,
            FrameKind.FETCH,
            FrameKind.ENDED,
            FrameKind.FENCE,
            FrameKind.LEFT,
            FrameKind.BYE,
            FrameKind.UNLIKE,
        ):
            self.node.on(kind, self._hear)
        self.node.watch(self.group.lose)
        self.node.on_error, self.is_faulty = self._note, False
        self.node.marks.tell = lambda source, group, call: self.group.unlike.find(call)
        self.waiting = self.group.waiting
        self.steps = self._program(calls)
        self.until = next(self.steps)

    def _hear(self, *frame):
        if self.is_faulty:
            raise OwnError
        self.group.hear(*frame)

    def _note(self, error):
        if not isinstance(error, OwnError):
            raise error

    @property
    def out(self):
        return self.group.agreement.is_out

    def _program(self, calls):
        for number, (name, root, count) in enumerate(calls):
            try:
                call, words = Call(self.group, number, name, root, abs(count)), words_of(name, root, count)
                if is_wrong := count < 0:
                    call.steps = self.group.agreement.until(lambda: False)
                failed = yield from called(self.group, call.steps, words._replace(is_wrong=is_wrong))
                if not call.is_right(failed):
                    self.wrong.append((number, name, failed))
                yield from self.group.unlike.pay()
                self.results.append((name, failed))
            except Evicted:
                return
            except UnlikeCallsError as error:
                self.results.append((name, str(error)))
            except DeliveryError as error:
                self.results.append((name, str(error)))
        self.over = True
        yield lambda: False

    def go_on(self):
        """Go on as far as can be."""
        while self.until():
            try:
                self.until = next(self.steps)
            except StopIteration:
                self.until = lambda: False


class World:
    """All ranks, what befalls them, and a judge."""

    def __init__(
        self, seed, calls=4, sizes=(2, 3, 4, 5, 6), names=NAMES, fates=FATES, few=False, together=False, relays=False
    ):
        self.rng = rng = random.Random(seed)
        size = rng.choice(sizes)
        self.calls = [(rng.choice(names), rng.randrange(size), rng.choice((1, 1, 9))) for _ in range(calls - 1)]
        self.calls.append(("barrier", 0, 1))
        self.faults, self.rate = rng.randint(0, (size - 1) // 2 if few else size), rng.choice((0.02, 0.1, 0.3))
        self.fates, self.together, self.relays, self.odd, self.asks = fates, together, relays, {}, 0
        self._set_up(size)

    @classmethod
    def of(cls, calls, size, relays=False, odd=None, seed=0):
        """Return a world in which nothing fails; ``odd``: the calls of ranks that make others, wrong ones of a count below 0."""
        world = cls(seed, relays=relays)
        world.calls, world.faults, world.odd, world.asks = calls, 0, odd or {}, 3 if odd else 0
        world._set_up(size)
        return world

    def _set_up(self, size):
        self.net = Net(size)
        self.pairs = list(self.net.lanes)
        programs = [self.odd.get(r, self.calls) for r in range(size)]
        self.ranks = [Rank(self.net, r, programs[r], size, self.together, self.relays) for r in range(size)]
        self.killed, self.stopped, self.cuts = set(), set(), set()

    def run(self, turns=20_000):
        """Deliver until nothing is left; return the verdict."""
        for rank in self.ranks:
            rank.go_on()
        for _ in range(turns):
            if self.faults and self.rng.random() < self.rate:
                self.faults -= 1
                self._harm()
            ready = self._choose()
            if ready:
                a, b, what = ready
                try:
                    self.net.deliver(a, b, what)
                except OwnError:
                    self._kill(b)
                else:
                    self.ranks[b].go_on()
                self.ranks[a].go_on() if a not in self.killed | self.stopped else None  # its message is over
            elif not self._fall_silent() and not self._ask():
                break
        return self.judge()

    def _choose(self):
        """Return what is delivered next, from whom and to whom; None when nothing can be."""
        ways = [
            (rank, rank, ("together", lost))
            for rank, each in enumerate(self.net.together if self.together else ())
            for lost in each.can_end()
            if rank not in self.killed | self.stopped
        ]
        if ways and self.rng.random() < 0.3:
            return self.rng.choice(ways)
        for tries in (self.rng.choices(self.pairs, k=6), self.rng.sample(self.pairs, len(self.pairs))):
            for a, b in tries:
                if (self.net.lanes[a, b] or self.net.long[a, b]) and self._reaches(a, b):
                    found = self.net.deliverable(a, b)
                    if found:
                        return a, b, self.rng.choice(found)
        return self.rng.choice(ways) if ways else None

    def _reaches(self, a, b):
        return b not in self.killed and b not in self.stopped and frozenset((a, b)) not in self.cuts

    def _harm(self):
        rng, size = self.rng, self.net.size
        rank, fate = rng.randrange(size), rng.choice(self.fates)
        if fate == "kill":
            self._kill(rank)
        elif fate == "fault":
            self.ranks[rank].is_faulty = True
        elif fate == "stop":
            self._wake(rank) if rank in self.stopped else self.stopped.update({rank} - self.killed)
        elif fate == "part":
            part = set(rng.sample(range(size), rng.randint(1, size - 1)))
            self.cuts |= {frozenset(pair) for pair in combinations(range(size), 2) if len(part & set(pair)) == 1}
        else:
            self._suspect(rank, rng.choice([other for other in range(size) if other != rank]))

    def _wake(self, rank):
        self.stopped.remove(rank)
        self.ranks[rank].go_on()  # its messages may be over by now

    def _kill(self, rank):
        if rank in self.killed:
            return
        self.killed.add(rank)
        self.stopped.discard(rank)
        for other in range(self.net.size):
            if other != rank:
                lane = self.net.lanes[rank, other]
                for _ in range(self.rng.randint(0, len(lane))):
                    lane.pop()
                lane.append(EOF)
                self.net.long[rank, other].clear()

    def _suspect(self, a, b):
        if a not in self.killed | self.stopped and not self.ranks[a].out and b not in self.net.nodes[a].lost:
            self.net.nodes[a].shut(b)
            self.ranks[a].go_on()

    def _ask(self):
        """Have all that wait ask where the others are; return whether they do."""
        self.asks -= 1
        for rank in self.ranks if self.asks >= 0 else ():
            if rank.group.unlike.is_inside:
                rank.waiting.ask(rank.group)
        return self.asks >= 0

    def _fall_silent(self):
        """Have one rank find another silent, or a stopped one go on; return whether there was any."""
        silent = [
            (a, b)
            for a, b in self.net.lanes
            if a not in self.killed | self.stopped
            and not self.ranks[a].out
            and not self.ranks[a].over
            and b in self.ranks[a].group.agreement.members
            and b not in self.net.nodes[a].lost
            and (b in self.stopped or a in self.net.nodes[b].lost or frozenset((a, b)) in self.cuts)
        ]
        if silent:
            self._suspect(*self.rng.choice(silent))
        elif self.stopped:
            self._wake(min(self.stopped))
        else:
            return False
        return True

    def judge(self):
        """Return ``fine``, or what is wrong: ``hang``, ``differ`` or ``wrong``."""
        living = [r for r in range(self.net.size) if r not in self.killed and not self.ranks[r].out]
        if any(not self.ranks[r].over for r in living):
            return "hang"
        if any(self.ranks[r].wrong for r in living):
            return "wrong"
        for a, b in combinations(living, 2):
            one, other = self.ranks[a], self.ranks[b]
            mutual = a in other.group.agreement.members and b in one.group.agreement.members
            last = len(self.calls) - (not mutual)  # who is left behind in the last call would learn so in the next
            if one.results[:last] != other.results[:last]:
                return "differ"
        if not living and len(self.killed) < self.net.size:
            return "nobody"
        return "fine"
