"""Starts among strangers, behind doors that close, and over IPv6."""

import socket
import threading
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
