"""Starts among strangers, behind doors that close, and over IPv6."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from time import monotonic

import pytest

from tests.tcp.test_meeting import SECRET, end_all, free_port, start_all
from treecast.errors import PlanError
from treecast.running.groups.terms import Terms
from treecast.tcp.hosts import own_addresses, read_hosts
from treecast.tcp.meeting import MeetingPlace, Seat, connect, listen, tell_place
from treecast.tcp.proof import Trust, Who
from treecast.tcp.start import Options, Start, read_places


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


IPV6 = pytest.mark.skipif(not has_ipv6(), reason="the kernel has no ::1")


class Door:
    """A door in front of a port: it closes the first connections after some bytes, and passes the others on."""

    def __init__(self, port, refused, after=0):
        self.server, self.behind, self.refused, self.after = listen(("127.0.0.1", 0)), port, refused, after
        self.port, self.came, self.opened = self.server.getsockname()[1], 0, [self.server]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with suppress(OSError):
            while True:
                near, _ = self.server.accept()
                self.came += 1
                self.opened.append(near)
                if self.came <= self.refused:
                    with near:
                        near.recv(self.after, socket.MSG_WAITALL)
                    continue
                far = socket.create_connection(("127.0.0.1", self.behind))
                self.opened.append(far)
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self.pass_on, args=pair, daemon=True).start()

    def pass_on(self, one, other):
        with suppress(OSError):
            while got := one.recv(1 << 16):
                other.sendall(got)
            other.shutdown(socket.SHUT_WR)

    def close(self):
        for sock in self.opened:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


@pytest.mark.parametrize("after", [0, 46])
def test_a_handshake_that_is_closed_is_tried_again(after):
    place = MeetingPlace(3, Trust(SECRET), ("127.0.0.1", 0), start=20)
    door = Door(place.port, 5, after)
    where = (("127.0.0.1", door.port),)
    jobs = start_all(3, lambda rank: Start(rank, 3, where, False), Options(trust=Trust(SECRET), start=20))
    assert [len(job.transport.peers) for job in jobs] == [2] * 3
    assert door.came >= 8
    end_all(jobs)
    place.close()
    door.close()


def test_so_is_one_between_ranks_until_the_time_is_up():
    place = MeetingPlace(2, Trust(SECRET), ("127.0.0.1", 0))
    door = Door(place.port, 3)
    seat = Seat(place._own.rank, "", [("127.0.0.1", door.port)], Terms().words())
    connect(seat, Who(0, b"a" * 16), Trust(SECRET), monotonic() + 20).close()
    door.refused = door.came + 1000
    with pytest.raises((ConnectionAbortedError, ConnectionResetError)):
        connect(seat, Who(0, b"a" * 16), Trust(SECRET), monotonic() + 0.2)
    place.close()
    door.close()


def test_another_secret_and_a_dead_rank_are_not_tried_again():
    place = MeetingPlace(2, Trust(SECRET), ("127.0.0.1", 0))
    where = (("127.0.0.1", place.port),)
    (found,) = start_all(1, lambda rank: Start(0, 2, where, False), Options(trust=Trust(b"x"), start=600))
    assert "none of this job" in str(found)
    seat = Seat(0, "ab" * 16, [("127.0.0.1", free_port())], Terms().words())
    with pytest.raises(ConnectionRefusedError):
        connect(seat, Who(1, b"a" * 16), Trust(SECRET), monotonic() + 600)
    place.close()


def test_a_place_that_has_gone_ends_the_start():
    place = MeetingPlace(2, Trust(SECRET), ("127.0.0.1", 0), start=600)
    where = (("127.0.0.1", place.port),)

    def end():
        while not place.seats:
            threading.Event().wait(0.01)
        place.close()
        for sock in list(came):
            sock.shutdown(socket.SHUT_RDWR)

    came, take = [], place._use
    place._use = lambda sock, who: (came.append(sock), take(sock, who))
    thread = threading.Thread(target=end)
    thread.start()
    (found,) = start_all(1, lambda rank: Start(0, 2, where, False), Options(trust=Trust(SECRET), start=600))
    assert str(found) == "the meeting place has gone before all ranks were there"
    thread.join()


def test_the_place_hears_who_is_connected_and_whom_ranks_have_put_out():
    heard, came = [], threading.Semaphore(0)
    place = MeetingPlace(3, Trust(SECRET), ("127.0.0.1", 0))
    place.hear = lambda rank, lost: (heard.append((rank, lost)), came.release())
    where = [("127.0.0.1", free_port()), ("127.0.0.1", place.port)]
    for lost in ((), (2, 0)):
        tell_place(where, Who(1, b"a" * 16), Trust(SECRET), lost)
        assert came.acquire(timeout=20)
    tell_place(where, Who(1, b"a" * 16), Trust(b"stranger"), (0,))
    assert heard == [(1, []), (1, [2, 0])]
    place.close()


def silent_strangers(stack, port, count):
    """Connect as often as given to a port, and say nothing."""
    with ThreadPoolExecutor(16) as pool:
        for sock in pool.map(lambda _: socket.create_connection(("127.0.0.1", port), timeout=60), range(count)):
            stack.enter_context(sock)


def among_strangers(count):
    """Start a job behind silent strangers; return the seconds that took, and the most threads at once."""
    place = MeetingPlace(3, Trust(SECRET), ("127.0.0.1", 0), start=60)
    where, most, over = (("127.0.0.1", place.port),), [0], threading.Event()

    def look():
        while not over.wait(0.01):
            most[0] = max(most[0], sum("_prove" in thread.name for thread in threading.enumerate()))

    watcher = threading.Thread(target=look)
    watcher.start()
    with ExitStack() as stack:
        silent_strangers(stack, place.port, count)
        begin = monotonic()
        jobs = start_all(3, lambda rank: Start(rank, 3, where, False), Options(trust=Trust(SECRET), start=60))
        seconds = monotonic() - begin
    over.set()
    watcher.join()
    end_all(jobs)
    place.close()
    return seconds, most[0]


def test_sixty_four_silent_strangers_refuse_nobody():
    seconds, threads = among_strangers(80)
    assert seconds < 4  # less than one of them may stay
    assert threads <= 64 + 3  # and the ranks, which wait for one another


@IPV6
@pytest.mark.parametrize("secret", [b"", SECRET])
def test_ranks_meet_by_ipv6(secret):
    where = read_places(f"[::1]:{free_port()}")
    jobs = start_all(3, lambda rank: Start(rank, 3, where), Options(trust=Trust(secret), start=20))
    assert [len(job.transport.peers) for job in jobs] == [2] * 3
    families = {wire.sock.family for job in jobs for wire in job.transport._wires.values()}
    assert families == {socket.AF_INET6}
    end_all(jobs)


@IPV6
def test_a_job_with_a_secret_listens_by_both():
    with listen(("", 0)) as server:
        for host in ("127.0.0.1", "::1"):
            socket.create_connection((host, server.getsockname()[1]), timeout=20).close()


@IPV6
def test_own_addresses_are_of_the_family_of_the_host():
    assert own_addresses(["127.0.0.1", "::1", "me@::1"]) == ["127.0.0.1", "::1"]


@pytest.mark.parametrize(
    ("line", "host"),
    [("fd00::1", ("fd00::1", 1)), ("[fd00::1]:3", ("fd00::1", 3)), ("me@fd00::1 slots=2", ("me@fd00::1", 2)),
     ("::1", ("::1", 1)), ("fe80::1%eth0 slots=4", ("fe80::1%eth0", 4)), ("[::1] slots=2 # two", ("::1", 2))],
)  # fmt: skip
def test_hosts_of_ipv6_are_read(line, host):
    assert read_hosts(line) == [host]


@pytest.mark.parametrize("text", ["::1:4000", "fd00::1", "[::1]", "[::1]:0", ":4000"])
def test_what_is_no_place_is_one_line(text):
    with pytest.raises(PlanError, match=r"is no place to meet: write host:port or \[IPv6\]:port"):
        read_places(text)


# Starts of real ranks: early deaths, many strangers, and what a killed launcher leaves.


HEAD = "import os, signal, sys, time; rank = int(os.environ['TREECAST_RANK'])\n"


JOIN = "import treecast; comm = treecast.connect(survive=1, deadline=20)\n"


def launch(*words, program, ranks=3, **environment):
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tie", "-n", str(ranks), *words, "--"]
    line += [sys.executable, "-c", program]
    begin = time.monotonic()
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment}
    )
    return done.returncode, done.stdout, done.stderr, time.monotonic() - begin


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "says", "status"),
    [("os.kill(os.getpid(), 9)", "rank 1 was killed (signal 9); 0 of 3 ended with 0; ranks 0, 2 had not ended", 1),
     ("sys.exit(0)", "1 of 3 ended with 0; ranks 0, 2 had not ended", 1),
     ("raise ValueError('early')", "rank 1 raised ValueError: early; 0 of 3 ended with 0", 1)],
)  # fmt: skip
@pytest.mark.parametrize("respawn", [0, 3])
def test_a_death_before_all_are_connected_ends_the_start(end, says, status, respawn):
    done, _, err, seconds = launch("--respawn", str(respawn), program=f"{HEAD}if rank == 1: {end}\n{JOIN}")
    assert (done, says in err) == (status, True), err
    assert ("the job cannot begin without rank 1, which ended before all were connected" in err) == ("Value" not in end)
    assert seconds < 60  # 300 without this rule


@pytest.mark.slow
@pytest.mark.parametrize("late", [0, 2])
def test_so_does_one_while_others_come_late(late):
    program = f"{HEAD}if rank == 1: os.kill(os.getpid(), 9)\nif rank == 2: time.sleep({late})\n{JOIN}"
    done, _, err, seconds = launch("--respawn", "2", program=program)
    assert (done, "cannot begin without rank 1" in err, seconds < 60) == (1, True, True), err


@pytest.mark.slow
def test_ranks_that_join_nobody_may_die_early():
    done, out, err, _ = launch(program=f"{HEAD}if rank == 1: os.kill(os.getpid(), 9)\ntime.sleep(2); print('end')")
    assert (done, out) == (0, "end\nend\n")
    assert err == "treecast: rank 1 was killed (signal 9); 2 of 3 ended with 0\n"


@pytest.mark.slow
def test_five_hundred_silent_strangers_refuse_nobody():
    seconds, threads = among_strangers(500)
    assert seconds < 60
    assert threads <= 64 + 3


@pytest.mark.slow
@IPV6
def test_ranks_on_hosts_of_ipv6_meet(tmp_path):
    (tmp_path / "ssh").write_text('#!/bin/sh\nshift 3; test "$1" = ::1 || exit 255; shift\nexec sh -c "$*"\n')
    (tmp_path / "ssh").chmod(0o755)
    (tmp_path / "hosts").write_text("::1\n[::1]:2\n")
    program = f"{JOIN}print(os.environ['TREECAST_MEET'].startswith('[::1]:'), comm.allreduce(1))"
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tag", "--hosts", str(tmp_path / "hosts"), "--"]
    done = subprocess.run(
        [*line, sys.executable, "-c", f"import os; {program}"], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] True 3" for rank in range(3)]


def folders(place):
    return {path.name for path in place.glob("treecast-*")}


@pytest.mark.slow
def test_the_next_launch_removes_the_folder_of_a_killed_launcher(tmp_path):
    environment = {"TMPDIR": str(tmp_path)}
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tie", "-n", "1", "--", sys.executable, "-c"]
    program = "print('began', flush=True); import time; time.sleep(600)"
    jobs = [
        subprocess.Popen([*line, program], env={**os.environ, **environment}, stdout=subprocess.PIPE) for _ in range(2)
    ]
    assert [job.stdout.readline() for job in jobs] == [b"began\n"] * 2
    both = folders(tmp_path)
    jobs[0].kill()
    jobs[0].communicate(timeout=60)
    (tmp_path / "treecast-of-others").mkdir()
    assert launch(program="pass", ranks=1, **environment)[0] == 0
    left = folders(tmp_path)
    jobs[1].send_signal(signal.SIGTERM)
    jobs[1].communicate(timeout=60)
    assert (len(both), len(left - {"treecast-of-others"}), "treecast-of-others" in left) == (2, 1, True)
    assert left < both | {"treecast-of-others"}
    assert folders(tmp_path) == {"treecast-of-others"}
