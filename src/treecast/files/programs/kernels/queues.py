"""Inner loops that judge programs of threadblocks: which send, receive and wait for one another."""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit(work=lambda start, units, *_: 6 * int(units.sum()) + len(start))
def run_program(start, units, sends, receives, into, out, wait, room, at, why):
    """Run threadblocks until none can go on, with ``room`` chunks on each connection.

    Block b's steps are ``start[b] … start[b+1]-1``; step s moves ``units[s]`` chunks, which it ``sends`` to connection
    ``out[b]``, ``receives`` from ``into[b]``, or both, and waits for the end of step ``wait[s]`` (-1: none, -2: for ever).
    ``at``, int64 (blocks,), gets the step at which each block stops, ``why``, int64 (blocks,), the reason why it waits there: 1
    another step, 2 a chunk, 3 room for one.
    Whatever the order in which blocks take turns, they get as far.

    Invariant: a block that cannot go on is asleep in one place exactly: in the list of a step, as the starved receiver or the
    stuffed sender of a connection; or it waits for ever. Whoever ends the reason puts it back on ``stack``. So a block is
    asked only when something has changed for it: the cost is O(chunks + steps + blocks).

        asleep[step] ─▶ block ── next_asleep[block] ─▶ block ── … ─▶ -1
        connection c:  filled[c] chunks of room;  starved[c]: who waits for one;  stuffed[c]: who waits for room
    """
    # 1. All blocks are at their first step, the first one on top.
    blocks, steps, connections = len(start) - 1, len(units), len(out) + 1
    moved, asleep, next_asleep = np.zeros(blocks, np.int64), np.full(steps, -1, np.int64), np.full(blocks, -1, np.int64)
    filled, starved, stuffed = (
        np.zeros(connections, np.int64),
        np.full(connections, -1, np.int64),
        np.full(connections, -1, np.int64),
    )
    done, stack, count = np.zeros(steps, np.bool_), np.empty(blocks + 1, np.int64), 0
    for b in range(blocks - 1, -1, -1):
        at[b] = start[b]
        stack[count] = b
        count += 1
    while count > 0:
        count -= 1
        b = stack[count]
        while at[b] < start[b + 1]:
            # 2. A step begins when the one that it waits for is done.
            s = at[b]
            if moved[b] == 0 and wait[s] != -1:
                why[b] = 1
                if wait[s] == -2:  # -2: it never can, so nobody will wake it
                    break
                if not done[wait[s]]:
                    next_asleep[b] = asleep[wait[s]]
                    asleep[wait[s]] = b
                    break
            # 3. Its chunks, one after the other; each wakes who waits at the other end.
            # a step that moves nothing, or in neither direction, is done at once
            blocked = False
            while moved[b] < units[s] and (sends[s] or receives[s]):
                if receives[s] and filled[into[b]] == 0:
                    starved[into[b]], why[b] = b, 2
                    blocked = True
                    break
                if sends[s] and filled[out[b]] >= room:  # a receive alone needs no room
                    stuffed[out[b]], why[b] = b, 3
                    blocked = True
                    break
                # both at once, or neither: a step that receives and sends never holds a chunk between
                if receives[s]:
                    filled[into[b]] -= 1
                    if stuffed[into[b]] >= 0:  # there is room now: wake who waits for it
                        stack[count] = stuffed[into[b]]
                        count += 1
                        stuffed[into[b]] = -1
                if sends[s]:
                    filled[out[b]] += 1
                    if starved[out[b]] >= 0:  # a chunk is there now: wake who waits for it
                        stack[count] = starved[out[b]]
                        count += 1
                        starved[out[b]] = -1
                moved[b] += 1
            if blocked:
                break
            # 4. The step is done, and wakes all that wait for it.
            moved[b] = 0  # of the next step no chunk has moved yet
            done[s] = True
            at[b] += 1
            other = asleep[s]
            asleep[s] = -1
            while other >= 0:
                stack[count] = other
                count += 1
                other = next_asleep[other]


@njit(work=lambda first, head, length, missing, time, order, *_: 6 * len(head) + 4 * len(order))
def find_longest(first, head, length, missing, time, order, takes, gives, counts):
    """Fill ``time`` with the longest way to each point, and ``order`` with the points as they are reached; return how many are.

    From point p ways ``first[p] … first[p+1]-1`` lead to points ``head``, each so long; ``missing[p]``, which is used up, is
    how many lead to p. Points on a circle, and behind one, are not reached. Where there are ``counts``, which change, point p
    lowers count ``takes[p]``, and waits until that is above 0, and raises count ``gives[p]``; -1: none. Points then go as they
    come, as those do that wait for one count.

    Invariant: ``time[p]`` is final when p is reached, as all ways to it have been followed. Cost: each way and each point
    once: O(points + ways). ``stack`` has two ends:

        stack = [ … | front … left - 1 | … ]        without counts the last goes first, with counts the first;
                                                  who was asleep goes before all
    """
    # 1. The points that nothing leads to.
    done, points, left = 0, len(order), 0
    stack, counted = np.empty(points, np.int64), len(counts) > 0
    asleep, last = np.full(len(counts), -1, np.int64), np.full(len(counts), -1, np.int64)
    next_asleep = np.full(points if counted else 0, -1, np.int64)
    front = 0
    for i in range(points):
        p = i if counted else points - 1 - i  # from the last on a stack: so the first is on top
        if missing[p] == 0:
            stack[left] = p
            left += 1
    while left > front:
        # with counts the order decides who gets one, so points go in the order in which they came
        # 2. The next point; if its count is 0 it sleeps behind others until that is raised.
        if counted:
            p = stack[front]
            front += 1
        else:
            left -= 1
            p = stack[left]
        if counted and takes[p] >= 0:
            if counts[takes[p]] == 0:
                if asleep[takes[p]] < 0:
                    asleep[takes[p]] = p  # the first who sleeps here
                else:
                    next_asleep[last[takes[p]]] = p
                last[takes[p]], next_asleep[p] = p, -1
                continue
            counts[takes[p]] -= 1
        # 3. It is reached: raise a count, and let the first who sleeps there go on.
        order[done] = p
        done += 1
        if counted and gives[p] >= 0:
            counts[gives[p]] += 1
            q = asleep[gives[p]]
            if q >= 0:
                asleep[gives[p]] = next_asleep[q]
                front -= 1  # its place is free: it lies behind ``front``
                stack[front] = q
        # 4. Follow its ways.
        for e in range(first[p], first[p + 1]):
            q = head[e]
            if time[p] + length[e] > time[q]:  # the longest way counts
                time[q] = time[p] + length[e]
            missing[q] -= 1
            if missing[q] == 0:  # all that lead to it are reached: its time is final
                stack[left] = q
                left += 1
    return done


@njit(work=lambda order, ways, most, column, value, columns, *_: 2 * (len(order) + len(ways[1])) * columns)
def spread_marks(order, ways, most, column, value, columns, marks, first, bits):
    """Fill ``marks``, a row of ``columns`` for each operation, with the marks of all that has ended when it has.

    Operations come in an ``order`` in which they can end. ``ways``: start, tail and level; operation s comes after operations
    ``tail[start[s]] … tail[start[s+1]-1]``, and each of these ways counts whose level is ``most`` at most. Its own mark is
    ``value[s]``, in ``column[s]``; -1: none. Marks are bits that are joined where ``bits``, else numbers, of which the greatest
    counts. Operation s is row ``s - first``; what comes from operations that have no row is left out.

    One step for each mark of each operation and each way: O((operations + ways) columns). Invariant: the row of an operation
    is complete before any that come after it read it.
    """
    start, tail, level = ways
    for i in range(len(order)):
        s = order[i]
        here = (s - first) * columns
        for k in range(columns):
            marks[here + k] = 0  # the row may hold marks of another pass
        for e in range(start[s], start[s + 1]):
            there = (tail[e] - first) * columns
            # a way that does not count, or from an operation that has no row
            if level[e] > most or there < 0 or there >= len(marks):
                continue
            for k in range(columns):
                if bits:
                    marks[here + k] |= marks[there + k]
                elif marks[there + k] > marks[here + k]:
                    marks[here + k] = marks[there + k]
        if column[s] >= 0 and bits:
            marks[here + column[s]] |= value[s]
        elif column[s] >= 0:
            # its own mark is greater than those from before in this column
            marks[here + column[s]] = value[s]


@njit(work=lambda moves, *_: 14 * int(moves[1].sum()) + len(moves[0]))
def trace_values(moves, lane, twins, value, quiet, writer, left, right, bare, earlier, later, found, atoms):
    """Follow values through the places of all ranks; note reads of places that nobody wrote, and which accesses must be
    ordered.

    ``moves``: order, units, read_start, reads, write_start and writes. Move i is part of operation ``order[i]`` and does the
    same for each of ``units[i]`` places one behind the other: it adds up the values it reads at ``reads[read_start[i]] … `` and
    writes the sum to ``writes[write_start[i]] …``. ``value`` holds the value of each place (-1: none), and at the end its last
    value; values from ``atoms`` on are sums of ``left`` and ``right``. A write to place p wipes out the values in ``twins[2p]``
    and ``twins[2p+1]``, if there are twins and they are not -1. ``writer`` gets the operation that wrote a place last, or -1;
    ``bare`` the operations and places of reads of places that nobody wrote, alternately. Accesses by operations ``earlier[i]``
    and ``later[i]``, of different lanes, are to one place, and one of them writes. Places from ``quiet`` on are those of
    messages: nothing is noted of them. ``found`` gets the number of sums, bare reads and pairs.

    Reads since the last write of a place are linked, the latest first, so that a write finds those that it must not overtake:

        last_read[place] ─▶ read ── next_read[read] ─▶ read ── … ─▶ -1        reader[read]: the operation

    Invariant: ``value``, ``writer`` and the lists say what has happened to each place up to the move. Cost: each read and
    write of each place once, as a read leaves its list at the next write: O(reads + writes + pairs).
    """
    # 1. Room for all reads.
    order, units, read_start, reads, write_start, writes = moves
    sums, bares, pairs, count = 0, 0, 0, 0
    most = 1
    for i in range(len(order)):
        most += units[i] * (read_start[i + 1] - read_start[i])
    last_read, next_read, reader = np.full(len(value), -1, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    for i in range(len(order)):
        s = order[i]
        for k in range(units[i]):
            # 2. Reads: add up the values, and note who has to be before.
            addend = -1  # -1: nothing yet
            for r in range(read_start[i], read_start[i + 1]):
                place = reads[r] + k
                if value[place] < 0:
                    # what nobody wrote adds nothing, and is told once for each read
                    if place < quiet:
                        bare[2 * bares], bare[2 * bares + 1] = s, place
                        bares += 1
                elif addend < 0:
                    addend = value[place]
                else:
                    left[sums], right[sums] = addend, value[place]
                    addend = atoms + sums
                    sums += 1
                if place >= quiet:  # messages are ordered by their connection
                    continue
                # steps of one lane come one after the other anyway
                if writer[place] >= 0 and lane[writer[place]] != lane[s]:
                    earlier[pairs], later[pairs] = writer[place], s
                    pairs += 1
                # the same operation again need not be listed twice in a row
                if last_read[place] < 0 or reader[last_read[place]] != s:
                    reader[count], next_read[count] = s, last_read[place]
                    last_read[place] = count
                    count += 1
            # 3. Writes: they come after the last write and all reads since.
            for w in range(write_start[i], write_start[i + 1]):
                place = writes[w] + k
                read = last_read[place]
                # if anybody has read since, that read comes between: pairs follow from it
                if place < quiet and read < 0 and writer[place] >= 0 and lane[writer[place]] != lane[s]:
                    earlier[pairs], later[pairs] = writer[place], s
                    pairs += 1
                while read >= 0:
                    if lane[reader[read]] != lane[s]:
                        earlier[pairs], later[pairs] = reader[read], s
                        pairs += 1
                    read = next_read[read]
                last_read[place] = -1
                value[place], writer[place] = addend, s  # -1 where it read nothing of value
                for twin in range(2 * place, 2 * place + 2):
                    if len(twins) > 0 and twins[twin] >= 0:
                        value[twins[twin]] = -1  # the same bytes as another place: what stood there is gone
    found[0], found[1], found[2] = sums, bares, pairs


@njit(work=lambda left, right, first, second, size, atoms, most, modulus: 10 * len(left))
def add_up(left, right, first, second, size, atoms, most, modulus):
    """Fill in the two residues and the sizes of sums, from those of the ``atoms`` before them; sizes are ``most`` at most.

    One step for each sum. Invariant: both addends stand before it.
    """
    for i in range(len(left)):
        a, b = left[i], right[i]  # both addends have smaller numbers
        at = atoms + i
        first[at] = (first[a] + first[b]) % modulus
        second[at] = (second[a] + second[b]) % modulus
        size[at] = min(most, size[a] + size[b])  # no overflow: beyond ``most`` sizes are all the same


@njit(work=lambda moves, *_: 14 * int(moves[1].sum()) + len(moves[0]))
def follow_value(moves, twins, value, quiet, holds, atoms, doubled):
    """Return the move after which no place holds some contribution any more, and the one that makes a sum; -1: none.

    ``moves``, ``twins``, ``value``, ``quiet`` and ``atoms`` are as ``trace_values`` takes them, ``value`` at the beginning.
    ``holds``: whether each value has the contribution. ``doubled``: the number of the sum. A message under way is a place until
    it is read.

    Invariant: ``held`` counts the places that hold the contribution. Cost: each read and write of each place once.
    """
    _, units, read_start, reads, write_start, writes = moves
    held, sums, lost, maker = 0, 0, -1, -1
    for place in range(len(value)):
        held += value[place] >= 0 and holds[value[place]]
    for i in range(len(units)):
        for k in range(units[i]):
            # 1. Reads: numbers of sums are as ``trace_values`` gives them. A message is used up when it is read.
            addend = -1
            for r in range(read_start[i], read_start[i + 1]):
                place = reads[r] + k
                if value[place] < 0:
                    continue
                if addend < 0:
                    addend = value[place]
                else:
                    # sums are numbered in the same order as there, so the number tells which this is
                    if sums == doubled:
                        maker = i
                    addend = atoms + sums
                    sums += 1
                if place >= quiet:  # a message leaves its place when it is read
                    held -= holds[value[place]]
                    value[place] = -1
            # 2. Writes: what the place held is gone, and so is what its twins hold.
            for w in range(write_start[i], write_start[i + 1]):
                place = writes[w] + k
                held -= value[place] >= 0 and holds[value[place]]
                held += addend >= 0 and holds[addend]
                value[place] = addend
                for twin in range(2 * place, 2 * place + 2):
                    if len(twins) > 0 and twins[twin] >= 0:
                        held -= value[twins[twin]] >= 0 and holds[value[twins[twin]]]
                        value[twins[twin]] = -1
        if held == 0 and lost < 0:  # only the first time: it cannot come back
            lost = i
    return lost, maker
