"""A collective in words: a line for people, and a shorter one for programmers."""

from typing import TYPE_CHECKING

from treecast.description import count_of

if TYPE_CHECKING:
    from treecast.collectives.collective import Collective


def spell_short(collective: "Collective") -> str:
    """Return a collective as programmers see it."""
    root = f", root={collective.root}" if collective.root else ""
    targets = f", targets={len(collective.targets):,} nodes" if collective.targets else ""
    size = f"messages={collective.messages}" if collective.lengths is None else f"lengths={collective.lengths!r}"
    size = size if collective.demand is None else f"demand={collective.demand!r}"
    relays = f", relays={len(collective.relays):,} nodes" if collective.relays else ""
    owners = f", owners={len({node for _, node in collective.owners}):,} nodes" if collective.owners else ""
    owners = ", owners=NO_OWNERS" if collective.shared else owners
    return f"Collective({collective.kind!r}, nodes={collective.nodes}, {size}{root}{targets}{relays}{owners})"


def spell_long(collective: "Collective") -> str:
    """Return a collective as people read it."""
    kind, noun = collective.traits, "sum" if collective.traits.adds else "message"
    load = f"{collective.messages:,} {noun}{'' if collective.messages == 1 else 's'}"
    if collective.demand is not None:
        load = f"{collective.demand.chunks:,} chunks in {count_of(len(collective.demand), 'class')}"
    elif collective.lengths is not None:
        load = f"messages of {collective.lengths.total:,} flits in all"
    elif kind.blocks != "one":
        load += f" {'of' if kind.starts == 'own' and kind.blocks == 'node' else 'for'} each {kind.blocks}"
    way = f" {kind.direction} node {collective.root}"
    if kind.all_source:
        way = ""
    elif kind.results:
        way = f" by way of node {collective.root}"
    elif kind.targets:
        way += f" to {len(collective.targets):,} node{'' if len(collective.targets) == 1 else 's'}"
    return f"{collective.kind} over {collective.nodes - len(collective.relays):,} {collective.member}s: {load}{way}"
