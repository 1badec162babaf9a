"""A host of a cast that a launcher elsewhere has started: it takes part in jobs as it is told to, by its standard input.

Orders and words are lines of JSON. When the input ends, so does this.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

from treecast.errors import DeliveryError, Evicted, PlanError
from treecast.networks.header import network_of
from treecast.running.cast.rank import Caster, name_here
from treecast.tcp import init

_START = 20.0  # seconds in which those that were there a moment ago meet


def main(mark: str, leave: Callable[[], object]) -> None:
    """Say that this host is here, and take part in one job after the other, until the input ends; ``leave`` is called then."""
    orders, stop = SimpleQueue[dict[str, Any]](), Event()

    def say(words: dict[str, Any]) -> None:
        os.write(1, f"{mark}{json.dumps(words)}\n".encode())

    def tell(done: int, total: int) -> None:
        say({"far": [done, total]})

    # A thread: the input is heard also while a job goes on.
    def hear() -> None:
        for line in sys.stdin.buffer:
            order = json.loads(line)
            if order:
                orders.put(order)
            else:
                stop.set()
        leave()
        os._exit(0)

    Thread(target=hear, daemon=True).start()
    say({"here": name_here()})
    caster: Caster | None = None
    while True:
        order = orders.get()
        stop.clear()
        if caster is None:
            place = Path(order["target"].replace("{rank}", str(order["number"])))
            own = Path(order["own"]) if order["number"] == 0 else None
            named = order["number"], order["name"]
            caster = Caster(*named, place, own, sure=order["sure"], stop=stop.is_set, tell=tell)
        say(_take_part(caster, order))


def _take_part(caster: Caster, order: dict[str, Any]) -> dict[str, Any]:
    """Take part in a job; return the outcome in words: who has ended it, and what came, or why it was not to be."""
    os.environ.update(order["environment"])
    try:
        secret, where = bytes.fromhex(order["secret"]), network_of(order["network"]) if order["network"] else None
        comm = init(secret=secret, start=_START, survive=1 << 16, on_failed="ignore", on_error="die", network=where)
    except PlanError as error:
        return {"failed": str(error), "again": True}
    try:
        results = caster.join(comm)
        members = list(comm.members)
        comm.process.finish()
    except (PlanError, DeliveryError, Evicted) as error:
        comm.process.abandon()
        return {"failed": str(error), "again": False}
    mine = next((each for each in results or [] if each.number == order["number"]), None)
    return {"result": mine, "members": members, "size": caster.size, "seconds": [caster.looked, caster.sent]}
