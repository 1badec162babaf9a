"""Own small files as machines print them, made by rule, so that what must come out of them is known."""

from collections.abc import Collection, Iterator
from itertools import count


class Fabric:
    """Leaves, spines and hosts: host h of group g has a card on each of its group's leaves, its rails."""

    def __init__(self, groups: int = 2, rails: int = 2, spines: int = 2, hosts: int = 3, between: int = 2) -> None:
        self.leaves = [f"leaf{g}-{rail}" for g in range(groups) for rail in range(rails)]
        self.spines = [f"spine{s}" for s in range(spines)]
        self.hosts = [f"host{g}-{h}" for g in range(groups) for h in range(hosts)]
        self.cables = [(leaf, spine) for leaf in self.leaves for spine in self.spines for _ in range(between)]
        self.cards = [
            (f"host{g}-{h}", f"mlx5_{rail}", f"leaf{g}-{rail}")
            for g in range(groups)
            for h in range(hosts)
            for rail in range(rails)
        ]

    def ends(self) -> Iterator[tuple[str, int, str, int, str]]:
        """Yield each cable by its ends' names and ports, and its speed."""
        free = {name: count(1) for name in [*self.leaves, *self.spines]}
        for leaf, spine in self.cables:
            yield leaf, next(free[leaf]), spine, next(free[spine]), "4xNDR"
        for host, card, leaf in self.cards:
            yield f"{host} {card}", 1, leaf, next(free[leaf]), "4xNDR"

    def guid(self, name: str) -> str:
        names = [*self.leaves, *self.spines, *(f"{host} {card}" for host, card, _ in self.cards)]
        return f"{'H' if ' ' in name else 'S'}-{0xE09D7303007A0000 + names.index(name):016x}"

    def text(self, unreported: Collection[str] = ()) -> str:
        """Return the fabric as ``ibnetdiscover`` prints it; the ends of some nodes' cables are left out there."""
        below: dict[str, list[str]] = {}
        for u, port, v, other, speed in self.ends():
            for a, p, b, q in ((u, port, v, other), (v, other, u, port)):
                guid = self.guid(a)[2:]
                line = f'[{p}]({guid}) \t"{self.guid(b)}"[{q}]\t\t# "{b}" lid {q} {speed}'
                below.setdefault(a, [])
                if a not in unreported:
                    below[a].append(line)
        lines = ["#", "# Topology file: generated on Mon Jan  1 00:00:00 2024", "#"]
        for name, ports in below.items():
            guid = self.guid(name)
            kind, said = ("Ca", name) if " " in name else ("Switch", f"MF0;{name}:MQM9700/U1")
            lines += ["", "vendid=0x2c9", f"sysimgguid=0x{guid[2:]}", f"{kind.lower()}guid=0x{guid[2:]}"]
            lines += [f'{kind}\t{len(ports)} "{guid}"\t\t# "{said}"', *ports]
        return "\n".join([*lines, ""])

    def by_ports(self) -> str:
        """Return the fabric as ``ibnetdiscover -p`` prints it."""
        lines = ['DR path slid 0; dlid 0; 0 -> new Channel Adapter {0} portnum 1 lid 0-0 ""']
        kind = {False: "SW", True: "CA"}
        for u, port, v, other, speed in self.ends():
            for a, p, b, q in ((u, port, v, other), (v, other, u, port)):
                ends = [f"{kind[' ' in name]} 7 {at} 0x{self.guid(name)[2:]}" for name, at in ((a, p), (b, q))]
                said = [name if " " in name else f"MF0;{name}:MQM9700/U1" for name in (a, b)]
                lines.append(f"{ends[0]} {speed.replace('x', 'x ')} - {ends[1]} ( '{said[0]}' - '{said[1]}' )")
        lines.append(
            f"SW 7 60 0x{self.guid(self.leaves[0])[2:]} 4x SDR                'MF0;{self.leaves[0]}:MQM9700/U1'"
        )
        return "\n".join([*lines, ""])
