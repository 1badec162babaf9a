"""A cast to the hosts of a list: each is started by ssh, and those that have answered make a job; others join it later.

A host needs Python and numpy. It takes treecast from here when it has none, or another version. Who does not answer is left out.
"""

import io
import json
import secrets
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

from treecast import __version__
from treecast.errors import DeliveryError, PlanError
from treecast.networks import Network
from treecast.networks.header import words_of
from treecast.running.cast.job import CastRequest, rate_words
from treecast.running.cast.rank import Result, name_here
from treecast.running.cast.report import CastOutcome, Far
from treecast.running.jobs.ending import end_all, ended_by_signals
from treecast.tcp.hosts import own_addresses
from treecast.tcp.meeting import MeetingPlace, spell
from treecast.tcp.proof import Trust
from treecast.tcp.start import network_of_ranks

_HERE = Path(__file__).parent
_MARK = "treecast-cast "
# The least that any Python can run: it reads its program from standard input.
_BEGIN = "import json,sys;a=json.loads(sys.stdin.buffer.readline());exec(a[0],{'asked':a[1]})"
_UNSENT = ("drawing", "cli", "lab", "mpi", "torch", "__pycache__")  # folders that no host needs
_TRIES = 3  # jobs in a row that do not start
_PATIENCE = 2.0  # seconds that a job lives at least before those who come later are taken in
_GRACE = 5.0  # seconds in which a host that others have left says its own


class _Host:
    """A host: its number in the list, 0 of this one; ``is_here``: it can take part; ``why``: it cannot; ``result``: what came."""

    def __init__(self, number: int, name: str, heard: "SimpleQueue[tuple[_Host, Any]]") -> None:
        self.number, self.name, self._heard = number, name, heard
        self.is_here, self.why, self.said = False, "", ""
        self.result: Result | None = None
        # The same Python as here, where it is there, else python3. The program is $0, so that no quotes meet.
        shell = shlex.join(
            ["sh", "-c", f'p={shlex.quote(sys.executable)}; [ -x "$p" ] || p=python3; exec "$p" -c "$0"', _BEGIN]
        )
        # BatchMode: ssh asks for no password, as nobody would answer
        line = ["ssh", "-o", "BatchMode=yes", "--", name, shell] if number else [sys.executable, "-c", _BEGIN]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, start_new_session=True)
        Thread(target=self._listen, daemon=True).start()
        self.tell([(_HERE / "begin.py").read_text(), [__version__, _MARK]])

    def tell(self, order: Any, data: bytes = b"") -> None:
        """Send an order, and bytes behind it; when the host is gone, its end says so."""
        with suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.write(json.dumps(order).encode() + b"\n" + data)
                self.process.stdin.flush()

    def let_go(self) -> None:
        """End its input, and give it a moment to end by itself when it is there."""
        with suppress(OSError, subprocess.TimeoutExpired):
            if self.process.stdin is not None:
                self.process.stdin.close()
            if self.is_here and self.why != "died":
                self.process.wait(_PATIENCE)

    def _listen(self) -> None:
        lines = self.process.stdout or io.BytesIO()
        with lines:
            for line in lines:
                text = line.decode(errors="replace").strip()
                before, mark, words = text.partition(_MARK)
                if mark:
                    self._hear(json.loads(words))
                elif self.is_here:
                    sys.stderr.write(f"{self.name}: {text}\n")
                self.said = before or self.said
        status = self.process.wait()
        self._heard.put((self, self.why or self._reason(status)))

    def _hear(self, words: dict[str, Any]) -> None:
        if "send" in words:
            data = _sources()
            self.tell(len(data), data)
        elif "lacks" in words:
            self.why = f"left out ({words['lacks']})"
        else:
            self.is_here = self.is_here or "here" in words
            self._heard.put((self, words))

    def _reason(self, status: int) -> str:
        """Return why it is gone, from the last line of ssh, which ends with 255 when it does not get there."""
        last = self.said.rpartition(": ")[2].rstrip(".") or f"ended with {status}"
        if self.is_here:
            return "died"
        return f"not reached (ssh: {last})" if status == 255 else f"left out ({self.said or last})"


@cache
def _sources() -> bytes:
    """Return the sources of treecast, as far as a host needs them, as a compressed archive."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        archive.add(_HERE.parents[1], "treecast", filter=lambda each: None if Path(each.name).name in _UNSENT else each)
    return file.getvalue()


class _Casting:
    """A cast under way: all hosts, and what they have told. ``where``: the network of links, of all hosts, if one is named."""

    def __init__(self, asked: CastRequest, names: Sequence[str], far: Far, where: Network | None) -> None:
        self._asked, self._names, self._far, self._began = asked, dict(enumerate(names, 1)), far, monotonic()
        self._where = where
        self._heard: SimpleQueue[tuple[_Host, Any]] = SimpleQueue()
        self.hosts: list[_Host] = []
        self._size, self._looked, self._sent, self._error, self._is_final = 0, 0.0, 0.0, "", False

    def run(self) -> CastOutcome:
        """Start the hosts, and have jobs of those that are here, until all of them have what they can have."""
        for number, name in {0: name_here(), **self._names}.items():
            self.hosts.append(_Host(number, name, self._heard))
        failed, until = 0, float("inf")
        # 1. A wait for the hosts, as long as they have to answer.
        while waiting := [host for host in self.hosts if not host.is_here and not host.why]:
            self._far.text = f"waiting for {', '.join(host.name for host in waiting)}"
            if waiting[0].number:  # this host itself has all the time that it takes
                until = min(until, monotonic() + self._asked.start)
            if self._take_in(min(until - monotonic(), _PATIENCE)) is None and monotonic() >= until:
                break
        # 2. Jobs, one after the other, of those that are here by then.
        while True:
            job = self._ready()
            if len(job) < 2 or (job[0].number and not self._size):  # nobody knows which files there are
                break
            again = self._have_job(job)
            failed = failed + 1 if again is None else 0
            if failed >= _TRIES or (again is None and self._is_final):
                raise DeliveryError(self._error)
            if again is False and not self._late(job):
                break
        seconds = monotonic() - self._began
        ends = {host.number: self._end_of(host) for host in self.hosts if host.number or host.why}
        return CastOutcome(
            ends,
            {0: self.hosts[0].name, **self._names},
            self._size,
            (seconds, self._looked, self._sent),
            self._asked.rate,
        )

    def _ready(self) -> list[_Host]:
        """Return the hosts that are here, and that links join with the first of these."""
        left = {host.number: host for host in self.hosts if host.is_here and not host.why}
        if self._where is None or not left:
            return list(left.values())
        found = [left.pop(min(left))]
        for host in found:
            # it grows as we go
            found += [left.pop(v) for v in left.keys() & set(self._where.neighbors(host.number))]
        return sorted(found, key=lambda host: host.number)

    def _late(self, job: Sequence[_Host]) -> bool:
        """Return whether hosts can take part that are in no job."""
        return not set(self._ready()) <= set(job)

    def _end_of(self, host: _Host) -> Result | str:
        if host.result or host.why:
            return host.result or host.why
        if not host.is_here:
            return f"not reached (ssh: no answer within {monotonic() - self._began:.0f} s)"
        apart = "left out (its links lead to hosts that are not there)"
        return "the source has died" if host in self._ready() else apart

    def _take_in(self, seconds: float) -> "tuple[_Host, Any] | None":
        """Return who says what next, None when nobody does within so many seconds; a text is why a host is gone."""
        try:
            host, words = self._heard.get(timeout=max(0.0, seconds))
        except Empty:
            return None
        if isinstance(words, str):
            host.why = words
        return host, words

    def _have_job(self, job: Sequence[_Host]) -> bool | None:
        """Have a job of some hosts; return whether it was stopped for others, None when it did not start."""
        secret, far = secrets.token_bytes(32), [host.name for host in job if host.number]
        place = MeetingPlace(len(job), Trust(secret), ("", 0))
        shared = {
            "TREECAST_SIZE": str(len(job)),
            "TREECAST_MEET": ",".join(spell((address, place.port)) for address in own_addresses(far)),
            **rate_words(self._asked),
        }
        links = self._links(job)
        for rank, host in enumerate(job):
            asked = {
                "own": str(self._asked.own),
                "target": self._asked.target,
                "sure": self._asked.sure,
                "network": links,
            }
            named = {"number": host.number, "name": host.name, "secret": secret.hex()}
            host.tell({**asked, **named, "environment": {**shared, "TREECAST_RANK": str(rank)}})
        try:
            return self._follow(job)
        finally:
            place.close()

    def _links(self, job: Sequence[_Host]) -> dict[str, str]:
        """Return the words that hold the network of a job, as in the header of a plan; none where no network is named.

        A file of cables is here alone.
        """
        if self._where is None:
            return {}
        gone = {host.number for host in self.hosts} - {host.number for host in job}
        left = self._where.without(nodes=gone) if gone else self._where
        return {"network": left.spec, **words_of(left)}

    def _follow(self, job: Sequence[_Host]) -> bool | None:
        """Hear what the hosts of a job say, until all have ended it."""
        left, began, stopped, failed, until = set(job), monotonic(), False, False, float("inf")
        while left and monotonic() < until:
            # Whoever came later gets in at the next job: this one is asked to stop between two batches.
            if not stopped and monotonic() > began + _PATIENCE and self._late(job):
                for host in left:
                    host.tell({})
                stopped = True
            heard = self._take_in(min(_PATIENCE, until - monotonic()))
            if heard is None or heard[0] not in job:
                continue
            host, words = heard
            if isinstance(words, str):
                left.discard(host)
            elif "far" in words:
                self._far.say(*words["far"])
            elif "failed" in words:
                left.discard(host)
                failed = True
                self._error, self._is_final = words["failed"], not words["again"]
            elif "members" in words:
                left.discard(host)
                self._size, took = words["size"], words["seconds"]
                self._looked, self._sent = max(self._looked, took[0]), max(self._sent, took[1])
                host.result = Result(*words["result"]) if words["result"] else host.result
                # Some rank has ended the job with an outcome. The others do so, too, or have died.
                until = min(until, monotonic() + _GRACE)
                silent = {each for rank, each in enumerate(job) if rank not in words["members"]}
                for each in silent & left:
                    each.why = "died"
                left -= silent
        for host in left:
            host.why = "died"
        done = any(host.result for host in job)
        return None if failed and not done else any(not host.result for host in job if not host.why)


def cast_to(names: Sequence[str], asked: CastRequest) -> CastOutcome:
    """Bring files to the hosts of a list.

    Raises PlanError without ssh, or for a network that does not fit, and DeliveryError where nothing goes.
    """
    where = None if asked.network is None else network_of_ranks(asked.network, 1 + len(names))
    if shutil.which("ssh") is None:
        raise PlanError("ssh cannot be started: there is no such program")
    far = Far()
    casting = _Casting(asked, names, far, where)
    with ended_by_signals(), far.shown():
        try:
            return casting.run()
        finally:
            for host in casting.hosts:
                host.let_go()
            end_all(*(host.process for host in casting.hosts))
