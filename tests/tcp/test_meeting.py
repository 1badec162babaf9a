"""How ranks find one another: launchers' variables, the meeting place, the proof of the secret, and strangers."""

import os
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from treecast.errors import PlanError
from treecast.groups.terms import Terms
from treecast.tcp.meeting import Place
from treecast.tcp.proof import StrangerError, Trust, Who, greet, read_secret
from treecast.tcp.start import Options, Start, find_start, start_job

SECRET = bytes(range(32))
SLURM = {"SLURM_PROCID": "2", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "300", "SLURM_STEP_ID": "1"}


@pytest.mark.parametrize(
    ("environment", "start"),
    [
        ({}, Start(0, 1)),
        (
            {"TREECAST_RANK": "1", "TREECAST_SIZE": "3", "TREECAST_MEET": "127.0.0.1:4000,10.0.0.1:4000"},
            Start(1, 3, (("127.0.0.1", 4000), ("10.0.0.1", 4000)), False),
        ),
        (
            {"RANK": "3", "WORLD_SIZE": "4", "MASTER_ADDR": "node0", "MASTER_PORT": "29500"},
            Start(3, 4, (("node0", 29501),)),
        ),
        (SLURM | {"SLURM_STEP_NODELIST": "gpu[07-09,12],x1"}, Start(2, 8, (("gpu07", 20_000 + 29_101 % 20_000),))),
        ({"PMI_RANK": "0", "PMI_SIZE": "2", "TREECAST_MEET": "h:1"}, Start(0, 2, (("h", 1),))),
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "TREECAST_MEET": "h:1"},
            Start(1, 2, (("h", 1),)),
        ),
        (
            {"JOB_COMPLETION_INDEX": "4", "TREECAST_SIZE": "9", "TREECAST_MEET": "job-0.svc:900"},
            Start(4, 9, (("job-0.svc", 900),)),
        ),
    ],
)
def test_every_launcher_says_who_this_is_and_where_to_meet(environment, start):
    assert find_start(environment) == start


@pytest.mark.parametrize(
    "environment",
    [
        {"PMI_RANK": "0", "PMI_SIZE": "2"},
        {"RANK": "4", "WORLD_SIZE": "4", "TREECAST_MEET": "h:1"},
        {"RANK": "x", "WORLD_SIZE": "4", "TREECAST_MEET": "h:1"},
        {"RANK": "0", "WORLD_SIZE": "4", "TREECAST_MEET": "h"},
        {"RANK": "0", "WORLD_SIZE": "4", "TREECAST_MEET": "h:99999"},
    ],
)
def test_what_a_launcher_leaves_open_is_one_line(environment):
    with pytest.raises(PlanError) as error:
        find_start(environment)
    assert "\n" not in str(error.value)


def start_all(size, starts, options):
    """Start ranks as threads; return their jobs or errors."""

    def start(rank):
        try:
            return start_job(starts(rank), options)
        except PlanError as error:
            return error

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(start, range(size)))


def end_all(jobs):
    for job in jobs:
        job.abandon()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_rank_0_holds_the_place_until_all_are_there():
    place = (("127.0.0.1", free_port()),)
    jobs = start_all(4, lambda rank: Start(rank, 4, place), Options(trust=Trust(SECRET), start=20))
    assert [sorted(job.transport._wires) for job in jobs] == [[r for r in range(4) if r != me] for me in range(4)]
    end_all(jobs)


class Store:
    """A store as torch.distributed has them: ``get`` waits."""

    def __init__(self):
        self.values, self.changed = {}, threading.Condition()

    def set(self, key, value):
        with self.changed:
            self.values[key] = value.encode()
            self.changed.notify_all()

    def get(self, key):
        with self.changed:
            self.changed.wait_for(lambda: key in self.values, 20)
            return self.values[key]


def test_a_store_is_a_place_to_meet():
    jobs = start_all(3, lambda rank: Start(rank, 3), Options(store=Store(), start=20))
    assert all(len(job.transport._wires) == 2 for job in jobs)
    end_all(jobs)


@pytest.mark.parametrize(
    "term", [{"survive": 2}, {"deadline": 4}, {"late": 2.0}, {"sure": True}, {"network": "ring:2"}]
)
def test_ranks_on_unlike_terms_do_not_start_and_say_who_says_what(term):
    place = Place(2, Trust(SECRET), ("127.0.0.1", 0), start=20)
    where = (("127.0.0.1", place.port),)

    [(name, value)] = term.items()
    said = " and ".join(sorted((rf"{getattr(Terms(), name)} \(rank 0\)", rf"{value} \(rank 1\)")))

    def start(rank):
        with pytest.raises(PlanError, match=rf"the same {name}, not {said}"):
            start_job(Start(rank, 2, where, False), Options(Terms(**(term if rank else {})), Trust(SECRET), 20))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(start, range(2)))
    place.close()


def test_who_does_not_come_is_named():
    place = Place(3, Trust(SECRET), ("127.0.0.1", 0), start=0.3)
    where = (("127.0.0.1", place.port),)
    found = start_all(2, lambda rank: Start(2 * rank, 3, where, False), Options(trust=Trust(SECRET), start=10))
    assert [str(error) for error in found] == ["the job cannot start: rank 1 did not come"] * 2
    place.close()


def test_another_secret_is_refused():
    place = Place(2, Trust(SECRET), ("127.0.0.1", 0), start=5)
    found = start_all(
        1, lambda rank: Start(0, 2, (("127.0.0.1", place.port),), False), Options(trust=Trust(b"x"), start=5)
    )
    assert "none of this job" in str(found[0])
    place.close()


def test_no_host_but_this_one_without_a_secret():
    with pytest.raises(PlanError, match="TREECAST_SECRET"):
        start_job(Start(1, 2, (("10.1.2.3", 4000),)), Options())


def test_the_secret_in_a_file_that_others_can_read_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "secret"
    file.write_text(SECRET.hex() + "\n")
    monkeypatch.setenv("TREECAST_SECRET_FILE", str(file))
    file.chmod(0o644)
    with pytest.raises(PlanError, match="chmod 600"):
        read_secret()
    file.chmod(0o600)
    assert read_secret() == SECRET
    monkeypatch.delenv("TREECAST_SECRET_FILE")
    monkeypatch.setenv("TREECAST_SECRET", "no digits")
    with pytest.raises(PlanError, match="hexadecimal"):
        read_secret()


def both(client, server):
    """Let two sides greet; return what each found."""
    one, other = socket.socketpair()

    def side(sock, how, is_server):
        try:
            return greet(sock, *how, server=is_server, seconds=5)[1]
        except OSError as error:
            return error

    with one, other, ThreadPoolExecutor(2) as pool:
        return list(pool.map(side, (one, other), (client, server), (False, True)))


def test_both_sides_prove_the_secret_and_learn_who_the_other_is():
    a, b = Who(1, b"a" * 16), Who(2, b"b" * 16)
    assert both((a, Trust(SECRET)), (b, Trust(SECRET))) == [b, a]
    assert all(isinstance(found, StrangerError) for found in both((a, Trust(SECRET)), (b, Trust(b"other"))))


def test_a_proof_that_is_reflected_is_none():
    """An attacker who knows no secret sends everything back that it hears."""
    one, other = socket.socketpair()

    def reflect():
        while got := other.recv(200):
            other.sendall(got)

    thread = threading.Thread(target=reflect, daemon=True)
    thread.start()
    with one, pytest.raises(StrangerError):
        greet(one, Who(0, bytes(16)), Trust(SECRET), server=True, seconds=5)
    thread.join(5)
    other.close()


STRANGERS = [
    b"",
    b"GET / HTTP/1.1\r\n\r\n",
    os.urandom(40),
    b"treecast" + bytes(38) + bytes(32),
    struct.pack("<8sHI", b"treecast", 9, 0),
]


def test_strangers_neither_stop_nor_change_a_job():
    place = Place(3, Trust(SECRET), ("127.0.0.1", 0), start=20)
    address, strangers = ("127.0.0.1", place.port), []

    def knock(where, times):
        for k in range(times):
            sock = socket.create_connection(where)
            sock.sendall(STRANGERS[k % len(STRANGERS)])
            strangers.append(sock)

    knock(address, 20)
    jobs = start_all(3, lambda rank: Start(rank, 3, (address,), False), Options(trust=Trust(SECRET), start=20))
    for job in jobs:
        knock(("127.0.0.1", job._listener.port), 30)
    groups = [job.add_group(range(3), 0) for job in jobs]
    assert [group.rank for group in groups] == [0, 1, 2]
    assert all(not job.transport.lost for job in jobs)
    end_all(jobs)
    place.close()
    for sock in strangers:
        sock.close()
