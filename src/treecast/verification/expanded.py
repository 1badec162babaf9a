"""The slow verifier: it judges each send of each chunk of each source, with sets and plain loops.

It shares no code with the fast one beyond the rows, so that each checks the other. For small schedules.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import combinations, groupby, pairwise
from math import comb

import numpy as np

from treecast.collectives import Collective
from treecast.models import Model
from treecast.networks.past_relays import straight_of
from treecast.schedule import Schedule
from treecast.verification.report import SHOWN, Broken, Violation
from treecast.verification.walks import Break, Send, check_channels, check_links, check_relays, check_routes

Late = Callable[[int, int], int]
"""How many steps after it began a send between two nodes has arrived."""
_MOST_REPLAYED = 3_000_000  # sends, over all sets of faults


def check_expanded(schedule: Schedule, model: Model, shown: int = SHOWN) -> tuple[dict[str, Broken], int]:
    """Return the breaches of each rule that applies, the first ``shown`` of each in words, and the greatest depth of a tree."""
    # 1. All sends, and where breaches are noted.
    plain = schedule.plain()
    sends: list[Send] = [
        (s.step, *entry)
        for s in plain.expand()
        for entry in zip(*(column.tolist() for column in (s.src, s.dst, s.port, s.tree, s.chunk, s.row)), strict=True)
    ]
    found = {rule: list[Violation]() for rule in _rules_that_apply(plain, model)}
    breaches = Counter[str]()

    def broken(rule: str, row: int, text: str | Callable[[], str]) -> None:
        breaches[rule] += 1
        if rule in found and len(found[rule]) < shown:  # nobody reads the others
            said, lines = text if isinstance(text, str) else text(), plain.rows.lines
            if len(lines) and row >= 0:
                said = said.replace(f"row {row}", plain.rows.name(row), 1)
            found[rule].append(Violation(rule, said, row))

    # 2. How long a send keeps its ports, and when it has arrived.
    unlike = {(source, target): (gap, delay) for source, target, gap, delay in model.arcs}

    def gap_of(send: Send) -> int:
        return unlike.get((send[1], send[2]), (1, 0))[0]

    def late(src: int, dst: int) -> int:
        return unlike.get((src, dst), (1, model.latency))[1]

    # 3. What goes together in a step: one message for each row.
    by_step: dict[int, dict[int, Send]] = defaultdict(dict)  # one message per row and step, however many chunks
    telling = _control_flits(plain)
    for send in sends + telling:
        by_step[send[0]][send[6]] = send
    for (step, row), count in Counter((send[0], send[6]) for send in sends).items():
        if count > 1:
            broken("one-chunk", row, f"row {row} combines {count} chunks in one message at step {step}")
    arcs = dict[tuple[int, int], int]()
    for step, messages in by_step.items():
        busy = [send for send in sends if step - gap_of(send) < send[0] < step] if model.arcs else []
        together = [*busy, *messages.values()]
        check_links(plain, model, together, arcs, broken)
        if (straight := straight_of(plain.network)) is not None:
            check_channels(straight, model, together, broken)
    # 4. Routes, relays without buffers, and the data itself.
    if model.routing:
        check_routes(plain, model, by_step, broken)
    if not model.buffered:
        check_relays(plain, sends, telling, broken)
    _check_data(plain, sends, late, broken)
    # 5. Copies. A sparing schedule is tried under faults, as its paths depend on them.
    depth = 0
    if plain.copies > 1 and plain.collective.sums:
        broken("copies", -1, "a sum has one copy")
    elif plain.copies > 1 and plain.sparing and not plain.collective.personal:
        _check_tolerance(plain, sends, broken)
    if not plain.sparing or plain.collective.personal:
        depth = _check_copies(plain, sends, late, broken)
    return {rule: (breaches[rule], these) for rule, these in found.items()}, depth


def _rules_that_apply(plain: Schedule, model: Model) -> list[str]:
    rules = ["adjacent"]
    if not model.combining:
        rules += ["link-once", "one-chunk"]
    if model.room > 1:
        rules += ["half-port"] if model.half_port else ["send-port", "recv-port"]
    elif model.room:
        together = model.combining and model.partner == "same" and not plain.network.parallel_arcs
        rules += [] if together else ["send-port", "recv-port"]
        rules += ["one-partner"] if model.partner == "same" else []
        rules += ["half-port"] if model.half_port else []
    rules += ["channel-once"] if straight_of(plain.network) else ["duplex"] if model.duplex == "half" else []
    rules += ["holds", "delivered"]
    # a sum without an owner may be sent on before it is complete
    rules += ["complete", "once"][plain.collective.shared :] if plain.collective.sums else []
    rules += ["adds"] if plain.collective.sums and plain.network.relays is not None else []
    rules += ["copies"] if plain.copies > 1 else []
    if model.routing:
        rules = [rule for rule in rules if rule not in ("adjacent", "send-port", "recv-port", "duplex")]
        rules += ["routed", "one-role", "channel-once"]
    one_way = ["contiguous", "once", "told"] if plain.collective.personal else []
    return rules if model.buffered else [*rules, "no-buffer", *one_way]


def _check_data(plain: Schedule, sends: list[Send], late: Late, broken: Break) -> None:
    """Judge whether nodes hold the chunks that they send, and end with those that they want."""
    label = plain.network.label
    finished = _check_sums(plain, sends, late, broken) if plain.collective.sums else {}
    first: dict[tuple[int, int], int] = {}
    for node, a, b in plain.collective.given():
        first.update({(node, chunk): 0 for chunk in range(a, b)})
    first.update(finished)
    for step, src, dst, _, _, chunk, _ in sends:
        there = step + late(src, dst)
        first[dst, chunk] = min(there, first.get((dst, chunk), there))
    for step, src, _, _, _, chunk, row in sends:
        if first.get((src, chunk), step + 1) > step:
            broken("holds", row, f"row {row} at step {step}: {label(src)} does not hold chunk {chunk}")
    for node, a, b in plain.collective.wanted():
        for chunk in range(a, b):
            if (node, chunk) not in first:
                broken("delivered", -1, f"{label(node)} never receives chunk {chunk}")


def _check_tolerance(plain: Schedule, sends: list[Send], broken: Break) -> None:
    """Replay a sparing schedule under every set of copies - 1 nodes and links, which its calling paths should survive."""
    collective, nodes = plain.collective, plain.network.nodes
    links = sorted({frozenset((src, dst)) for _, src, dst, _, _, _, _ in sends}, key=sorted)
    # 1. What can fail, as far as all sets of it can be tried.
    things: list[object] = [*(v for v in range(nodes) if v != plain.initiator), *links]
    if comb(len(things), plain.copies - 1) * len(sends) > _MOST_REPLAYED:
        things = things[: -len(links)]  # too many sets: dead nodes only
    if comb(len(things), plain.copies - 1) * len(sends) > _MOST_REPLAYED:
        broken("copies", -1, "too many sets of faults to replay one by one")
        return
    # 2. Who starts, and what goes together in a step.
    answered = {(src, dst, chunk) for _, src, dst, _, tree, chunk, _ in sends if tree >= 0}
    start = collective.messages * (plain.initiator or 0)
    source = [int(collective.source_of(c)) for c in range(collective.chunks)]
    steps = [list(together) for _, together in groupby(sends, key=lambda send: send[0])]
    # 3. Replay each set: a node is silent where it said or heard the chunk before.
    for dead in map(set, combinations(things, plain.copies - 1)):
        has = {(v, c) for c, v in enumerate(source) if v not in dead}
        said, heard = set[tuple[int, int, int]](), set[tuple[int, int, int]]()
        # all of a step decide by what was there before it
        for together in steps:
            now = [
                (src, dst, chunk)
                for _, src, dst, _, _, chunk, _ in together
                if (src, chunk) in has and (src, dst, chunk) not in said
                if (dst, src, chunk) not in heard or (src, dst, chunk) in answered
                if plain.initiator in (None, source[chunk]) or (src, start) in has
            ]
            there = [(u, v, c) for u, v, c in now if v not in dead and frozenset((u, v)) not in dead]
            # said even where the link is dead: the sender does not know
            said.update(now)
            heard.update(there)
            has.update((v, c) for _, v, c in there)
        for chunk in range(collective.chunks):
            lost = [v for v in range(nodes) if v not in dead and (v, chunk) not in has]
            if lost and source[chunk] not in dead:
                broken("copies", -1, f"{plain.network.label(lost[0])} loses chunk {chunk} under some faults")
                return


def _control_flits(plain: Schedule) -> list[Send]:
    """Return the rows without chunks as sends of chunk -1."""
    return [
        (row.step, row.src, row.dst, row.port, row.tree, -1, number)
        for number, row in enumerate(plain.rows)
        if not plain.rows.payloads.ranges(row.payload)
    ]


def _check_sums(plain: Schedule, sends: list[Send], late: Late, broken: Break) -> dict[tuple[int, int], int]:
    """Carry sets of contributions along; return when which node has which finished sum, by (node, its chunk number)."""
    collective, label = plain.collective, plain.network.label
    # 1. Who has which contributions at first.
    has, everybody = dict[tuple[int, int], set[int]](), defaultdict[int, set[int]](set)
    for v in range(plain.network.nodes):
        has |= {(v, c): set() for c in range(collective.sums)}
    for v, first, stop in collective.given():
        for c in range(first, min(stop, collective.sums)):
            has[v, c].add(v)
            everybody[c].add(v)
    adds = [] if plain.network.adds is None else np.flatnonzero(plain.network.adds).tolist()
    plain_relays, passing = set(collective.relays) - {*adds}, set[tuple[int, int]]()
    gone, owner = set[tuple[int, int]](), collective.source_of(range(collective.sums)).tolist()
    changed: dict[int, int] = dict.fromkeys(range(collective.sums), 0)  # when each owner got the last contribution
    # 2. The sends of sums, by step.
    of_sums: dict[int, list[Send]] = defaultdict(list)
    whole = dict[tuple[int, int], int]()
    for send in sends:
        if send[5] < collective.sums:
            of_sums[send[0]].append(send)
    # 3. Step by step: what arrives is there before anything is sent.
    coming = defaultdict[int, list[tuple[Send, set[int]]]](list)
    for step in sorted({*of_sums, *(step + late(s[1], s[2]) for step, them in of_sums.items() for s in them)}):
        for (_, _, dst, _, _, chunk, row), carried in coming[step]:
            if (dst, chunk) in gone:
                broken("complete", row, f"row {row} reaches {label(dst)} when it has sent sum {chunk} on")
            if dst in plain_relays and (dst, chunk) in passing:
                broken("adds", row, f"row {row}: {label(dst)} has contributions to sum {chunk}, and does not add")
            passing.add((dst, chunk))
            if has[dst, chunk] & carried:
                broken("once", row, f"row {row}: {label(dst)} has some of these contributions to sum {chunk}")
            has[dst, chunk] |= carried
            if dst == owner[chunk]:
                changed[chunk] = step
            elif collective.shared and has[dst, chunk] == everybody[chunk]:
                # the first step in which it has all
                whole.setdefault((dst, collective.sums + chunk), step)
        for send in of_sums.get(step, ()):
            _, src, dst, _, _, chunk, row = send
            if not collective.shared and ((src, chunk) in gone or src == owner[chunk]):
                broken("once", row, f"row {row}: {label(src)} sends sum {chunk} again, or is its owner")
            gone.update([] if collective.shared else [(src, chunk)])
            coming[step + late(src, dst)].append((send, set(has[src, chunk])))
    # 4. Is everything at the owners in the end?
    if collective.shared:
        return whole
    for chunk, v in enumerate(owner):
        for node in sorted(everybody[chunk] - has[v, chunk]):
            broken("delivered", -1, f"the contribution of {label(node)} to sum {chunk} does not arrive")
    if not collective.results:
        return {}
    return {(owner[c], collective.sums + c): step for c, step in changed.items() if everybody[c]}


def _check_copies(plain: Schedule, sends: list[Send], late: Late, broken: Break) -> int:
    """Check that every chunk reaches every node over enough disjoint paths of trees; return the greatest length of a way."""
    collective, label = plain.collective, plain.network.label
    # of (root of the chunk, or the chunk where it is personal, or its class; tree; node)
    source: dict[tuple[int, int, int], int] = {}
    by: dict[tuple[int, int, int], int] = {}  # the port
    when: dict[tuple[int, int, int], int] = {}  # of (tree, chunk, node)
    trees_of: dict[int, set[int]] = defaultdict(set)
    if collective.sums:
        return _depth_of_sums(plain, sends)

    # 1. Which chunks go by the same trees, who has each, and who wants it.
    ends = [_ends_of(collective, chunk) for chunk in range(collective.chunks)]
    # 2. By which way each chunk comes to each node in each tree.
    for step, src, dst, port, tree, chunk, row in sends:
        if tree >= 0:
            key = ends[chunk][0]
            # one source in a tree, or its ways would not be known
            if source.setdefault((key, tree, dst), src) != src:
                broken("copies", row, f"row {row}: a second source of {label(dst)} in tree {tree}")
            by.setdefault((key, tree, dst), port)
            when.setdefault((tree, chunk, dst), step + late(src, dst))
            trees_of[chunk].add(tree)
    # 3. It was there by the same tree before it went on.
    for step, src, _, _, tree, chunk, row in sends:
        if tree >= 0 and src not in ends[chunk][1] and when.get((tree, chunk, src), step + 1) > step:
            broken("copies", row, f"row {row}: {label(src)} has not got chunk {chunk} by way of tree {tree}")
    # 4. The ways of each chunk to each node that wants it: enough of them, and apart.
    deepest, relays = 0, set(collective.relays)
    for chunk, (key, holders, wanters) in enumerate(ends):
        for node in wanters:
            if node in holders or relays & {node, *holders}:
                continue
            ways: list[list[int]] = []
            needs: list[set[object]] = []
            for tree in sorted(trees_of[chunk]):
                if (tree, chunk, node) in when:
                    way = [node]
                    # a circle of sources has an end, too
                    while way[-1] not in holders and len(way) <= plain.network.nodes and (key, tree, way[-1]) in source:
                        way.append(source[key, tree, way[-1]])
                    ways.append(way)
                    used = _needs(plain.against, way, [by.get((key, tree, v), -1) for v in way[:-1]])
                    # of several holders one may die
                    needs.append(used | {way[-1]} if len(holders) > 1 and plain.against == "nodes" else used)
                    deepest = max(deepest, len(way) - 1)
            if len(ways) < plain.copies:
                broken("copies", -1, f"chunk {chunk} reaches {label(node)} by {len(ways)} trees, not {plain.copies}")
            # each pair of ways
            for one, other in combinations(needs, 2):
                if one & other:
                    broken("copies", -1, f"two paths of chunk {chunk} to {label(node)} meet")
    return deepest


def _ends_of(collective: Collective, chunk: int) -> tuple[int, set[int], list[int]]:
    """Return a number for the chunks that have trees together with one, who has it at first, and who wants it."""
    if collective.demand is not None:
        number = int(collective.place_of(chunk)[0])
        ((_, (holders,), wanters),) = collective.demand.take(np.array([number])).numbered()
        return number, {*holders}, [*wanters]
    root = int(collective.source_of(chunk))
    if collective.personal:
        return chunk, {root}, [int(collective.destination_of(chunk))]
    return root, {root}, [*collective.targets] or collective.ranks.tolist()


def _needs(against: str, way: list[int], ports: list[int]) -> set[object]:
    """Return the parts of a way that may fail: its inner nodes, and the link of a way of one arc; its links; or its arcs."""
    if against == "nodes":
        return set(way[1:-1]) if len(way) != 2 else {frozenset(way)}
    if against == "links":
        return {frozenset(ends) for ends in pairwise(way)}
    return set(zip(way[1:], ports, strict=True))


def _depth_of_sums(plain: Schedule, sends: list[Send]) -> int:
    """Return the greatest number of arcs, along a tree, from a node that contributes to a sum to its owner.

    Of finished sums: from the owner to a node that gets one.
    """
    sums, results, step_to = plain.collective.sums, plain.collective.results, dict[tuple[int, int], int]()
    for _, src, dst, _, tree, chunk, _ in sends:
        if tree >= 0 and (chunk >= sums) == results:
            step_to.setdefault((dst, chunk) if results else (src, chunk), src if results else dst)
    deepest = 0
    for node, chunk in step_to:
        length, at = 0, node
        while (at, chunk) in step_to and length <= plain.network.nodes:
            length, at = length + 1, step_to[at, chunk]
        deepest = max(deepest, length)
    return deepest
