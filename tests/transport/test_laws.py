"""Every carrier keeps the laws of a transport."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.groups.scheduler import Net
from treecast.errors import PlanError
from treecast.running.laws import transports
from treecast.running.transport.base import SMALL, FrameError
from treecast.running.transport.links import Links
from treecast.running.transport.sockets import Sockets
from treecast.running.transport.wire import Wire


def join():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return socket.create_connection(server.getsockname()), server.accept()[0]


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """Make connections into secure ones."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("secure")
    words = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=rank -days 1"
    subprocess.run(words.split(), cwd=folder, check=True, capture_output=True, timeout=60)
    contexts = ssl.create_default_context(cafile=folder / "cert.pem"), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    contexts[0].check_hostname = False
    contexts[1].load_cert_chain(folder / "cert.pem", folder / "key.pem")

    def wrap(ends):
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda k: contexts[k].wrap_socket(ends[k], server_side=bool(k)), range(2)))

    return wrap


def two_ends(wrap=lambda ends: ends, **given):
    @contextlib.contextmanager
    def make(size, deadline):
        ends = wrap(join())
        both = [Sockets(rank, size, {1 - rank: ends[rank]}, deadline, **given) for rank in range(size)]
        try:
            yield both
        finally:
            for each in both:
                each.close()

    return make


@pytest.mark.parametrize("name", transports.LAWS)
def test_sockets_keep_the_laws(name):
    transports.check_law(name, two_ends())


@pytest.mark.parametrize("name", transports.LAWS)
def test_sockets_whose_memory_is_read_keep_the_laws(name):
    transports.check_law(name, two_ends(cma=True))


@pytest.mark.parametrize("name", transports.LAWS)
def test_secure_sockets_keep_the_laws(name, secure):
    transports.check_law(name, two_ends(secure))


def test_only_optional_laws_are_left_out():
    with pytest.raises(PlanError, match="no optional law"):
        transports.check_transport(two_ends(), without=["bytes_come_to_their_places"])


SCHEDULED = set(transports.OPTIONAL) - {
    "threads_wait_at_once",
    "the_side_thread_outlives_errors",
    "close_ends_waits",
    "silence_is_judged",
    "who_is_spared_is_not_lost",
}


@contextlib.contextmanager
def in_lanes(size, deadline):
    yield Net(size, SMALL).nodes


@pytest.mark.parametrize("name", [name for name in transports.LAWS if name not in transports.OPTIONAL - SCHEDULED])
def test_ranks_of_the_scheduler_keep_the_laws(name):
    transports.check_law(name, in_lanes)


def refused(handler, *given):
    try:
        handler(*given)
    except Exception as error:
        raise FrameError from error


def let_go(self, seconds):
    self.lock.release()
    time.sleep(1e-3)
    self.lock.acquire()
    return self._selector.select(seconds)


MUTANTS = {
    "a place is written when nobody awaits it any more": (
        Wire,
        "cancel",
        lambda self, key: None,
        "a_message_is_cancelled",
    ),
    "all of a rank stays": (Wire, "cancel", lambda self, key: None, "all_of_a_rank_is_cancelled"),
    "tickets of who is shut stay": (Wire, "_end_all", lambda self: None, "who_is_shut_is_heard_no_more"),
    "its offers stay": (Wire, "shut", lambda self: self._end_all(), "who_is_shut_is_heard_no_more"),
    "shut twice is told twice": (
        Sockets,
        "shut",
        lambda self, rank, why="shut": self._wires[rank].shut() or self._lose(rank, False, why),
        "who_is_shut_is_heard_no_more",
    ),
    "an error is the sender's": (
        Sockets,
        "_call",
        lambda self, handler, *given: refused(handler, *given),
        "errors_of_handlers_are_this_ranks_own",
    ),
    "the side thread ends": (Sockets, "_help", lambda self: None, "the_side_thread_outlives_errors"),
    "a look lets the lock go": (Sockets, "_select", let_go, "a_wait_of_no_seconds_keeps_the_lock"),
    "an error is swallowed": (Sockets, "raise_error", lambda self: None, "errors_of_handlers_are_this_ranks_own"),
    "nobody says that it lives": (Sockets, "_living", lambda self: [], "silence_is_judged"),
    "no time is watched": (Sockets, "watch_time", lambda self, judges=True: None, "silence_is_judged"),
    "who is spared is shut": (Sockets, "cancel", lambda self, *given: self.shut(given[0]), "who_is_spared_is_not_lost"),
    "an end is no proof": (Sockets, "_end", lambda self, wire, *given: self._drop(wire), "ends_are_proved"),
    "all is forgotten": (Wire, "forget", lambda self, call, group: self.early.clear(), "old_messages_are_forgotten"),
    "lengths are not told": (Wire, "waits", lambda self, key: 7, "bytes_come_to_their_places"),
    "keys are few": (
        Wire,
        "ask",
        lambda self, key, *given, ask=Wire.ask: ask(self, key._replace(stage=0), *given),
        "messages_go_by_their_keys",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_carrier_that_breaks_a_law_is_found(name, monkeypatch):
    *mutant, law = MUTANTS[name]
    transports.check_law(law, two_ends())
    monkeypatch.setattr(*mutant)
    monkeypatch.setattr(transports, "_LIMIT", 0.3)
    with pytest.raises(AssertionError):
        transports.check_law(law, two_ends())


# Streams over links keep the laws of every carrier.


@contextlib.contextmanager
def over_links(size, deadline):
    """Join two ranks by a third, which passes on what they say to each other."""
    (zero, two), (one, also_two) = join(), join()
    socks = [{2: zero}, {2: one}, {0: two, 1: also_two}]
    links = [Links(Sockets(rank, 3, ends, deadline)) for rank, ends in enumerate(socks)]
    every = [Sockets(rank, 3, each.streams, deadline, selector=each) for rank, each in enumerate(links)]
    every[2].start()
    try:
        yield every[:2]
    finally:
        for each in every:
            each.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", transports.LAWS)
def test_streams_over_links_keep_the_laws(name):
    transports.check_law(name, over_links)
