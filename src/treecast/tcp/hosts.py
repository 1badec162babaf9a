"""On which hosts the ranks of a job run: files as MPI, MLX and DeepSpeed write them, and how a rank is started there by ssh."""

import json
import os
import re
import shlex
import shutil
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, cast

from treecast import __version__
from treecast.errors import PlanError
from treecast.running.jobs.command import start, watched

# variables that the launcher's host alone has: folders and processes of its own
_OF_THIS_HOST = ("TREECAST_JOB", "TREECAST_TIE", "TREECAST_TAG", "TREECAST_LOGS")
_OF_RANK = ("TREECAST_RANK", "TREECAST_SIZE", "TREECAST_JOIN")
_HOST = r"(?:[^\s@]+@)?(?:\[\S+?\]|[^\s:]+|[^\s:]*(?::[^\s:]*){2,})"
_LINE = re.compile(rf"({_HOST})(?::(\d+))?(?:\s+slots\s*=\s*(\d+))?(?:\s+(?!slots\s*=)\S+=\S*)*$")


def read_hosts(text: str) -> list[tuple[str, int]]:
    """Return the hosts of a file, and how many ranks each has room for.

    A line is ``host``, ``host slots=2`` or ``host:2``, of IPv6 ``[host]:2``; # begins a comment. A list in JSON has
    ``{"ssh": host}`` for each rank. Raises PlanError for others.

    >>> read_hosts("node1 slots=2  # eight cores\\nnode2"), read_hosts('[{"ssh": "a"}, {"ssh": "a"}]')
    ([('node1', 2), ('node2', 1)], [('a', 1), ('a', 1)])
    >>> read_hosts("fd00::1\\nme@[fd00::2]:3")
    [('fd00::1', 1), ('me@fd00::2', 3)]
    """
    found: list[tuple[str, int]] = []
    if re.match(r"\s*\[(?![\w:.%]+\])", text):  # no address of IPv6
        try:
            found = [(str(cast("dict[str, Any]", each)["ssh"]), 1) for each in json.loads(text)]
        except (ValueError, KeyError, TypeError):
            raise PlanError('a list of hosts in JSON has {"ssh": "HOST"} for each rank') from None
    else:
        for line in filter(None, (line.partition("#")[0].strip() for line in text.splitlines())):
            match = _LINE.match(line)
            if match is None:
                raise PlanError(f"{line!r} names no host: write HOST, or HOST:2 for two ranks, a line for each")
            # brackets of IPv6 are not part of a name
            found.append((re.sub(r"[][]", "", match[1]), int(match[2] or match[3] or 1)))
    for host, _ in found:  # ssh takes what begins with a dash for an option, and options start programs
        if not host or host.startswith("-") or " " in host or not host.isprintable():
            raise PlanError(f"{host!r} names no host: a name has no blanks, and no dash in front")
    return found


def deal_out(file: str, ranks: int | None) -> list[str]:
    """Return the host of each rank, in the order of the file; by default as many ranks as there is room for."""
    try:
        hosts = read_hosts(Path(file).read_text())
    except OSError as error:
        raise PlanError(f"the hosts in {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PlanError(f"{file} is no text, and names no host: write HOST or HOST:2, a line for each") from None
    places = [host for host, slots in hosts for _ in range(slots)]  # as many places in a row as a host has slots
    if ranks is not None and len(places) < ranks:
        raise PlanError(f"{file} has room for {len(places)} ranks, not for {ranks}: write slots=… behind hosts")
    if not places:
        raise PlanError(f"{file} names no host")
    return places[:ranks]


def own_addresses(hosts: Iterable[str]) -> list[str]:
    """Return the addresses of this machine from which it reaches some hosts; names that only ssh knows are left out."""
    found: list[str] = []
    for host in dict.fromkeys(name.rpartition("@")[2] for name in hosts):  # the user in front of @ is for ssh
        with suppress(OSError):
            # 9: any port does, as nothing is sent
            for family, kind, _, _, address in socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM):
                with suppress(OSError), socket.socket(family, kind) as probe:
                    # A connect of UDP sends nothing: the system only chooses the address from which it would.
                    probe.connect(address)
                    found.append(probe.getsockname()[0])
    return list(dict.fromkeys(found)) or [socket.gethostname()]


def start_there(host: str, program: Sequence[str], environment: Mapping[str, str], stdout: int | None) -> Popen[bytes]:
    """Start a command on a host by ssh. The order, with the secret in it, goes in by its standard input, never by a command line.

    When that input ends, so does the command. ssh is watched as a rank here is. Raises PlanError without ssh.
    """
    seat = shlex.join([sys.executable, "-m", "treecast.tcp.seat"])
    if shutil.which("ssh") is None:
        raise PlanError("ssh cannot be started: there is no such program")
    # ssh itself is told of the rank, to be watched and tagged like one
    here = {name: environment[name] for name in (*_OF_THIS_HOST, *_OF_RANK) if name in environment}
    child = start(watched(["ssh", "-o", "BatchMode=yes", "--", host, seat], "there"), here, PIPE, stdout)
    # paths and processes of this host say nothing there
    told = {name: value for name, value in environment.items() if name not in _OF_THIS_HOST}
    order = {"version": __version__, "command": list(program), "environment": told, "folder": os.getcwd()}
    if child.stdin is not None:
        with suppress(OSError):  # when it has ended, its status says why
            child.stdin.write(json.dumps(order).encode() + b"\n")
            child.stdin.flush()
    return child
