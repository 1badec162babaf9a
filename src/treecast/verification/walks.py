"""The slow verifier of what goes together in a step: links and ports, and routes, which it walks from node to node.

It keeps them in sets, and shares no code with the fast one beyond the coordinates of single nodes.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import groupby, pairwise

from treecast.models import Model
from treecast.networks import Grid
from treecast.networks.kept import kept
from treecast.networks.past_relays import PastRelays
from treecast.schedule import Schedule

Send = tuple[int, int, int, int, int, int, int]
"""Step, source, destination, port, tree, chunk, row."""
Break = Callable[[str, int, str | Callable[[], str]], None]
"""Notes that a rule is broken by a row, -1 for none, and why."""


def check_links(
    plain: Schedule, model: Model, messages: list[Send], arcs: dict[tuple[int, int], int], broken: Break
) -> None:
    """Judge the messages of one step on arcs, links and ports, those that began before first.

    ``arcs``: where arcs lead that were asked for before.
    """
    # 1. What is taken so far in this step.
    label = plain.network.label
    used, links = set[object](), set[object]()
    senders, receivers, both = (defaultdict[int, set[object]](set) for _ in range(3))
    partner = dict[int, int]()

    def at_fault(rule: str, send: Send, why: str, *nodes: int) -> None:
        step, src, dst, _, _, _, row = send
        if step < messages[-1][0]:  # said when it began
            return

        def text() -> str:
            return f"row {row}: {label(src)} > {label(dst)} at step {step}: {why.format(*map(label, nodes))}"

        broken(rule, row, text)

    for send in messages:
        _, src, dst, port, _, _, row = send
        # 2. The arc is there. Its name is asked for once.
        existing = 0 <= port < plain.network.ports
        if existing and (src, port) not in arcs:
            arcs[src, port] = int(plain.network.neighbor(src, port))
        if not existing or arcs[src, port] != dst:
            at_fault("adjacent", send, f"no arc by port {port} leads there" if port >= 0 else "no arc leads there")
        # 3. The ports of both ends: one message may hold several chunks where they combine.
        cable = int(plain.network.cable(src, port))
        link = (src, dst, cable) if model.combining else (frozenset((src, dst)), cable)
        message = (src, port) if model.combining else (send[0], row)
        for rule, node, taken in (("send-port", src, senders), ("recv-port", dst, receivers)):
            both[node].add((rule, message))
            if len(taken[node]) < model.room:
                taken[node].add(message)
            elif message not in taken[node]:
                at_fault(rule, send, "{} is busy", node)
        # over one port who sends may not receive; over several both together have so many
        if max(len(both[src]), len(both[dst])) > model.room if model.room > 1 else receivers[src] or senders[dst]:
            at_fault("half-port", send, "a node sends and receives")
        # 4. The link, one way and the other.
        for rule, key, taken in (("link-once", (src, port), used), ("duplex", link, links)):
            if rule == "link-once" and not existing:
                continue
            if key in taken and not (rule == "duplex" and model.combining):
                at_fault(rule, send, "taken in this step already")
            taken.add(key)
        if model.combining and src != dst and (dst, src, cable) in links:  # chunks that go the same way are one message
            at_fault("duplex", send, "something comes the other way")
        # 5. Each end has one partner.
        for a, b in ((src, dst), (dst, src)):
            if partner.setdefault(a, b) != b:
                at_fault("one-partner", send, "{} is busy with {}", a, partner[a])


def check_routes(plain: Schedule, model: Model, by_step: dict[int, dict[int, Send]], broken: Break) -> None:
    """Walk every message from node to node, one arc after the other, and see that no two of a step meet."""
    network = plain.network.grid
    if network is None:
        broken("routed", -1, f"there are no wormhole routes on {plain.network.spec}")
        return
    for step, messages in by_step.items():
        busy, crossed = set[int](), set[object]()
        for _, src, dst, port, _, _, row in messages.values():
            if port != -1 or src == dst:
                broken("routed", row, f"row {row} at step {step} goes nowhere, or names a port")
                continue
            if src in busy or dst in busy:
                broken("one-role", row, f"row {row} at step {step} meets a busy node")
            busy |= {src, dst}
            at = src
            for axis in _turns(network, model.routing, src, dst):
                ahead = [v for v in _beside(network, at, axis) if _apart(network, v, dst) < _apart(network, at, dst)]
                # there are two halfway round a torus: then upwards
                side, stride = network.sides[axis], network.strides[axis]
                up = at + ((at // stride % side + 1) % side - at // stride % side) * stride
                after = up if up in ahead else ahead[0]
                channel = frozenset((at, after)) if model.duplex == "half" else (at, after)
                if channel in crossed:
                    broken("channel-once", row, f"row {row} at step {step} crosses a busy channel")
                crossed.add(channel)
                at = after


def check_channels(network: PastRelays, model: Model, messages: list[Send], broken: Break) -> None:
    """Walk every message of a step along its route past relays, and see that no two cross an arc, of half duplex a link."""
    whole, crossed = network.whole, dict[object, object]()
    for step, src, dst, port, _, _, row in messages:
        if int(network.neighbor(src, port)) != dst:
            continue  # there is no such arc, as another rule says
        at, message = whole.node(network.label(src)), (src, port) if model.combining else (step, row)
        for place, (node, by) in enumerate(network.route(src, port)):
            # inside a route are relays that do not add
            passes = whole.relays is not None and bool(whole.relays[at]) and (whole.adds is None or not whole.adds[at])
            if node != at or passes != (place > 0):
                broken("adjacent", row, f"row {row} at step {step}: its route is broken")
            at = int(whole.neighbor(node, by))
            way = (node, by)
            channel = frozenset((way, (at, int(whole.back(node, by))))) if model.duplex == "half" else way
            if crossed.setdefault(channel, message) != message:
                broken("channel-once", row, f"row {row} at step {step} crosses a busy link")
        if at != whole.node(network.label(dst)):
            broken("adjacent", row, f"row {row} at step {step}: its route leads elsewhere")


def _turns(network: Grid, routing: str, src: int, dst: int) -> list[int]:
    """Return the axes along which a message moves, one move after the other."""
    moves: list[tuple[Fraction, int]] = []
    for axis, (a, b, side) in enumerate(zip(*network.coordinates([src, dst]).T.tolist(), network.sides, strict=True)):
        length = min(abs(a - b), side - abs(a - b)) if network.wraps else abs(a - b)
        moves += [(Fraction(2 * k + 1, 2 * length), axis) for k in range(length)]
    if routing == "diagonal":
        return [axis for _, axis in sorted(moves)]
    return sorted((axis for _, axis in moves), reverse=routing == "last")


# asked for by every message that comes by, of small networks alone
@kept(1 << 14)
def _beside(network: Grid, u: int, axis: int) -> list[int]:
    """Return the neighbours of a node along an axis."""
    here = network.coordinates(u)[axis]
    return [v for v in network.neighbors(u) if network.coordinates(v)[axis] != here]


@kept(1 << 14)
def _apart(network: Grid, u: int, v: int) -> int:
    return int(network.distance(u, v))


def _keepers(plain: Schedule) -> set[tuple[int, int]]:
    """Return each node and chunk that the node has at first, adds to, or wants."""
    every = (*plain.collective.given(), *plain.collective.wanted())
    return {(node, chunk) for node, first, stop in every for chunk in range(first, stop)}


def check_relays(plain: Schedule, sends: list[Send], telling: list[Send], broken: Break) -> None:
    """Follow every flit from node to node, and every control flit to who may begin because of it."""
    collective, label, keepers = plain.collective, plain.network.label, _keepers(plain)
    # 1. Where and when each flit comes and leaves.
    came, left = defaultdict[tuple[int, int], list[int]](list), defaultdict[tuple[int, int], list[Send]](list)
    for send in sends:
        step, src, dst, _, _, chunk, row = send
        if collective.personal and (left[src, chunk] or came[dst, chunk]):
            broken("once", row, f"row {row}: chunk {chunk} leaves {label(src)} or reaches {label(dst)} again")
        left[src, chunk].append(send)
        came[dst, chunk].append(step)
    # 2. It leaves in the step after it came, or it waits; a sum after all that came.
    for (src, chunk), there in left.items():
        done = chunk - collective.sums  # who completes a sum sends it on as its contributions came
        done = done if collective.results and done >= 0 and int(collective.source_of(chunk)) == src else -1
        before = came.get((src, done if done >= 0 else chunk), [])
        for step, _, _, _, _, _, row in there:
            late = min(before, default=step) < step - 1
            summed = chunk < collective.sums or done >= 0
            if late and (src, chunk) not in keepers and (summed or step - 1 not in before):
                broken("no-buffer", row, f"row {row}: chunk {chunk} waits at {label(src)}")
    if not collective.personal:
        return
    # 3. The flits of a message leave one behind the other, to one node.
    ends = collective.ends().tolist()
    for first, stop in pairwise(ends):
        for src in {src for src, chunk in left if first <= chunk < stop}:
            whole = [left.get((src, chunk), []) for chunk in range(first, stop)]
            when = {(s[0] - s[5], s[2]) for there in whole for s in there}
            if len(when) > 1 or not all(whole):
                broken(
                    "contiguous", -1, f"{label(src)} interrupts or divides the message of chunks {first} to {stop - 1}"
                )
    # 4. Nobody begins before he is told to.
    if collective.direction == "to":
        trees = {send[4] for send in telling}
        for tree in trees:
            here, said = ([send for send in some if len(trees) == 1 or send[4] == tree] for some in (sends, telling))
            _check_telling(plain, here, said, broken)
        for _, _, _, _, tree, _, row in sends if len(trees) > 1 else ():
            if tree not in trees:
                broken("told", row, f"row {row}: nobody is told to begin on tree {tree}")


def _check_telling(plain: Schedule, sends: list[Send], telling: list[Send], broken: Break) -> None:
    """Replay control flits: a node's knowledge when it speaks."""
    # 1. Who told each node first is above it. What comes from below is a report.
    root, above = plain.collective.root, dict[int, int]()
    for _, src, dst, _, _, _, _ in sorted(telling):
        if dst != root:
            above.setdefault(dst, src)
    from_above, to_below = Counter[int](), Counter[tuple[int, int]]()
    heard_last = {dst: step for step, src, dst, _, _, _, _ in sorted(telling) if above.get(dst) == src}
    reports = [(step, dst) for step, src, dst, _, _, _, _ in telling if above.get(dst) != src]
    # 2. A node speaks downwards as often as it was told, upwards when all that reports to it has done so.
    for _, together in groupby(sorted(telling), key=lambda send: send[0]):
        now = list(together)
        for step, src, dst, _, _, _, row in now:
            if above.get(dst) == src:
                which = to_below[src, dst] + 1
                early = (
                    from_above[src] < which
                    if src != root
                    else which > 1 and any(at >= step for at, to in reports if to == root)
                )
            else:
                early = not from_above[src] or any(at >= step for at, to in reports if to == src)
            if early:
                broken("told", row, f"row {row}: {plain.network.label(src)} cannot know this yet")
        for _, src, dst, _, _, _, _ in now:
            if above.get(dst) == src:
                from_above[dst] += 1
                to_below[src, dst] += 1
    # 3. Each node certifies once, and sends data only after its last order.
    answers = Counter(src for _, src, dst, _, _, _, _ in telling if above.get(dst) != src)
    for _, src, dst, _, _, _, row in telling:
        if answers and above.get(dst) == src and answers[dst] != 1:
            broken("told", row, f"row {row}: {plain.network.label(dst)} does not certify once")
    for step, src, _, _, _, _, row in sends:
        if from_above[src] != (2 if answers else 1) or step <= heard_last[src]:
            broken("told", row, f"row {row}: {plain.network.label(src)} sends before it is told")
