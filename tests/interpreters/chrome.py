"""Trace events in JSON, carried out on real bytes.

``X`` events are what a node (``pid``) sends on a thread of even number, or receives on one of odd number, from ``ts`` for ``dur``
microseconds. The chunks in ``args`` move then. ``s`` and ``f`` events with one ``id`` are the two ends of an arrow.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from itertools import pairwise

from tests.interpreters.memory import Memory, WrongError

SLACK = 0.002  # microseconds: times are rounded to nanoseconds


def interpret(data, collective, sizes):
    """Carry out a trace; raise WrongError when it does not deliver what the collective should, or contradicts itself."""
    found = json.loads(data)
    events = found["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    named = {(event["pid"], event.get("tid")) for event in events if event["ph"] == "M"}
    lanes = defaultdict(list)
    for event in slices:
        if (event["pid"], event["tid"]) not in named or (event["pid"], None) not in named:
            raise WrongError(f"{event} is on a thread without a name")
        lanes[event["pid"], event["tid"]].append(event)
    for lane in lanes.values():
        lane.sort(key=lambda event: event["ts"])
        for before, after in pairwise(lane):
            if before["ts"] + before["dur"] > after["ts"] + SLACK:
                raise WrongError(f"{before} and {after} overlap")
    names = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M" and "tid" not in event}
    sent, received = (key(slices, names, parity) for parity in (0, 1))
    if sent != received:
        raise WrongError("what is sent is not what is received")
    carry_out(slices, Memory(collective, sizes))
    check_arrows(events, lanes)


def key(slices, names, parity):
    """Return what is sent, or received, in an order that both have; each end must be what its arguments say."""
    found = []
    for event in slices:
        if event["tid"] % 2 == parity:
            said = event["args"]
            if names[event["pid"]] != said["dst" if parity else "src"]:
                raise WrongError(f"{event} is at the wrong node")
            if not parity and event["tid"] != 2 * said["port"]:
                raise WrongError(f"{event} is on the thread of another port")
            found.append((event["ts"], event["dur"], event["cat"], json.dumps(said)))
    return sorted(found)


def carry_out(slices, memory):
    """Send and receive in the order of time: what is received is there when it ends, what is sent is taken when it begins."""
    flying = {}
    moments = [(event["ts"], 1, event) for event in slices if event["tid"] % 2 == 0]
    moments += [(event["ts"] + event["dur"] - SLACK, 0, event) for event in slices if event["tid"] % 2]
    for _, sends, event in sorted(moments, key=lambda moment: moment[:2]):
        said = event["args"]
        chunks = [chunk for first, stop in said["chunks"] for chunk in range(first, stop)]
        name = (event["ts"], json.dumps(said))
        if sends:
            if said["bytes"] != sum(memory.sizes[chunk] for chunk in chunks):
                raise WrongError(f"{event} has other bytes")
            flying[name] = [(chunk, memory.take(event["pid"], chunk)) for chunk in chunks]
        else:
            for chunk, content in flying.pop(name):
                memory.put(event["pid"], chunk, content)
    memory.check()


def check_arrows(events, lanes):
    """Raise WrongError unless every arrow leads forward at one node, from within a slice received to the start of one sent."""
    ends = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            if event["ph"] in ends[event["id"]]:
                raise WrongError(f"{event} stands there twice")
            ends[event["id"]][event["ph"]] = event
    for arrow in ends.values():
        if set(arrow) != {"s", "f"} or arrow["f"].get("bp") != "e":
            raise WrongError(f"{arrow} has not two ends")
        start, stop = arrow["s"], arrow["f"]
        if start["pid"] != stop["pid"] or start["ts"] >= stop["ts"]:
            raise WrongError(f"{arrow} does not lead forward at one node")
        inside, begun = (at(lanes[end["pid"], end["tid"]], end["ts"]) for end in (start, stop))
        if not inside or not begun or inside["tid"] % 2 == 0 or begun["tid"] % 2 or stop["ts"] > begun["ts"] + SLACK:
            raise WrongError(f"{arrow} does not join a receipt and a send")
        if not shares(inside, begun):
            raise WrongError(f"{arrow} joins messages that share no chunk")


def at(lane, time):
    """Return the event of a thread that a time lies in, if there is one."""
    place = bisect_right(lane, time + SLACK, key=lambda event: event["ts"]) - 1
    return lane[place] if place >= 0 and time <= lane[place]["ts"] + lane[place]["dur"] else None


def shares(one, other):
    """Whether two events share a chunk; a finished sum shares nothing with the sums that it is made of, and is let through."""
    first, second = ({chunk for a, b in event["args"]["chunks"] for chunk in range(a, b)} for event in (one, other))
    return bool(first & second) or min(second) > max(first)
