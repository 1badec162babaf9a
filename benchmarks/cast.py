"""Bring a file to all hosts behind a switch, in a lab: treecast cast beside scp and rsync in turn, uftp, and libtorrent.

    python benchmarks/cast.py                                        as root, on Linux: 16 hosts, ports of 20 Mbit/s
    python benchmarks/cast.py --hosts 4 --rate 5Mbit/s --seconds 5   fewer, slower; the file takes 5 s through one port
    python benchmarks/cast.py --libtorrent /path/to/python           the Python that has libtorrent

Peers that are not installed are left out. The time of each is from the start of its command at the source, or at all hosts where
it runs at all, until the last host has the whole file; daemons at the hosts are there before. The limit is what the bytes and
their headers need through one port, less what its bucket passes at once.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from treecast.running.lab.wiring import address
from treecast.units import parse_rate

HEADERS = 1 + 66 / 1448
BUCKET = 64_000
SERVER = """
HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile none
Subsystem sftp internal-sftp
"""
TORRENT = """
import sys, time, libtorrent as lt
file, target, rank, own, *others = sys.argv[1:]
made = lt.create_torrent(lt.list_files(file))
lt.set_piece_hashes(made, file.rpartition("/")[0])
asked = lt.add_torrent_params()
asked.ti = lt.torrent_info(made.generate())
asked.save_path = file.rpartition("/")[0] if rank == "0" else target
asked.flags &= ~(lt.torrent_flags.auto_managed | lt.torrent_flags.paused)
off = "enable_dht enable_lsd enable_upnp enable_natpmp enable_outgoing_utp enable_incoming_utp".split()
again = {"min_reconnect_time": 1, "max_failcount": 1000}  # others may not listen yet
session = lt.session({"listen_interfaces": own + ":6881", **again, **dict.fromkeys(off, False)})
torrent = session.add_torrent(asked)
while True:
    for other in others:
        torrent.connect_peer((other, 6881))
    for _ in range(20):
        if rank != "0" and torrent.status().is_seeding:
            open(target + "/whole", "w").close()
        time.sleep(0.05)
"""


class Host:
    """This host of the lab: its number, where the file is, where it goes, and how fast ports are."""

    def __init__(self, folder: str, hosts: int, rate: float, python: str) -> None:
        self.rank, self.hosts, self.rate, self.python = int(os.environ["TREECAST_RANK"]), hosts, rate, python
        self.folder, self.file, self._lab = Path(folder), Path(folder, "file"), Path(os.environ["TREECAST_LAB"])
        self.target, self._children = self.place(self.rank), list[subprocess.Popen[bytes]]()
        self.others = [address(rank) for rank in range(1, hosts + 1)]

    def place(self, rank: int) -> Path:
        """Return the folder of a host."""
        return self.folder / f"to{rank}"

    def at_port(self) -> str:
        """Give the port an address, for peers that ask the kernel for its device; return that."""
        own = f"10.9.1.{self.rank + 1}"
        subprocess.run(["ip", "addr", "add", f"{own}/24", "dev", "port"], check=True)
        return own

    def start(self, *line: str) -> None:
        """Start a program that goes on until all is over."""
        quiet = subprocess.DEVNULL
        self._children.append(subprocess.Popen(line, stdin=quiet, stdout=quiet, stderr=quiet))

    def meet(self, name: str) -> None:
        """Wait until all hosts have come this far."""
        (self._lab / f"{name}-{self.rank}").touch()
        while len(list(self._lab.glob(f"{name}-*"))) <= self.hosts:
            time.sleep(0.02)
        if name == "begin" and not self.rank:
            (self.folder / "began").write_text(str(time.monotonic()))

    def wait(self, *whole: str) -> None:
        """Wait until the file is here, by the names that tell so."""
        size = self.file.stat().st_size
        files = [self.target / name for name in whole]
        while not any(file.exists() and (file.name == "whole" or file.stat().st_size == size) for file in files):
            time.sleep(0.02)

    def end(self) -> None:
        """End what this host has started."""
        for child in self._children:
            child.terminate()
        for child in self._children:
            child.wait(20)


def by_treecast(host: Host) -> None:
    """All hosts run it."""
    host.meet("begin")
    target = ["--as", f"{host.folder}/to{{rank}}/file", "--rate", f"{host.rate / 1e6:.6f}MB/s"]
    host.start(sys.executable, "-m", "treecast", "cast", str(host.file), *target)
    if host.rank:
        host.wait("file")


def in_turn(host: Host, line: Callable[[str, Path], Sequence[str]]) -> None:
    """The source goes from host to host."""
    time.sleep(1)  # until the server listens
    host.meet("begin")
    for rank in range(1, host.hosts + 1) if host.rank == 0 else ():
        subprocess.run(line(address(rank), host.place(rank)), check=False)


def by_scp(host: Host) -> None:
    """Each host has a server."""
    key = str(host.folder / "key")
    Path("/run/sshd").mkdir(exist_ok=True)
    if host.rank:
        host.start("/usr/sbin/sshd", "-D", "-f", str(host.folder / "sshd"))
    said = [f"-o{option}" for option in ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")]
    in_turn(host, lambda name, place: ["scp", "-q", "-i", key, *said, str(host.file), f"{name}:{place}/file"])


def by_rsync(host: Host) -> None:
    """Each host has a daemon."""
    settings = host.target / "rsyncd.conf"
    settings.write_text(f"use chroot = no\nuid = 0\ngid = 0\n[to]\npath = {host.target}\nread only = no\n")
    if host.rank:
        host.start("rsync", "--daemon", "--no-detach", "--config", str(settings))
    in_turn(host, lambda name, _: ["rsync", "-a", "--whole-file", str(host.file), f"rsync://{name}/to/file"])


def by_uftp(host: Host) -> None:
    """Multicast: the source sends as fast as its port does."""
    own = host.at_port()
    if host.rank:
        parts = host.target / "parts"
        parts.mkdir()
        host.start("uftpd", "-d", "-I", own, "-D", str(host.target), "-T", str(parts))
    in_turn(host, lambda *_: ["true"])
    if host.rank == 0:
        kbit = f"{host.rate * 8e-3 * 0.94:.0f}"
        host.start("uftp", "-I", own, "-R", kbit, str(host.file))
    else:
        host.wait("file")


def by_libtorrent(host: Host) -> None:
    """All hosts know one another, and the source has the file."""
    own, others = host.at_port(), [f"10.9.1.{rank + 1}" for rank in range(host.rank)]
    host.meet("begin")
    host.start(host.python, "-c", TORRENT, str(host.file), str(host.target), str(host.rank), own, *others)
    if host.rank:
        host.wait("whole")


PEERS: dict[str, tuple[Callable[[Host], None], tuple[str, ...]]] = {
    "treecast cast": (by_treecast, ()),
    "scp in turn": (by_scp, ("/usr/sbin/sshd", "scp")),
    "rsync in turn": (by_rsync, ("rsync",)),
    "uftp": (by_uftp, ("uftp", "uftpd")),
    "libtorrent": (by_libtorrent, ()),
}


def be_host(host: Host, peer: str) -> None:
    """Take part as a host; the source writes the seconds of the last one."""
    PEERS[peer][0](host)
    ended = time.monotonic()
    (host.folder / f"ended-{host.rank}").write_text(str(ended))
    host.meet("ended")
    host.end()


def measure(peer: str, chosen: argparse.Namespace, size: int) -> tuple[float, int]:
    """Have all hosts of a lab bring the file; return the seconds, and how many hosts have it whole."""
    with tempfile.TemporaryDirectory() as folder:
        data, hosts = os.urandom(size), range(chosen.hosts + 1)
        Path(folder, "file").write_bytes(data)
        Path(folder, "sshd").write_text(SERVER.format(folder=folder))
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", f"{folder}/key"], check=True)
        for rank in hosts:
            Path(folder, f"to{rank}").mkdir()
        line = [sys.executable, __file__, "--be", peer, "--folder", folder, "--hosts", str(chosen.hosts)]
        asked = ["--rate", chosen.rate, "--libtorrent", chosen.libtorrent]
        lab = [sys.executable, "-m", "treecast", "lab", "run", f"complete:{chosen.hosts + 1}", "--switch"]
        patience = f"{60 + 4 * chosen.seconds * chosen.hosts:g}"
        subprocess.run(
            [*lab, "--rate", chosen.rate, "--no-mpi", "--timeout", patience, "--", *line, *asked], check=False
        )
        ended = [float(file.read_text()) for file in Path(folder).glob("ended-*")]
        files = [Path(folder, f"to{rank}", "file") for rank in hosts if rank]
        whole = sum(file.exists() and file.read_bytes() == data for file in files)
        return (max(ended) if len(ended) > chosen.hosts else float("inf")) - float(
            Path(folder, "began").read_text()
        ), whole


def main() -> int:
    """Measure all that are here, or be a host of one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=16, help="how many the file goes to")
    parser.add_argument("--rate", default="20Mbit/s", help="of each port")
    parser.add_argument("--seconds", type=float, default=10, help="how long the file takes through one port")
    parser.add_argument("--only", choices=PEERS, help="only this")
    parser.add_argument("--libtorrent", default=sys.executable, help="the Python that has libtorrent")
    parser.add_argument("--be", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    rate = parse_rate(chosen.rate)
    if chosen.be:
        be_host(Host(chosen.folder, chosen.hosts, rate, chosen.libtorrent), chosen.be)
        return 0
    size = int(chosen.seconds * rate)
    limit = (size * HEADERS - BUCKET) / rate
    print(f"{size:,} bytes to {chosen.hosts} hosts, ports of {chosen.rate}: at least {limit:.2f} s", flush=True)
    for peer in [chosen.only] if chosen.only else PEERS:
        torrent = [chosen.libtorrent, "-c", "import libtorrent"]
        missing = [name for name in PEERS[peer][1] if shutil.which(name) is None]
        if missing or (peer == "libtorrent" and subprocess.run(torrent, capture_output=True, check=False).returncode):
            print(f"{peer}: not installed", flush=True)
            continue
        seconds, whole = measure(peer, chosen, size)
        load = os.getloadavg()[0]
        words = f"{peer}: {seconds:.2f} s, {seconds / limit:.2f} x the limit, {whole} of {chosen.hosts} hosts whole"
        print(f"{words} (load {load:.0f})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
