"""What tests hold the package against: plain loops over single sends, and networkx. Nothing here uses compiled code."""

from collections import Counter, defaultdict
from itertools import combinations, pairwise

import networkx as nx
import numpy as np

from treecast.networks import Network


def graph_of(network: Network) -> nx.DiGraph:
    """The network as a graph whose arcs know their port, built from scalar calls alone."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(network.nodes))
    for u in range(network.nodes):
        for port in range(network.ports):
            v = int(network.neighbor(u, port))
            if v >= 0:
                graph.add_edge(u, v, port=port)
    return graph


def sends_of(schedule):
    """Every single send as (step, src, dst, port, tree, chunk, row), read off the columns row by row."""
    rows = schedule.rows
    sends, known = [], {}
    names = ("step", "steps", "src", "dst", "port", "tree", "payload")
    columns = (getattr(rows, name).tolist() for name in names)
    for r, (step, steps, *ends, payload) in enumerate(zip(*columns, strict=True)):
        if payload not in known:
            known[payload] = [c for a, b in rows.payloads.ranges(payload) for c in range(a, b)]
        chunks = known[payload]
        if steps > 1:
            pace, over = divmod(steps - 1, len(chunks) - 1)
            assert not over
            sends += [(step + i * pace, *ends, chunk, r) for i, chunk in enumerate(chunks)]
        else:
            sends += [(step, *ends, chunk, r) for chunk in chunks]
    return sorted(sends)


def replay(schedule, node_dies=None, arc_dies=None):
    """Replay a schedule send by send; return (arrival step by (node, chunk), sends made, their last step + 1).

    A node sends what it holds when it is alive. It holds a sum once every send of it to the node has arrived.
    """
    node_dies, arc_dies, collective = node_dies or {}, arc_dies or {}, schedule.collective
    data, sums = tasks_of(collective.kind, collective.nodes, collective.messages, collective.root, collective.owners)
    results = {result for _, result in sums.values()}
    living = [v for v in range(collective.nodes) if node_dies.get(v, 1) > 0]
    arrival = {(start, c): 0 for c, (start, _) in data.items() if start in living and c not in results}
    awaited, by_step = Counter(), defaultdict(list)
    for send in all_sends_of(schedule):
        by_step[send[0]].append(send)
        awaited[send[2], send[5]] += 1

    def add_up(v, c, step):
        arrival[v, c] = step
        if sums[c][0] == v and sums[c][1] is not None:
            arrival[v, sums[c][1]] = step

    for v in living:
        for c in sums:
            if not awaited[v, c]:
                add_up(v, c, 0)
    made, last = 0, 0
    for step in sorted(by_step):
        new = []
        for _, src, dst, port, _, chunk, *_ in by_step[step]:
            alive = step < node_dies.get(src, step + 1)
            if alive and arrival.get((src, chunk), step + 1) <= step:
                made, last = made + 1, step + 1  # into a cut arc, too: nobody knows
                if step < node_dies.get(dst, step + 1) and step < arc_dies.get((src, port), step + 1):
                    new.append((dst, chunk))
        for v, c in new:
            if c not in sums:
                arrival.setdefault((v, c), step + 1)
                continue
            awaited[v, c] -= 1
            if not awaited[v, c]:
                add_up(v, c, step + 1)
    return arrival, made, last


def wanted_of(schedule, node_dies=None):
    """What every node is to end with under faults: a set of chunks each, nothing where it fails.

    What a node alone had that was dead from the start cannot be had.
    """
    collective, node_dies = schedule.collective, node_dies or {}
    data, sums = tasks_of(collective.kind, collective.nodes, collective.messages, collective.root, collective.owners)
    results = {result for _, result in sums.values()}
    wanted = [set() for _ in range(collective.nodes)]
    for chunk, (start, wanting) in data.items():
        if chunk in results or node_dies.get(start, 1) > 0:
            for v in wanting:
                wanted[v].add(chunk)
    for chunk, (owner, result) in sums.items():
        if result is None:
            wanted[owner].add(chunk)
    return [set() if v in node_dies else chunks for v, chunks in enumerate(wanted)]


def parts_of(schedule, data):
    """The true contents of every chunk: bytes, or for sums a list of numbers added up in plain integers."""
    collective = schedule.collective
    if not collective.sums:
        ends = [c * len(data) // collective.chunks for c in range(collective.chunks + 1)]
        return [data[a:b] for a, b in pairwise(ends)]
    length = -(-len(data) // collective.nodes)
    shares = [data[v * length : (v + 1) * length].ljust(length, b"\0") for v in range(collective.nodes)]
    total = [sum(column) for column in zip(*shares, strict=True)]
    ends = [c * length // collective.sums for c in range(collective.sums + 1)]
    return [total[a:b] for a, b in pairwise(ends)] * (2 if collective.results else 1)


def everybody_served(schedule, dead=()):
    """Whether every node that is not in ``dead`` gets every chunk when those in ``dead`` are, from the start."""
    arrival, _, _ = replay(schedule, dict.fromkeys(dead, 0))
    return all(
        (v, c) in arrival
        for v in range(schedule.network.nodes)
        if v not in dead
        for c in range(schedule.collective.messages)
    )


def is_right(schedule, graph):
    """Whether a plain all-port broadcast obeys adjacency, holding, one chunk an arc and step, delivery and its claims."""
    arrival = {(schedule.collective.root, c): 0 for c in range(schedule.collective.messages)}
    sends, taken = sends_of(schedule), []
    for step, _, dst, _, _, chunk, _ in sends:
        arrival[dst, chunk] = min(arrival.get((dst, chunk), step + 1), step + 1)
    for step, src, dst, port, _, chunk, _ in sends:
        if not graph.has_edge(src, dst) or graph[src][dst]["port"] != port:
            return False
        if arrival.get((src, chunk), step + 1) > step:
            return False
        taken.append((step, src, port))
    if len(set(taken)) != len(taken):
        return False
    last = max((s[0] + 1 for s in sends), default=0)
    claims = schedule.claims
    if claims is not None and (claims.steps, claims.transmissions) != (last, len(sends)):
        return False
    nodes, messages = schedule.network.nodes, schedule.collective.messages
    return all((v, c) in arrival for v in range(nodes) for c in range(messages))


PART_OF_NODE_ZERO = {
    "allgather": "broadcast",
    "alltoall": "scatter",
    "reduce-scatter": "reduce",
    "allreduce": "reduce-broadcast",
}


def tasks_of(kind, nodes, messages, root=0, owners=()):
    """What a collective is, chunk by chunk, by the definitions: two dictionaries.

    ``owners``: the first sum of each run of sums that end at another node, and that node.

    Of each chunk of data, {chunk: (node where it starts, set of nodes that must get it)}; a finished sum starts at its
    owner. Of each sum, {chunk: (owner, chunk number of the finished sum or None)}.
    """
    every, data, sums = set(range(nodes)), {}, {}

    def owner(chunk, usual):
        return next((node for first, node in reversed(owners) if first <= chunk), usual)

    for c in range(messages):
        if kind == "broadcast":
            data[c] = (root, every)
        elif kind == "reduce":
            sums[c] = (root, None)
        elif kind == "reduce-broadcast":
            sums[c] = (owner(c, root), messages + c)
            data[messages + c] = (owner(c, root), every)
        for v in range(nodes):
            if kind == "scatter":
                data[v * messages + c] = (root, {v})
            elif kind == "gather":
                data[v * messages + c] = (v, {root})
            elif kind == "allgather":
                data[v * messages + c] = (v, every)
            elif kind == "reduce-scatter":
                sums[v * messages + c] = (v, None)
            elif kind == "allreduce":
                chunk = v * messages + c
                sums[chunk] = (owner(chunk, v), nodes * messages + chunk)
                data[nodes * messages + chunk] = (owner(chunk, v), every)
            elif kind == "alltoall":
                for h in range(nodes):
                    data[(h * nodes + v) * messages + c] = (h, {v})
    return data, sums


def translations_of(network):
    """Where the translation by each node carries each node."""
    return [[int(v) for v in network.translate(h, list(range(network.nodes)))] for h in range(network.nodes)]


def all_sends_of(schedule):
    """Every single send, of an orbit for every source: (step, src, dst, port, tree, chunk, row of the orbit, source)."""
    if not schedule.orbit:
        return [(*send, 0) for send in sends_of(schedule)]
    kind, nodes, m = schedule.collective.kind, schedule.network.nodes, schedule.collective.messages
    carried = translations_of(schedule.network)
    sends, first = [], sends_of(schedule)
    for h in range(nodes):
        for step, src, dst, port, tree, chunk, row in first:
            if kind in ("allgather", "reduce-scatter"):
                number = h * m + chunk
            elif kind == "alltoall":
                number = (h * nodes + carried[h][chunk // m]) * m + chunk % m
            elif kind == "allreduce":
                number = h * m + chunk if chunk < m else nodes * m + h * m + chunk - m
            else:
                raise AssertionError(kind)
            sends.append((step, carried[h][src], carried[h][dst], port, tree, number, row, h))
    return sorted(sends)


def added_up(sends, sums, nodes):
    """Carry bags of contributions along: a node sends what it has of a sum, and adds what arrives to it.

    Return ({chunk: the owner's bag at the end}, {chunk: step from which the owner's bag no longer changes}, the sums of
    which some node but the owner does not send exactly once, after all that it gets of it has arrived).
    """
    bags = {(v, chunk): Counter([v]) for v in range(nodes) for chunk in sums}
    left, arrived = defaultdict(list), defaultdict(list)
    by_step = defaultdict(list)
    for step, src, dst, _, _, chunk, *_ in sends:
        if chunk in sums:
            by_step[step].append((src, dst, chunk))
            left[src, chunk].append(step)
            arrived[dst, chunk].append(step + 1)
    for step in sorted(by_step):
        moving = [(dst, chunk, Counter(bags[src, chunk])) for src, dst, chunk in by_step[step]]
        for dst, chunk, bag in moving:
            bags[dst, chunk] += bag
    untidy = set()
    for chunk, (owner, _) in sums.items():
        for v in range(nodes):
            times = left[v, chunk]
            once = not times if v == owner else len(times) == 1 and times[0] >= max(arrived[v, chunk], default=0)
            if not once:
                untidy.add(chunk)
    final = {chunk: bags[owner, chunk] for chunk, (owner, _) in sums.items()}
    finished = {chunk: max(arrived[owner, chunk], default=0) for chunk, (owner, _) in sums.items()}
    return final, finished, untidy


def ways_of(sends, start):
    """The ways of one chunk in each tree, from its sends: {tree: {node: the nodes from the start to it}}."""
    ways = {}
    for step, src, dst, _, tree, *_ in sorted(sends):
        if tree >= 0:
            known = ways.setdefault(tree, {start: (0, [start])})
            if src in known and known[src][0] <= step and dst not in known:
                known[dst] = (step + 1, [*known[src][1], dst])
    return {tree: {v: way for v, (_, way) in known.items()} for tree, known in ways.items()}


def disjoint(one, other):
    """Whether two ways between the same ends share no node but these, and no arc."""
    return not set(one[1:-1]) & set(other[1:-1]) and not len(one) == len(other) == 2


def has_disjoint_ways(ways, node, copies):
    """Whether among the ways to a node some ``copies`` are disjoint from one another."""
    there = [ways[tree][node] for tree in ways if node in ways[tree]]
    return any(all(disjoint(a, b) for a, b in combinations(some, 2)) for some in combinations(there, copies))


def faults_found(schedule, graph):
    """What is wrong with any schedule of any collective under all-port, as a set of words; empty: nothing.

    ``adjacent``, ``arc`` (two chunks on an arc in a step), ``holds``, ``delivered``, ``sum`` (a contribution is missing or
    added twice), ``copies``, ``claims``; ``untidy``: sums end well, but some node sends one other than once and last.
    """
    nodes, collective = schedule.network.nodes, schedule.collective
    data, sums = tasks_of(collective.kind, nodes, collective.messages, collective.root, collective.owners)
    if collective.owners:  # others complete the sums than those that they are numbered for
        owner = {chunk: max(run for run in collective.owners if run[0] <= chunk)[1] for chunk in sums}
        data |= {result: (owner[chunk], data[result][1]) for chunk, (_, result) in sums.items() if result is not None}
        sums = {chunk: (owner[chunk], result) for chunk, (_, result) in sums.items()}
    sends, wrong = all_sends_of(schedule), set()
    if any(not graph.has_edge(s[1], s[2]) or graph[s[1]][s[2]]["port"] != s[3] for s in sends):
        wrong.add("adjacent")
    if len({(s[0], s[1], s[3]) for s in sends}) != len(sends):
        wrong.add("arc")
    final, finished, untidy = added_up(sends, sums, nodes)
    if any(bag != Counter(range(nodes)) for bag in final.values()):
        wrong.add("sum")
    if untidy:
        wrong.add("untidy")
    arrival = {(start, chunk): 0 for chunk, (start, _) in data.items()}
    for chunk, (owner, result) in sums.items():
        if result is not None:
            arrival[owner, result] = finished[chunk]
    for step, _, dst, _, _, chunk, *_ in sends:
        if chunk in data:
            arrival[dst, chunk] = min(arrival.get((dst, chunk), step + 1), step + 1)
    for step, src, _, _, _, chunk, *_ in sends:
        if chunk in data and arrival.get((src, chunk), step + 1) > step:
            wrong.add("holds")
    if any((v, chunk) not in arrival for chunk, (_, wanting) in data.items() for v in wanting):
        wrong.add("delivered")
    claims = schedule.claims
    if claims is not None and (claims.steps, claims.transmissions) != (
        max((s[0] + 1 for s in sends), default=0),
        len(sends),
    ):
        wrong.add("claims")
    if schedule.copies > 1:
        of_chunk = defaultdict(list)
        for send in sends:
            of_chunk[send[5]].append(send)
        lacking = bool(sums)  # contributions that went two ways would be added twice
        for chunk, (start, wanting) in data.items():
            ways = ways_of(of_chunk[chunk], start)
            lacking = lacking or not all(has_disjoint_ways(ways, v, schedule.copies) for v in wanting if v != start)
        if lacking:
            wrong.add("copies")
    return wrong


def lost_under(schedule, sends, dead_nodes=(), dead_arcs=()):
    """What living nodes want, some living node held, and they never get under faults from the start: {(node, chunk)}.

    For collectives without sums; ``sends`` as ``all_sends_of`` gives them, ``dead_arcs`` as (source, port).
    """
    data, _ = tasks_of(
        schedule.collective.kind, schedule.network.nodes, schedule.collective.messages, schedule.collective.root
    )
    dead_nodes, dead_arcs = set(dead_nodes), set(dead_arcs)
    held = {(start, chunk): 0 for chunk, (start, _) in data.items() if start not in dead_nodes}
    for step, src, dst, port, _, chunk, *_ in sends:
        if dst not in dead_nodes and (src, port) not in dead_arcs and held.get((src, chunk), step + 1) <= step:
            held.setdefault((dst, chunk), step + 1)
    return {
        (v, chunk)
        for chunk, (start, wanting) in data.items()
        if start not in dead_nodes
        for v in wanting - dead_nodes
        if (v, chunk) not in held
    }


def lexicographic(n):
    """All permutations of 1 … n in lexicographic order, as an array of rows."""
    from itertools import permutations

    return np.array(list(permutations(range(1, n + 1))))


def replay_sparing(schedule, node_dies=None, arc_dies=None, sends=None):
    """Replay a sparing schedule send by send, by the definition; return (arrival step by (node, chunk), sends made).

    A row is silent when its source has sent that payload over that link, or received it over it, at an earlier step;
    "sent" whether or not the link or the receiver was dead. Payloads share no chunks, so that a chunk stands for its payload.
    Where an initiator starts the others, a node sends its first chunk alone until it has it. Where a row that names a tree has a
    chunk over an arc, what was received from there does not silence it.
    A send that is made is (step, source, port, chunk), whoever is there to hear it. ``sends``: what ``all_sends_of`` gives.
    """
    node_dies, arc_dies, collective = node_dies or {}, arc_dies or {}, schedule.collective
    data, _ = tasks_of(collective.kind, collective.nodes, collective.messages, collective.root)
    arrival = {(start, c): 0 for c, (start, _) in data.items() if node_dies.get(start, 1) > 0}
    gone, made, by_step = set(), [], defaultdict(list)  # gone: (node, other end of the link, chunk)
    answered = set()
    for send in all_sends_of(schedule) if sends is None else sends:
        by_step[send[0]].append(send)
        if send[4] >= 0:
            answered.add((send[1], send[2], send[5]))
    for step in sorted(by_step):
        spoken, heard = [], []
        for _, src, dst, port, _, chunk, *_ in by_step[step]:
            held = arrival.get((src, chunk), step + 1) <= step
            if not held or step >= node_dies.get(src, step + 1) or (src, dst, chunk) in gone:
                continue
            first = None if schedule.initiator is None else schedule.initiator * collective.messages
            of_another = first is not None and not first <= chunk < first + collective.messages
            if of_another and arrival.get((src, first), step + 1) > step:
                continue
            spoken.append((src, dst, chunk))
            made.append((step, src, port, chunk))
            if step < arc_dies.get((src, port), step + 1) and step < node_dies.get(dst, step + 1):
                heard.append((dst, src, chunk))
        for v, u, c in heard:
            arrival.setdefault((v, c), step + 1)
            if (v, u, c) not in answered:
                gone.add((v, u, c))
        gone.update(spoken)
    return arrival, sorted(made)


class Whisperer:
    """A node of Chau & Fu's gossip, one port at a time. It knows its label, d, the order, k, and what it said and heard."""

    def __init__(self, label, d, order, k, mine, fault_free=False):
        self.held = {label} if mine else set()
        units = min(k + 1, d - 1 if fault_free else d) if k else 0
        self.ports = [*order, *order[:units]]  # phase 1, then the extended units
        self.list = [set() for _ in range(d)]  # L_i: what it has sent or received over dimension i

    def say(self, step):
        port = self.ports[step]
        message = self.held - self.list[port]
        self.list[port] |= message
        return {port: message}

    def hear(self, step, port, message):
        self.held |= message
        self.list[port] |= message

    @property
    def steps(self):
        return len(self.ports)


class Shouter:
    """A node that shouts: what is new to it goes out at once, over all dimensions behind the last one by which its label
    differs from the source's, and over the first k + 1 if faults are to be survived, but not back to where it came from.
    """

    def __init__(self, label, d, order, k, mine, fault_free=False):
        self.label, self.order, self.repeated = label, order, k + 1 if k else 0
        self.held, self.new, self.came_by = set(), {label: set()} if mine else {}, {}
        self.steps = d + (0 < k == d - 1 and not fault_free)

    def say(self, step):
        said = {port: set() for port in self.order}
        for source, over in self.new.items():
            differs = [i for i, port in enumerate(self.order) if (self.label ^ source) >> port & 1]
            last = differs[-1] if differs else -1
            for i, port in enumerate(self.order):
                if (i > last or i < self.repeated) and port not in over:
                    said[port].add(source)
        self.held |= set(self.new)
        self.new = {}
        return said

    def hear(self, step, port, message):
        for source in message - self.held:
            self.new.setdefault(source, set()).add(port)


def talk(model, d, order, k, sources, fault_free=False, node_dies=None, arc_dies=None, began=0, mute=()):
    """Let the nodes of a hypercube run the protocol, each by itself, from step ``began`` on; k faults are to be survived.

    ``mute``: nodes that say nothing.

    Return (what each node ends with, the sends as (step, source, port, source of the chunk), steps).
    """
    node_dies, arc_dies = node_dies or {}, arc_dies or {}
    kind = {"whispering": Whisperer, "shouting": Shouter}[model]
    nodes = [kind(v, d, list(order), k, v in sources, fault_free) for v in range(1 << d)]
    made = []
    for unit in range(nodes[0].steps):
        step = began + unit
        alive = [step < node_dies.get(v, step + 1) for v in range(1 << d)]
        said = [(v, node.say(unit)) for v, node in enumerate(nodes) if alive[v] and v not in mute]
        for v, messages in said:
            for port, message in messages.items():
                if message:
                    made += [(step, v, port, source) for source in message]
                    if alive[v ^ (1 << port)] and step < arc_dies.get((v, port), step + 1):
                        nodes[v ^ (1 << port)].hear(unit, port, message)
    held = [node.held | set(getattr(node, "new", ())) for node in nodes]
    return held, sorted(made), nodes[0].steps


def talk_in_four_phases(model, d, order, k, initiator, fault_free=False, node_dies=None, arc_dies=None):
    """The initiator's broadcast, and then that of all others whom it has reached; returns as ``talk``.

    Whom it has not reached does not know that there is a gossip, and says nothing.
    """
    given = {"fault_free": fault_free, "node_dies": node_dies, "arc_dies": arc_dies}
    told, first, steps = talk(model, d, order, k, {initiator}, **given)
    started = {v for v in range(1 << d) if initiator in told[v]}
    mute = set(range(1 << d)) - started
    held, then, more = talk(model, d, order, k, started - {initiator}, **given, began=steps, mute=mute)
    return [a | b for a, b in zip(told, held, strict=True)], sorted(first + then), steps + more


def sends_that_took_place(trace):
    """The sends of a Trace as (step, source, port, chunk), one entry for each chunk by itself."""
    rows, found = trace.schedule.rows, []
    for atom in range(len(trace.atoms)):
        first, stop = int(trace.atoms.bounds[atom]), int(trace.atoms.bounds[atom + 1])
        for i in range(int(trace.moves.start[atom]), int(trace.moves.start[atom + 1])):
            if trace.moved[i]:
                row, time = int(trace.moves.row[i]), int(trace.moves.time[i])
                moves = int(trace.atoms.shift[atom])
                ends = int(rows.src[row]), int(rows.port[row])
                found += [(time + moves * (c - first), *ends, c) for c in range(first, stop)]
    return sorted(found)
