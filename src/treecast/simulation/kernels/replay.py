"""Inner loops that replay a schedule under faults: a node sends no chunk that it does not hold.

An atom's moves come sorted by step (see schedule.atoms.AtomMoves). A fault takes effect at a step: from then on the node or
arc carries nothing.
"""
# pyright: basic

import numpy as np

from treecast.compiled import lowest_bit, njit
from treecast.steps import NEVER

_LAST = -(1 << 63)  # the last bit of a word, as an int64


@njit
def replay(start, row, time, src, dst, arc, late, node_dies, arc_dies, back, begins, arrival, via, moved):
    """Replay all moves once.

    ``src, dst, arc``: by row. ``late``: how many steps after it began a send has arrived. ``node_dies, arc_dies``: the step of
    each fault, int64 (N,) and (arcs,). ``arrival``, int32 (atoms, N), and ``via``, the row of the first arrival, are lowered;
    ``moved``, bool (moves,), is set where a node sent it, whether or not it arrives. ``back``: of a sparing schedule the arc
    back of each row, of any other one empty. ``begins``: int32 (N,), the step from which each node sends; NEVER for one that is
    not started.

    A move is looked at once: O(moves), and for a sparing schedule O(arcs) more for each atom. Invariant: at a move of step t
    ``arrival`` has all arrivals up to t, since moves come by step and a send arrives after it began.
    """
    sparing = len(back) > 0
    said = np.empty(len(arc_dies) if sparing else 0, np.int64)  # the step at which an atom went over each arc first
    heard = np.empty(len(said), np.int64)  # … and got there
    for atom in range(len(start) - 1):
        for a in range(len(said)):  # of each atom anew
            said[a] = heard[a] = NEVER
        for i in range(start[atom], start[atom + 1]):
            r, t = row[i], time[i]
            u, v = src[r], dst[r]
            # it has the atom by now, has been started, and lives
            if arrival[atom, u] <= t and begins[u] <= t and t < node_dies[u]:
                # a sparing node is silent where it said the atom before, or heard it from there
                if sparing:
                    # "before" in the strict sense: both ways in one step are possible
                    if said[arc[r]] < t or heard[back[r]] < t:
                        continue
                    said[arc[r]] = t  # whether or not the arc still carries anything: nobody knows
                moved[i] = True
                if t < arc_dies[arc[r]] and t < node_dies[v]:  # the arc carries it, and somebody lives to hear it
                    if sparing:
                        heard[arc[r]] = min(heard[arc[r]], t)
                    if t + late[r] < arrival[atom, v]:
                        arrival[atom, v] = t + late[r]  # the first arrival counts
                        via[atom, v] = r


@njit
def replay_sums(start, row, time, src, dst, arc, late, node_dies, arc_dies, coming, adds, shared, arrival, via, moved):
    """Replay all moves of sums once: a node sends a sum on when all that it is to add, by all rows, is there, else it waits.

    As ``replay``; ``arrival`` gets the step from which all that a node is to add is there, 0 where there is nothing to add, and
    ``via`` the row of the last. ``adds``, bool (sums, N): who has a contribution of its own; others have nothing at first.
    ``coming``: the moves of each atom in the order in which they arrive. ``shared``: sums without owners, which a node sends if
    all that rows bring it before that is there.

    Two places go along the moves of an atom, by begin and by arrival, so each move is met twice: O(moves + atoms nodes).

        row, by begin:       ─────▶ j         sends of step time[j] are decided
        coming, by arrival:  ────▶ i          all that arrived by then has been counted

    Invariant: ``missing[v]`` counts the rows that node v waits for, in vain or not; where ``shared`` only those in vain.
    """
    # 1. Who waits for nothing has its own contribution at once.
    nodes = len(node_dies)
    missing = np.empty(nodes, np.int64)
    for atom in range(len(start) - 1):
        i, stop = start[atom], start[atom + 1]
        for v in range(nodes):
            missing[v] = 0
        for j in range(i, i if shared else stop):
            # rows that bring nothing in the end are waited for as well
            missing[dst[row[j]]] += 1
        for v in range(nodes):
            if missing[v] == 0 and adds[atom, v] and node_dies[v] > 0:  # nothing to wait for, and something to give
                arrival[atom, v] = 0
        # 2. Arrivals up to the step of move j come before that move; after the last move come all that are left.
        for j in range(i, stop + 1):
            while i < stop and (
                j == stop or time[coming[i]] + late[row[coming[i]]] <= time[j]
            ):  # what has arrived by then
                r, t = row[coming[i]], time[coming[i]]
                v = dst[r]
                missing[v] += shared  # where ``shared`` only what came and was lost is missing
                if moved[coming[i]] and t < arc_dies[arc[r]] and t < node_dies[v]:
                    missing[v] -= 1
                    if missing[v] == 0:  # the last one that was waited for
                        arrival[atom, v] = t + late[r]
                        via[atom, v] = r
                else:
                    # a contribution is lost: v never has the sum, and says nothing
                    arrival[atom, v] = NEVER
                i += 1
            if j < stop:
                u = src[row[j]]
                # a sum goes on whole, or not at all
                moved[j] = missing[u] == 0 and arrival[atom, u] <= time[j] and time[j] < node_dies[u]


@njit
def next_sets(first, elements, sets):
    """Fill ``sets``, int64 (m, f), with the f-element sets of ``0 … elements-1`` that follow one another from ``first`` on.

    A set is written in O(f). The last element that is not yet at its end goes on by one, and all behind it follow it
    closely:

        f = 3 of 0 … 4:    0 1 4  ─▶  0 2 3
    """
    m, f = sets.shape
    current = np.empty(f, np.int64)
    for j in range(f):
        current[j] = first[j]
    for s in range(m):
        for j in range(f):
            sets[s, j] = current[j]
        j = f - 1
        while j >= 0 and current[j] == elements - f + j:  # the last element that can still grow
            j -= 1
        if j >= 0:  # else this was the last set
            current[j] += 1
            for i in range(j + 1, f):
                current[i] = current[i - 1] + 1


@njit(work=lambda sets, elements, moves, *others: (len(sets) + 63) // 64 * len(moves[1]) * 2)
def first_failing(sets, elements, moves, sizes, back, order, own, given, wanted, lacking):
    """Replay the moves under 64 fault sets at once, one bit of a word each; faults are there from the start.

    ``sets``: int64 (m, f), ``elements``: of each its node (or -1), and its arcs, int64 (elements, 2), -1 for none. ``moves``:
    start, row, time, src, dst, arc, late and, in order, those of each atom that arrive; ``sizes``: how many nodes and arcs
    there are. ``order``: int64 (atoms,), in which atoms are replayed; the ``own`` first ones are those of the initiator, and a
    node sends others from when it has the first. ``given``, ``wanted``: which nodes hold, and must get, each atom, where they
    begin and the nodes. ``lacking``: int64 (m,), gets how many living nodes do not get an atom that a living node held. Return
    (set, node, atom) of the first, or -1s.

    Bit b of each word is the fault set ``block + b``:

        held[v]  =  … 0 1 1 0 1        node v holds the atom under the sets 0, 2 and 3 of the block

    Invariant: a bit of ``held[v]`` is 1 exactly if v lives under this set and has got the atom by the step that is replayed.
    Cost: each block of 64 sets replays each move once, with some operations on words: O(sets / 64 (moves + atoms (nodes +
    arcs))). The numbers in ``counts`` stand upright, as adding to 64 of them at once takes few operations on words:

        lane:       … 2 1 0
        counts[0] = … 1 0 1        bit 0 of each number
        counts[1] = … 0 1 1        bit 1: so lane 0 has 3, lane 1 has 2, lane 2 has 1
    """
    # 1. Tables for one block; the longest atom says how many moves wait to arrive.
    (element_node, element_arcs), (start, row, time, src, dst, arc, late, coming), (nodes, arcs) = (
        elements,
        moves,
        sizes,
    )
    (given_start, given_node), (wanted_start, wanted_node) = given, wanted
    dead_node, dead_arc = np.zeros(nodes, np.int64), np.zeros(arcs, np.int64)
    held, begun, started = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    sparing = len(back) > 0
    said, heard = np.zeros(arcs if sparing else 0, np.int64), np.zeros(arcs if sparing else 0, np.int64)
    longest = np.int64(1)
    for atom in range(len(start) - 1):
        longest = max(longest, start[atom + 1] - start[atom])
    # sets under which a move was sent, from its step until it arrives
    gets = np.empty(longest, np.int64)
    lost_by = np.zeros(nodes, np.int64)
    counts = np.empty(64, np.int64)  # of every set the number of nodes that lack something: word b has bit b of it
    first_set, first_node, first_atom = np.int64(-1), np.int64(-1), np.int64(-1)
    for block in range(0, len(sets), 64):
        lanes = min(64, len(sets) - block)
        # in the last block some lanes stand for no set
        valid = np.int64(-1) if lanes == 64 else (np.int64(1) << lanes) - 1
        # 2. Which nodes and arcs are dead under each set.
        for v in range(nodes):
            dead_node[v] = lost_by[v] = 0
        for a in range(arcs):
            dead_arc[a] = 0
        for lane in range(lanes):
            bit = np.int64(1) << lane if lane < 63 else _LAST  # 1 << 63 does not fit in an int64
            for j in range(sets.shape[1]):
                e = sets[block + lane, j]
                if element_node[e] >= 0:
                    dead_node[element_node[e]] |= bit
                for k in range(2):  # an element is a node, or a link of up to two arcs
                    if element_arcs[e, k] >= 0:
                        dead_arc[element_arcs[e, k]] |= bit
        # 3. Atoms one after the other. Anybody sends those of the initiator; others only who has its first.
        for v in range(nodes):
            begun[v] = -1  # all ones: everybody may send in every lane
        for number in range(len(order)):
            atom = order[number]
            for v in range(nodes):
                if number == own and own > 0:  # behind the own atoms only started nodes send
                    begun[v] = started[v]
                held[v] = 0
            for a in range(len(said)):
                said[a] = heard[a] = 0
            living = np.int64(0)
            for g in range(given_start[atom], given_start[atom + 1]):
                held[given_node[g]] = ~dead_node[given_node[g]]  # dead nodes hold nothing
                living |= held[given_node[g]]
            # 4. Replay: ``gets`` holds under which sets each move was sent, until it arrives.
            i, begin, stop = start[atom], start[atom], start[atom + 1]
            for j in range(begin, stop + 1):
                while i < stop and (
                    # as the fault is there from the start, an arc is dead in all steps
                    j == stop or time[coming[i]] + late[row[coming[i]]] <= time[j]
                ):  # has arrived by then
                    k = coming[i]
                    r = row[k]
                    there = gets[k - begin] & ~dead_arc[arc[r]] & ~dead_node[dst[r]]
                    held[dst[r]] |= there
                    if sparing:
                        said[arc[r]] |= gets[k - begin]  # said, though perhaps in vain: the sender cannot know
                        heard[arc[r]] |= there
                    i += 1
                if j < stop:
                    r = row[j]
                    gets[j - begin] = held[src[r]] & begun[src[r]]
                    if sparing:
                        # silent where it went over the arc before, either way
                        gets[j - begin] &= ~said[arc[r]] & ~heard[back[r]]
            # 5. The first atom starts nodes. Of each, note who lives and lacks it although somebody alive was given it.
            if number == 0:
                for v in range(nodes):
                    started[v] = held[v]
            for w in range(wanted_start[atom], wanted_start[atom + 1]):
                v = wanted_node[w]
                lost = ~held[v] & ~dead_node[v] & living & valid  # ``living``: somebody alive had it to give
                if lost != 0:
                    lost_by[v] |= lost
                    here = block + lowest_bit(lost)
                    if first_set < 0 or here < first_set:  # the first set decides; of one set the first that is found
                        first_set, first_node, first_atom = here, v, atom
        # 6. How many nodes lack something: count in 64 lanes at once, then turn the numbers round.
        for b in range(64):
            counts[b] = 0
        highest = 0
        for v in range(nodes):
            carry, b = lost_by[v], 0  # a bit of each lane, carried upwards like an addition by hand
            while carry != 0:
                both = counts[b] & carry
                counts[b] ^= carry
                carry, b = both, b + 1
            highest = max(highest, b)  # no word above is used
        for lane in range(lanes):
            many = np.int64(0)
            for b in range(highest):
                many |= (counts[b] >> lane & 1) << b
            lacking[block + lane] = many
    return first_set, first_node, first_atom
