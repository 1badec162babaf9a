"""How a network is described, and a family of them."""

from treecast.description import Description, describe
from treecast.networks.core import Network
from treecast.networks.family import Family

_MOST_PORTS = 12  # names of ports that are shown


@describe.register
def _(network: Network) -> Description:
    names = [network.port_name(port) for port in range(min(network.ports, _MOST_PORTS))]
    left = network.ports - len(names)
    figures = {
        "network": network.spec,
        "nodes": network.nodes,
        "degree": network.degree,
        "diameter": network.diameter,
        "arcs": network.arcs,
        "ports": network.ports,
        "port_names": names,
        "first_node": network.label(0),
        "last_node": network.label(network.nodes - 1),
        "translations": network.seen_alike,
    }
    lines: dict[str, object] = {
        name.replace("_", " "): value for name, value in figures.items() if name != "port_names"
    }
    lines["ports"] = ", ".join(names) + (f" and {left:,} more" if left else "") or "none"
    return Description(figures, lines)


@describe.register
def _(family: Family) -> Description:
    found = {"spelling": family.spelling, "example": family.example, "what": family.what}
    return Description(found, found)
