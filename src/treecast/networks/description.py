"""How a network is described, and a family of them."""

from treecast.description import Description, describe
from treecast.networks.core import Network
from treecast.networks.family import Family

_MOST_PORTS, _FEW_PORTS = 12, 6  # names of ports in figures, and in words


@describe.register
def _(network: Network) -> Description:
    names = [network.port_name(port) for port in range(min(network.ports, _MOST_PORTS))]
    figures: dict[str, object] = {
        "network": network.spec,
        "nodes": network.nodes,
        "ranks": network.rank_count,
        "degree": network.degree,
        "diameter": network.diameter if network.diameter_is_cheap else None,
        "arcs": network.arcs,
        "both_ways": network.both_ways,
        "ports": network.ports,
        "port_names": names,
        "first_node": network.label(0),
        "last_node": network.label(network.nodes - 1),
        "translations": network.seen_alike,
    }
    lines: dict[str, object] = {
        "network": f"{network.spec}, {network.described}",
        "nodes": f"{network.nodes:,} ({_spell_labels(network)})" + _spell_relays(network),
        "arcs": f"{network.arcs:,}" + ("" if network.both_ways else ", not all with an arc back"),
        "degree": network.degree,
        "diameter": network.diameter if network.diameter_is_cheap else "not searched for",
        "ports": ", ".join([*names[:_FEW_PORTS], *(["…"] if network.ports > _FEW_PORTS else [])]) or "none",
    }
    if network.notes:
        figures["notes"] = list(network.notes)
        lines["remark"] = list(network.notes)
    return Description(figures, lines)


def degraded(network: Network) -> Description:
    """Describe the degraded parts of a network in a few words, if there are some."""
    if not network.remarks:
        return Description({})
    words = f"{'; '.join(network.remarks)}: see 'treecast networks'"
    return Description({"degraded": list(network.remarks)}, {"degraded": words})


def _spell_relays(network: Network) -> str:
    relays = network.nodes - network.rank_count
    if not relays:  # of a file people may think that it says which nodes are switches
        return ": all take part" if network.family == "file" else ""
    return f", {relays:,} of them {'a relay' if relays == 1 else 'relays'}: {network.rank_count:,} take part"


def _spell_labels(network: Network) -> str:
    """Return the labels of the first nodes and of the last, as many as a line holds."""
    first, last = (network.label(node) for node in (0, network.nodes - 1))
    if network.nodes <= 3:
        return " ".join(network.label(node) for node in range(network.nodes))
    few = " ".join(network.label(node) for node in range(3)) if len(first) < 12 else first
    return f"{few} … {last}" if network.nodes > 4 else f"{few} {last}"


@describe.register
def _(family: Family) -> Description:
    found = {"spelling": family.spelling, "example": family.example, "summary": family.summary}
    return Description(found | {"nodes": family.nodes, "degree": family.degree, "diameter": family.diameter}, found)
