"""Starts the ranks of a job, here or on other hosts: processes that meet here, a time limit, and an end that ends all of it."""

import os
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from treecast.errors import PlanError
from treecast.running.groups.members import name_ranks
from treecast.running.jobs.command import ending_the_job, start, torch_place
from treecast.running.jobs.ending import end_all, ended_by_signals
from treecast.running.jobs.watch import Ending, Watch, folder_of_job
from treecast.tcp.hosts import deal_out, own_addresses, start_there
from treecast.tcp.meeting import MeetingPlace, spell
from treecast.tcp.proof import Trust


class _Ranks:
    """The ranks of a job: the variables of all, the host of each, None for this one, how many are started anew, and processes."""

    def __init__(
        self,
        program: Sequence[str],
        shared: Mapping[str, str],
        hosts: Sequence[str | None],
        respawn: int,
        stdout: int | None,
    ) -> None:
        self._program, self._shared, self._hosts, self._stdout = program, shared, hosts, stdout
        self._respawn, self.children = respawn, dict[int, subprocess.Popen[bytes]]()

    def start(self, rank: int, **more: str) -> None:
        """Start a rank. Raises PlanError when that fails."""
        hosts, host = self._hosts, self._hosts[rank]
        # as torchrun names them: the number among those of one host
        near = {"LOCAL_RANK": hosts[:rank].count(host), "LOCAL_WORLD_SIZE": hosts.count(host)}
        named = {"TREECAST_RANK": rank, "RANK": rank, "WORLD_SIZE": len(hosts), **near}
        environment = {**self._shared, **{name: str(value) for name, value in named.items()}, **more}
        if host is None:
            self.children[rank] = start(ending_the_job(self._program), environment, stdout=self._stdout)
        else:
            self.children[rank] = start_there(host, self._program, environment, self._stdout)

    def look(self, watch: Watch, place: MeetingPlace) -> Ending | None:
        """Return how the job ended, when all have ended or one has failed; start some of those anew that a signal has ended.

        A job that has not begun cannot be joined, so nobody is started anew before all are connected. When all are dead, and all
        can be started anew, the job begins again.
        """
        # None: it still runs
        ended = {rank: status for rank, child in self.children.items() if (status := child.poll()) is not None}
        # above 0: it failed by itself, and so does the job
        if failed := [status for status in ended.values() if status > 0]:
            return watch.ending(failed[0])
        killed = [rank for rank, status in ended.items() if status < 0]  # below 0: a signal
        # Some rank has ended well: who comes back from now on is told that the job is done.
        if watch.has_begun and len(killed) < len(ended):
            place.end()
        # all have ended, and some of them well, or too many to come again
        if len(ended) == len(self.children) and (len(killed) < len(ended) or self._respawn < len(killed)):
            # 128 + n, as shells say of signal n
            return watch.ending(0 if 0 in ended.values() else 128 - min(ended.values()))
        # nobody will come again: the others need not wait
        if watch.has_begun and killed and not self._respawn and (left := place.lacking() & {*killed}):
            why = f"the job cannot begin again without {name_ranks(left)}"
            return watch.ending(128 - min(ended.values()), why)
        for rank in killed[: self._respawn if watch.has_begun else 0]:  # before all were connected nobody can join
            self._respawn -= 1
            watch.anew.add(rank)
            self.start(rank, TREECAST_JOIN="1")
        return watch.not_begun(place.seats) or watch.abandoned()


def launch(
    ranks: int | None,
    program: Sequence[str],
    timeout: float | None = None,
    *,
    respawn: int = 0,
    hosts: str | Sequence[str | None] | None = None,
    tie: bool = False,
    environment: Mapping[str, str] | None = None,
    stdout: int | None = None,
) -> Ending:
    """Start ranks of a program, wait for them, and return how the job ended.

    The job ends with the first rank that fails, with its status; after ``timeout`` seconds with 124; and with SIGINT, SIGTERM and
    SIGHUP. A rank that a signal ends (SIGKILL, say) ends nothing: the others survive that. Then the status is 0 if
    some rank ends well. ``respawn``: how many such ranks are started anew, as newcomers (``Comm.admit``). ``hosts``: a file that
    says on which hosts ranks are started, by ssh, and how many; or the host of each rank, None for this one. ``tie``: ranks here
    end, too, when this process is killed. Raises PlanError when nothing starts.
    """
    # 1. What can be wrong is said before anything starts.
    where = deal_out(hosts, ranks) if isinstance(hosts, str) else hosts or [None] * (ranks or 0)
    if not where:
        raise PlanError(f"{ranks or 0} ranks do nothing: write -n 4, say")
    if not program:
        raise PlanError("there is nothing to start: write treecast launch --tcp -n 4 -- COMMAND …")
    named = (environment or {}).get("TREECAST_NETWORK")
    if named is not None and None in where:  # other hosts may have the file of a network, and this one not
        from treecast.tcp.start import network_of_ranks

        network_of_ranks(named, len(where))
    # 2. A secret of this job, and the addresses of this host that the others reach.
    count, secret, far = len(where), secrets.token_bytes(32), list(filter(None, where))
    # the first loopback that this machine has
    addresses = own_addresses(far) if far else own_addresses(["127.0.0.1", "::1"])[:1]
    # 3. A place to meet, and the variables of all ranks.
    with ended_by_signals(), folder_of_job() as folder:
        watch = Watch(folder / "status", count)
        # far ranks come from outside, so it listens everywhere
        place = MeetingPlace(count, Trust(secret), ("" if far else addresses[0], 0))
        place.hear = watch.hear
        shared = {
            **(environment or {}),
            "TREECAST_SIZE": str(count),
            "TREECAST_MEET": ",".join(spell((address, place.port)) for address in addresses),
            "TREECAST_SECRET": secret.hex(),
            "TREECAST_JOB": str(watch.status),
            **torch_place(where[0] or addresses[0]),
            **({"TREECAST_TIE": str(os.getpid())} if tie else {}),
        }
        # 4. The ranks, and a wait until the job ends.
        job = _Ranks(program, shared, where, respawn, stdout)
        children = job.children
        try:
            for rank in range(count):
                job.start(rank)
            return watch.wait(lambda: job.look(watch, place), timeout, children.values)
        finally:
            # 5. Whatever happened, all ends: far ranks when their input does, those here as processes.
            for child in children.values():
                if child.stdin is not None:  # the input of ssh: with its end the far rank ends
                    with suppress(OSError):
                        child.stdin.close()
            end_all(*children.values())
            place.close()
