"""The first process of a lab: it builds the network around itself, starts the commands and waits for them.

It is run as a file, by ``outside.py``, in process, network and mount namespaces of its own, and imports nothing but the standard
library. When it ends, for whatever reason, the kernel ends all processes in those namespaces and drops them. So nothing has to be
taken down, and nothing can be left. It ends by itself when its pipe closes: then the process that started it is gone.

    inside.py ORDER REPORT      numbers of open files: one line of JSON is read from the first, lines are written to the second
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

HOME = Path("/run/treecast")
"""The lab's own folder, in memory: gone with the lab."""

_TICK = 0.005  # seconds between two looks at commands, as cuts are to be on time
_LOOK = 0.05
_PRINTING = 0.3  # seconds in which mpirun passes on the output of a rank that failed


class BuildError(Exception):
    """A command that failed."""


def main() -> None:
    """Build, run, report, end."""
    order_file, report_file = (int(number) for number in sys.argv[1:])
    for number in (order_file, report_file):
        os.set_inheritable(number, False)  # no command may keep the pipes open
    reading = os.fdopen(order_file, "rb")
    order = json.loads(reading.readline())
    threading.Thread(target=_end_with, args=(reading,), daemon=True).start()
    status = 2
    try:
        began = time.monotonic()
        build(order)
        _report(report_file, up=time.monotonic() - began)
        status = run_commands(order, report_file)
        _report(report_file, status=status)
    except (BuildError, OSError) as error:
        _report(report_file, error=str(error))
    os._exit(status)


def build(order: dict[str, Any]) -> None:
    """Build the network: a private /run, where namespaces have their names, then all batches."""
    _call(["mount", "-t", "tmpfs", "-o", "mode=755", "treecast", "/run"])
    (HOME / "tmp").mkdir(parents=True)
    for name, text in order["files"].items():
        (HOME / name).write_text(text)
        (HOME / name).chmod(0o755)
    with contextlib.suppress(BuildError):  # names of hosts are a convenience
        _call(["mount", "--bind", str(HOME / "hosts"), "/etc/hosts"])
    for tool, host, lines in order["batches"]:
        _call([tool, *(["-n", host] if host else []), "-batch", "-"], "\n".join(lines) + "\n")


def run_commands(order: dict[str, Any], report_file: int) -> int:
    """Start all commands at once, cut links in time, and return the first status that is not 0."""
    where = {**os.environ, **order["environment"], "TREECAST_LAB": str(HOME), "TMPDIR": str(HOME / "tmp")}
    where["TREECAST_JOB"] = str(HOME / "status")  # where a rank that fails says so: mpirun would wait for the others
    try:
        running, readers = _start(order["commands"], order["names"], where)
    except FileNotFoundError as error:
        raise BuildError(f"there is no {error.filename}") from None
    for cut in order["cuts"]:
        threading.Thread(target=_cut_link, args=(cut, order["starts"], report_file), daemon=True).start()
    while not (HOME / "status").exists() and any(process.poll() is None for process in running):
        time.sleep(_LOOK)
    if (HOME / "status").exists():  # also when mpirun has ended since, with the status of any other rank
        time.sleep(_PRINTING)
        return int((HOME / "status").read_text())
    statuses = [process.wait() for process in running]
    for reader in readers:
        reader.join(_PRINTING)  # processes that a host has left running may keep its output open
    statuses = [128 - status if status < 0 else status for status in statuses]
    return next((status for status in statuses if status), 0)


def _start(
    commands: list[list[str]], names: list[str], where: dict[str, str]
) -> tuple[list["subprocess.Popen[bytes]"], list[threading.Thread]]:
    """Start all commands; where they have names, each line that one prints has its name in front."""
    if not names:
        return [subprocess.Popen(command, env=where) for command in commands], []
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, env=where, stdout=pipe, stderr=pipe) for command in commands]
    readers, lock = list[threading.Thread](), threading.Lock()
    for name, process in zip(names, running, strict=True):
        for source, to in ((process.stdout, 1), (process.stderr, 2)):
            readers.append(
                threading.Thread(target=_pass_on, args=(source, to, f"{name}: ".encode(), lock), daemon=True)
            )
            readers[-1].start()
    return running, readers


def _pass_on(source: Any, to: int, name: bytes, lock: threading.Lock) -> None:
    """Copy lines to an open file, as they come, each behind a name."""
    for line in source:
        with lock:
            os.write(to, name + line.removesuffix(b"\n") + b"\n")


def _cut_link(cut: list[Any], starts: int, report_file: int) -> None:
    """Take both ends of a link down, so many seconds after the last host has started the command, or after its mark."""
    ends, seconds, after_mark = cut
    while len(list(HOME.glob("began-*"))) < starts:
        time.sleep(_TICK)
    started = time.monotonic()
    while after_mark and not (HOME / "mark").exists():
        time.sleep(_TICK)
    time.sleep(seconds if after_mark else max(0.0, started + seconds - time.monotonic()))
    for host, device in ends:
        _call(["ip", "-n", host, "link", "set", device, "down"])
    _report(report_file, cut=[ends, time.monotonic() - started])


def _end_with(pipe: Any) -> None:
    """End, and all of the lab with it, when the other end of the pipe closes."""
    pipe.read()
    os._exit(128 + signal.SIGTERM)


def _call(command: list[str], text: str = "") -> None:
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise BuildError(f"'{' '.join(command)}' failed: {said[:300]}")


def _report(number: int, **figures: object) -> None:
    os.write(number, (json.dumps(figures) + "\n").encode())


if __name__ == "__main__":
    main()
