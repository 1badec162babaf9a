"""Graphs whose nodes and links have attributes, of any format: capacities, relays, labels, places and rates."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from treecast.errors import TreecastError
from treecast.networks.reading.links import PLACES, LinkList, Parts, cables_of, label_or_name, passed_over, place_of
from treecast.networks.reading.machine import Complaint, Link, Machine, Node
from treecast.units import parse_rate, parse_seconds

LABELS = ("NodeLabel", "label", "name")  # yEd's element comes first
_RATES = {"LinkSpeedRaw": "{}bit/s", "rate": "{}", "bandwidth": "{}"}  # how the text of each is a rate
_VALUES = frozenset({"capacity", "relay", "adds", "kind", "port", "latency", *_RATES, *LABELS})
_BESIDE = "which is read beside a rate with its unit, as in 100Gbit/s and 2us"
_BARE = "which is read where all links have it with its unit, as in 100Gbit/s"


@dataclass
class Drawn:
    """The graph that has been read so far, of a ``format``; attributes that nobody reads are named in a remark.

    >>> found = Drawn("example")
    >>> found.join("a", "b", {"capacity": 2, "km": 7})
    >>> found.parts().remarks
    ("passed over: km ('capacity' says how many cables a link has)",)
    """

    format: str
    links: LinkList = field(default_factory=LinkList)
    passed: dict[str, None] = field(default_factory=dict[str, None])
    labels: dict[str, str] = field(default_factory=dict[str, str])
    rates: list[tuple[str, str, tuple[float, float | None], int, bool]] = field(
        default_factory=list[tuple[str, str, tuple[float, float | None], int, bool]]
    )
    remarks: tuple[str, ...] = ()
    loops: int = 0
    joined: int = 0

    def node(self, name: str, said: Mapping[str, object]) -> None:
        """Add a node: ``relay`` says that it takes no part, ``adds`` that it adds to sums, its label how it is called."""
        at = place_of(said)
        # what makes a place is read
        self._pass(said if at is None else {key: value for key, value in said.items() if key not in PLACES})
        self.links.add(name, said.get("relay") or False, said.get("adds") or False, at)
        labels = ("_".join(str(said.get(label, "")).split())[:256] for label in LABELS)
        self.labels[name] = next(filter(None, labels), "")

    def join(self, u: str, v: str, said: Mapping[str, object], one_way: bool = False) -> None:
        """Add a link, or an arc: ``capacity`` says how many cables it has, ``rate`` how much one carries; a list has one.

        ``latency``: the time until what is sent arrives, beside the rate. Raises ValueError when it is none.
        """
        self._pass(said)
        if isinstance(said.get("capacity"), str) and _gigabits(str(said["capacity"])):  # with a unit it is a rate
            said = {**said, "capacity": None, "rate": said["capacity"]}
        self.links.join(u, v, said.get("capacity"), one_way)
        rates = (_gigabits(spelled.format(said[name])) for name, spelled in _RATES.items() if name in said)
        # all links before it have one, too
        if len(self.rates) == self.joined and (rate := next(filter(None, rates), 0.0)):
            self.rates.append((u, v, (rate, _latency(said)), cables_of(said.get("capacity")), one_way))
        else:
            self.passed |= {f"latency, {_BESIDE}": None for name in ("latency",) if name in said}
            self.passed |= {f"{name}, {_BARE}": None for name in ("rate", "bandwidth") if name in said}
        self.joined += 1
        self.loops += u == v

    def _pass(self, said: Mapping[str, object]) -> None:
        self.passed |= dict.fromkeys(key for key in said if key not in _VALUES)

    def parts(self, **facts: int) -> Parts | Machine:
        """Return the graph that has been read; a machine where every link says its rate."""
        parts, many = self.links.parts(), Counter(self.labels.values())
        missing = many.pop("", 0)
        names = label_or_name([self.labels.get(name, "") for name in parts.names], parts.names)
        facts |= {
            "edges": self.joined,
            "loops": self.loops,
            "labels_twice": sum(count > 1 for count in many.values()),
            "labels_missing": missing,
        }
        if 0 < len(self.rates) < self.joined:
            self.passed[f"rate, {_BARE}"] = None
        remarks = (*passed_over(self.passed), *self.remarks)
        if not self.rates or len(self.rates) < self.joined:  # a link lacks its rate: capacities alone count
            return parts._replace(names=names, remarks=remarks, facts=facts)
        places = [None] * len(names) if parts.at is None else [(right, down) for right, down in parts.at.tolist()]
        kinds = zip(parts.names, names, parts.relays.tolist(), parts.adds.tolist(), places, strict=True)
        nodes = {
            name: Node("switch" if relay else "host", called, at=at, adds=adds)
            for name, called, relay, adds, at in kinds
        }
        links, one = list[Link](), Counter[tuple[str, str, tuple[float, float | None]]]()
        for u, v, cost, cables, one_way in self.rates:
            both = min(cables, one[v, u, cost]) if one_way else cables  # an arc back of the same rate makes a link
            if one_way:
                one[v, u, cost] -= both
                one[u, v, cost] += cables - both
            links += [Link(u, v, cost[0], both, latency=cost[1])] if both and u != v else []
        links += [
            Link(u, v, rate, many, one_way=True, latency=latency)
            for (u, v, (rate, latency)), many in one.items()
            if many and u != v
        ]
        loops = [Complaint(f"{self.loops} links from a node to itself", (), "left out")] if self.loops else []
        return Machine(self.format, nodes, links, facts, [*map(Complaint, remarks), *loops])


def _latency(said: Mapping[str, object]) -> float | None:
    """Return the latency of a link in seconds, None where none is said. Raises ValueError when it is none."""
    text = str(said.get("latency", "") or "").strip()
    try:
        return parse_seconds(text) if text else None
    except TreecastError as error:
        raise ValueError(f"the latency of a link: {error}") from None


def _gigabits(text: str) -> float:
    """Return a rate as Gbit/s, 0 for any text that is none."""
    try:
        rate = parse_rate(text) * 8 / 1e9
    except TreecastError:
        return 0.0
    return rate if 1e-9 <= rate <= 1e9 else 0.0
