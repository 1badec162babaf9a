"""The transfers over each connection, in order: which chunks, from which place to which, and which must come before.

Each node gets a chunk once, as it comes first; further copies are left out, or received into scratch.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from treecast.errors import FormatError
from treecast.programs.buffers import Buffers, Place
from treecast.programs.messages import Messages

MOST_AT_ONCE = 71
"""The most chunks of a transfer: as many as a step of MSCCL moves."""
Arc = tuple[int, int, int]
"""A source, a destination and a port."""


@dataclass(eq=False)
class Transfer:
    """Some chunks, one behind the other, that go from one GPU to another, in one step of each.

    ``source`` and ``target``: where the sender reads and the receiver writes. ``reads``: where the receiver reads the sum to
    which it adds; None where it adds nothing. ``sent_after`` and ``got_after``: the transfers that must have been received before
    this is sent, and before it is received.
    """

    source: Place
    target: Place
    reads: Place | None = None
    count: int = 1
    sent_after: "list[Transfer]" = field(default_factory=list["Transfer"])
    got_after: "list[Transfer]" = field(default_factory=list["Transfer"])

    def take(self, other: "Transfer") -> bool:
        """Take in a transfer of one chunk if its chunk follows on; return whether it does."""
        if self.count == MOST_AT_ONCE or (self.reads is None) != (other.reads is None):
            return False
        mine, others = (self.source, self.target, self.reads), (other.source, other.target, other.reads)
        for one, next_one in zip(mine, others, strict=True):
            if one is not None and next_one != (one[0], one[1] + self.count):
                return False
        self.count += 1
        self.sent_after += [before for before in other.sent_after if before not in self.sent_after]
        self.got_after += [before for before in other.got_after if before not in self.got_after]
        return True


def list_transfers(messages: Messages, buffers: Buffers, keep_copies: bool) -> dict[Arc, list[Transfer]]:
    """Return the transfers over each arc, in order.

    Further copies of chunks are received into scratch if ``keep_copies``; else they are left out.
    """
    found, sums = defaultdict[Arc, list[Transfer]](list), buffers.sums
    first = _first_arrivals(messages, buffers, keep_copies)
    last = dict[tuple[int, int], Transfer]()  # the one that brought a chunk to a node, or added to it last
    spares = 0
    columns = zip(messages.src.tolist(), messages.dst.tolist(), messages.port.tolist(), strict=True)
    for m, (src, dst, port) in enumerate(columns):
        run: Transfer | None = None
        fresh = dict[tuple[int, int], Transfer]()
        for chunk in (chunk for a, b in messages.ranges(m) for chunk in range(a, b)):
            adds, spare = chunk < sums, chunk >= sums and first.get((dst, chunk)) != m
            if spare and not keep_copies:
                continue
            spares += spare
            target = ("s", buffers.spare(dst, -spares)) if spare else buffers.kept(dst, chunk)
            before = last.get((dst, chunk)) if adds else None
            one = _transfer(buffers, last, src, chunk, target)
            if adds:
                one.reads = target if before else buffers.given(dst, chunk)
                one.got_after = [before] if before else []
            if run is None or not run.take(one):
                run = one
                found[src, dst, port].append(run)
            if not spare:
                fresh[dst, chunk] = run
        last |= fresh
    return dict(found)


def _transfer(
    buffers: Buffers, last: "dict[tuple[int, int], Transfer]", src: int, chunk: int, target: Place
) -> Transfer:
    """Return the transfer of one chunk from a node, which has it from the beginning or has received it."""
    sums = buffers.sums
    own = chunk - sums if chunk >= sums > 0 and (src, chunk) not in last else chunk
    before = last.get((src, own))
    source = buffers.kept(src, own) if before else buffers.given(src, own)
    if source is None:
        raise FormatError(f"node {src} sends chunk {chunk}, which it has not got: 'treecast verify' says more")
    return Transfer(source, target, sent_after=[before] if before else [])


def _first_arrivals(messages: Messages, buffers: Buffers, all_of_them: bool) -> dict[tuple[int, int], int]:
    """Return the message that first brings each chunk to each node: only to nodes that want it, or pass it on to one that does,
    unless ``all_of_them`` are asked for.
    """
    first, sums, collective = dict[tuple[int, int], int](), buffers.sums, buffers.collective
    for m, dst in enumerate(messages.dst.tolist()):
        for a, b in messages.ranges(m):
            for chunk in range(max(a, sums), b):
                if (dst, chunk) not in first and int(collective.source_of(chunk)) != dst:
                    first[dst, chunk] = m
    if all_of_them:
        return first
    needed = dict[tuple[int, int], int]()
    for node, a, b in collective.wanted():
        for chunk in range(a, b):
            at = (node, chunk)
            while at in first and at not in needed:
                needed[at] = first[at]
                at = (int(messages.src[first[at]]), chunk)
    return needed
