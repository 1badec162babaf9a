"""The conditions of a collective: that its root, targets, lengths, relays and owners go with it and with each other."""

from typing import TYPE_CHECKING

from treecast.collectives.kinds import COLLECTIVES, Kind, find_kind
from treecast.description import count_of
from treecast.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Callable

    from treecast.collectives.collective import Collective

MOST_MESSAGES = 2**31 - 1
"""The most chunks of a block."""
_MOST_CHUNKS = 2**62


def check(what: "Collective") -> None:
    """Raise PlanError for a collective that there cannot be."""
    for name, value in (("nodes", what.nodes), ("messages", what.messages), ("root", what.root)):
        if not hasattr(value, "__index__"):
            raise PlanError(f"{name} must be a whole number, not {value!r}")
    find_kind(what.kind)
    if not 1 <= what.messages <= MOST_MESSAGES:
        raise PlanError(f"{what.messages} messages cannot be sent: write a number from 1 to {MOST_MESSAGES}")
    if not 0 <= what.root < what.nodes:
        raise PlanError(f"root {what.root} is no node: nodes go from 0 to {what.nodes - 1}")
    if list(what.relays) != sorted(set(what.relays)) or (what.relays and what.relays[-1] >= what.nodes):
        raise PlanError("relays are nodes, given in ascending order, each once")
    if what.root in what.relays and not what.all_source and not what.results:
        raise PlanError(f"root {what.root} is a relay, which takes no part: choose another node")
    _check_targets(what)
    _check_lengths(what)
    _check_owners(what)
    if what.chunks >= _MOST_CHUNKS:
        raise PlanError(
            f"{what.kind} of {count_of(what.messages, 'message')} over {what.nodes:,} nodes has too many chunks to number"
        )


def _takers(able: "Callable[[Kind], bool]") -> str:
    """Return the names of the kinds of collectives that have something, as words."""
    *some, last = (name for name, kind in COLLECTIVES.items() if able(kind))
    return f"{', '.join(some)} or {last}" if some else last


def _check_targets(what: "Collective") -> None:
    if bool(what.targets) != what.traits.targets:
        takers = _takers(lambda kind: kind.targets)
        raise PlanError(f"a {takers}, and nothing else, needs targets: one node or more")
    if list(what.targets) != sorted(set(what.targets) - {what.root}):
        raise PlanError("targets are given in ascending order, each once, without the root")
    if what.targets and not 0 <= what.targets[0] <= what.targets[-1] < what.nodes:
        raise PlanError(f"a target is no node: nodes go from 0 to {what.nodes - 1}")
    for target in set(what.targets) & set(what.relays):
        raise PlanError(f"target {target} is a relay, which wants nothing: choose other nodes")


def _check_lengths(what: "Collective") -> None:
    if (what.lengths is not None) != what.traits.lengths:
        takers = _takers(lambda kind: kind.lengths)
        raise PlanError(f"a {takers}, and nothing else, needs lengths: how many flits for each node, as in lengths=3")
    if what.lengths is not None:
        if len(what.lengths.flits) != what.first_blocks:
            each = " pair of them" * (what.traits.blocks == "pair")
            raise PlanError(
                f"{len(what.lengths.flits):,} lengths are given for {what.nodes:,} nodes: one for each{each}"
            )
        if what.lengths.flits[what.root] and not what.all_source:
            raise PlanError("the root sends itself nothing: its own length is 0")
        flits = what.lengths.flits.reshape(-1, what.nodes)
        if what.relays and bool(
            flits[:, list(what.relays)].any() or (len(flits) > 1 and flits[list(what.relays)].any())
        ):
            raise PlanError("a relay takes no part: its length is 0")
        if what.messages != 1:
            raise PlanError(f"{what.kind} takes lengths instead of a number of messages")


def _check_owners(what: "Collective") -> None:
    if not what.owners:
        return
    if not (what.results and what.all_source):
        takers = _takers(lambda kind: kind.results and kind.all_source)
        raise PlanError(f"owners of sums are chosen in an {takers}, and in nothing else")
    first = [chunk for chunk, _ in what.owners]
    if first[0] or first != sorted(set(first)) or first[-1] >= what.sums:
        raise PlanError("owners are given with the first sum of each run, in ascending order from sum 0")
    if not what.shared and not all(0 <= node < what.nodes for _, node in what.owners):
        raise PlanError(f"the owner of a sum is no node: nodes go from 0 to {what.nodes - 1}")
