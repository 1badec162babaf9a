"""How ranks find one another: launchers' variables, the meeting place, the proof of the secret, and strangers."""

import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.tcp.threads import at_once
from treecast.errors import PlanError
from treecast.running.groups.terms import Terms
from treecast.tcp import proof
from treecast.tcp.meeting import MeetingPlace, knock
from treecast.tcp.proof import StrangerError, Trust, Who, greet, read_secret, secret_of_user
from treecast.tcp.records import read_record, send_record
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

    return at_once([partial(start, rank) for rank in range(size)])


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
    place = MeetingPlace(2, Trust(SECRET), ("127.0.0.1", 0), start=20)
    where = (("127.0.0.1", place.port),)

    [(name, value)] = term.items()
    said = " and ".join(sorted((rf"{getattr(Terms(), name)} \(rank 0\)", rf"{value} \(rank 1\)")))

    def start(rank):
        with pytest.raises(PlanError, match=rf"the same {name}, not {said}"):
            start_job(Start(rank, 2, where, False), Options(Terms(**(term if rank else {})), Trust(SECRET), 20))

    at_once([partial(start, rank) for rank in range(2)])
    place.close()


@pytest.mark.parametrize(
    "record",
    [
        7,
        None,
        "ask",
        ["lost"],
        {},
        {"seat": [[], {}]},
        {"after": ""},
        {"lost": 3},
        {"ask": ["a"]},
        {"ask": [], "put": 1, "where": {}},
    ],
)
def test_a_record_of_another_shape_closes_the_connection(record):
    place = MeetingPlace(2, Trust(SECRET), ("127.0.0.1", 0), start=20)
    with knock(("127.0.0.1", place.port), Who(0, bytes(16)), Trust(SECRET))[0] as sock:
        send_record(sock, record)
        with pytest.raises(ConnectionError):
            read_record(sock, monotonic() + 5)
    assert place.seats == {}
    place.close()


def test_who_does_not_come_is_named():
    place = MeetingPlace(3, Trust(SECRET), ("127.0.0.1", 0), start=0.3)
    where = (("127.0.0.1", place.port),)
    found = start_all(2, lambda rank: Start(2 * rank, 3, where, False), Options(trust=Trust(SECRET), start=10))
    assert [str(error) for error in found] == ["the job cannot start: rank 1 did not come"] * 2
    place.close()


def test_who_waits_at_the_place_takes_no_thread_of_it():
    place, own, many = MeetingPlace(41, Trust(SECRET), ("127.0.0.1", 0), start=60), os.urandom(16), 40
    seat = {"seat": [[["127.0.0.1", 1]], Terms().words()], "after": ""}
    socks = [knock(("127.0.0.1", place.port), Who(rank, own), Trust(SECRET))[0] for rank in range(many)]
    for sock in socks:
        send_record(sock, seat)
    until = monotonic() + 60
    while len(place.seats) < many and monotonic() < until:
        sleep(0.01)
    while (busy := sum("_prove" in each.name for each in threading.enumerate())) > many // 2 and monotonic() < until:
        sleep(0.01)
    assert busy <= many // 2
    with knock(("127.0.0.1", place.port), Who(many, own), Trust(SECRET))[0] as last:
        send_record(last, seat)
        tables = [read_record(sock, until)["table"] for sock in [*socks, last]]
    assert [[rank for rank, *_ in table] for table in tables] == [list(range(many + 1))] * (many + 1)
    for sock in socks:
        sock.close()
    place.close()


def test_a_job_may_have_as_many_connections_as_files_may_be_open():
    program = """
import resource
from treecast.tcp.meeting import MeetingPlace
from treecast.tcp.proof import Trust
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))
MeetingPlace(2, Trust(b"x"), ("127.0.0.1", 0))
print(resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most))
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60).stdout == b"True\n"


def test_another_secret_is_refused():
    place = MeetingPlace(2, Trust(SECRET), ("127.0.0.1", 0), start=5)
    found = start_all(
        1, lambda rank: Start(0, 2, (("127.0.0.1", place.port),), False), Options(trust=Trust(b"x"), start=5)
    )
    assert "none of this job" in str(found[0])
    place.close()


def test_no_host_but_this_one_without_a_secret():
    with pytest.raises(PlanError, match="TREECAST_SECRET"):
        start_job(Start(1, 2, (("10.1.2.3", 4000),)), Options())


@pytest.fixture
def bare(monkeypatch):
    """Leave no secret in the environment, nor one that was read from it."""
    for name in ("TREECAST_SECRET", "TREECAST_SECRET_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(proof, "_GIVEN", {})
    return monkeypatch


def test_the_secret_in_a_file_that_others_can_read_is_refused(tmp_path, bare):
    file = tmp_path / "secret"
    file.write_text(SECRET.hex() + "\n")
    bare.setenv("TREECAST_SECRET_FILE", str(file))
    file.chmod(0o644)
    with pytest.raises(PlanError, match="chmod 600"):
        read_secret()
    file.chmod(0o600)
    assert read_secret() == SECRET
    bare.delenv("TREECAST_SECRET_FILE")
    bare.setenv("TREECAST_SECRET", "no digits")
    with pytest.raises(PlanError, match="hexadecimal"):
        read_secret()


def test_a_secret_that_was_read_stays_in_this_process_alone(bare):
    bare.setenv("TREECAST_SECRET", SECRET.hex())
    assert [read_secret(), read_secret()] == [SECRET, SECRET]
    program = "import os; print('TREECAST_SECRET' in os.environ)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60).stdout == b"False\n"
    bare.setenv("TREECAST_SECRET", "ab")
    assert read_secret() == b"\xab"


def test_a_child_of_a_fork_does_not_get_the_secret():
    program = """
import os
from treecast.tcp.proof import read_secret
assert read_secret() == b"k" * 32
child = os.fork()
if not child:
    os._exit(read_secret() != b"")
with open("/proc/self/environ", "rb") as shown:
    assert (b"k" * 32).hex().encode() not in shown.read()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    environment = {**os.environ, "TREECAST_SECRET": (b"k" * 32).hex()}
    line = [sys.executable, "-c", program]
    assert subprocess.run(line, capture_output=True, timeout=60, env=environment).stdout == b"0\n"


@pytest.fixture
def folder(tmp_path, bare):
    """Return the folder in which the user's secret is made, which is not there yet."""
    bare.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))
    bare.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"treecast-{os.geteuid()}"


def secret_here():
    return secret_of_user.__wrapped__(os.geteuid())


def test_all_who_come_at_once_have_one_secret_of_the_user(folder):
    found = at_once([secret_here] * 16, 30)
    assert len(set(found)) == 1
    assert len(found[0]) == 32
    assert [(file.name, file.stat().st_mode & 0o777) for file in folder.iterdir()] == [("treecast-secret", 0o600)]
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_secret_of_the_user_is_made_in_the_runtime_folder_where_there_is_one(folder, tmp_path, bare):
    runtime = tmp_path / "runtime"
    runtime.mkdir(0o700)
    bare.setenv("XDG_RUNTIME_DIR", str(runtime))
    secret_here()
    assert [file.name for file in runtime.iterdir()] == ["treecast-secret"]


def _open_to_all(folder):
    folder.mkdir()
    folder.chmod(0o777)


def _link_to_a_folder(folder):
    (folder.parent / "other").mkdir(0o700)
    folder.symlink_to(folder.parent / "other")


def _file_that_others_read(folder):
    folder.mkdir(0o700)
    (folder / "treecast-secret").write_text(SECRET.hex())
    (folder / "treecast-secret").chmod(0o644)


def _link_to_a_file(folder):
    folder.mkdir(0o700)
    (folder.parent / "known").write_text(SECRET.hex())
    (folder.parent / "known").chmod(0o600)
    (folder / "treecast-secret").symlink_to(folder.parent / "known")


def _empty_file(folder):
    folder.mkdir(0o700)
    (folder / "treecast-secret").touch(0o600)


@pytest.mark.parametrize(
    "lay", [_open_to_all, _link_to_a_folder, _file_that_others_read, _link_to_a_file, _empty_file, Path.touch]
)
def test_what_others_can_have_put_there_is_no_secret_of_the_user(folder, lay):
    lay(folder)
    with pytest.raises(PlanError) as error:
        secret_here()
    assert "\n" not in str(error.value)


AS_OTHER = """
import os, sys
from treecast.errors import PlanError
from treecast.running.groups.terms import Terms
from treecast.tcp.meeting import ask_place
from treecast.tcp.proof import Trust, Who
import socket, json, struct, hmac, queue, encodings.idna, time
os.setgid(65534); os.setuid(int(sys.argv[2]))
try:
    ask_place([("127.0.0.1", int(sys.argv[1]))], Who(0, bytes(16)), [[], Terms().words()], Trust(), time.monotonic() + 20)
    print("taken")
except PlanError as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize(("user", "words"), [(0, "taken"), (65534, "is no process of this user")])
def test_without_a_secret_only_processes_of_the_same_user_are_taken(user, words, bare):
    secret_of_user.cache_clear()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o1777)  # as the temporary folder of all users
        bare.setenv("XDG_RUNTIME_DIR", str(Path(folder, "none")))
        bare.setenv("TMPDIR", folder)
        bare.setattr(tempfile, "tempdir", folder)
        place = MeetingPlace(1, Trust(), ("127.0.0.1", 0), start=20)
        line = [sys.executable, "-c", AS_OTHER, str(place.port), str(user)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60)
        place.close()
        assert {name.name for name in Path(folder).iterdir()} == {"treecast-0", f"treecast-{user}"}
    secret_of_user.cache_clear()
    assert words in done.stdout, done.stderr


def both(client, server):
    """Let two sides greet; return what each found."""
    one, other = socket.socketpair()

    def side(sock, how, is_server):
        try:
            return greet(sock, *how, server=is_server, seconds=5)[1]
        except OSError as error:
            return error

    with one, other:
        return at_once([partial(side, one, client, False), partial(side, other, server, True)])


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
    place = MeetingPlace(3, Trust(SECRET), ("127.0.0.1", 0), start=20)
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
