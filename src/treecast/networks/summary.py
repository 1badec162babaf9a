"""A network in a few readable lines: what ``print(network)`` and a notebook show."""

from html import escape

from treecast.networks.core import Network

_FEW = 6


def figures(network: Network) -> dict[str, str]:
    """Return what a network is like, by name."""
    ports = [network.port_name(port) for port in range(min(network.ports, _FEW))]
    more = ["…"] if network.ports > len(ports) else []
    labels = [network.label(u) for u in range(min(network.nodes, 3))]
    if network.nodes > 4:
        labels.append("…")
    if network.nodes > 3:
        labels.append(network.label(network.nodes - 1))
    return {
        "network": f"{network.spec}, {network.described}",
        "nodes": f"{network.nodes:,} ({' '.join(labels)})",
        "arcs": f"{network.arcs:,}" + ("" if network.both_ways else ", not all with an arc back"),
        "degree": str(network.degree),
        "diameter": str(network.diameter) if network.diameter_is_cheap else "not searched for",
        "ports": ", ".join([*ports, *more]) or "none",
    }


def as_text(network: Network) -> str:
    """Return the figures of a network, a line each."""
    return "\n".join(f"{name:<9} {value}" for name, value in figures(network).items())


def as_html(network: Network) -> str:
    """Return the figures of a network as a table."""
    lines = (f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in figures(network).items())
    return f"<table>{''.join(lines)}</table>"
