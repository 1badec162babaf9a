"""Messages between two ranks on sockets: mpi4py's calls, in its order, and what comes of them when a rank has died."""

import threading
import time
from functools import partial

import numpy as np
import pytest

from tests.tcp.threads import DeathError, run_ranks
from treecast import tcp
from treecast.errors import DeliveryError, PlanError

SIZES = (0, 3, 8_000, 100_000)  # of entries: nothing, kept, kept, and fetched


def ring(comm):
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def send_then_receive(name):
    def exchange(comm, mine, place, status):
        right, left = ring(comm)
        received = comm.Irecv(place, left, 5)
        sent = getattr(comm, name)(mine, dest=right, tag=5)
        received.Wait(status)
        if sent is not None:
            sent.Wait()

    return exchange


def replaced(comm, mine, place, status):
    right, left = ring(comm)
    place[:] = mine
    comm.Sendrecv_replace(place, right, 5, left, 5, status)


EXCHANGES = {
    name: send_then_receive(name) for name in ("Send", "Bsend", "Ssend", "Isend", "Ibsend", "Issend", "Irsend")
}
EXCHANGES |= {
    "Sendrecv": lambda comm, mine, place, status: comm.Sendrecv(
        mine, dest=ring(comm)[0], sendtag=5, recvbuf=place, source=ring(comm)[1], recvtag=5, status=status
    ),
    "Isendrecv": lambda comm, mine, place, status: comm.Isendrecv(mine, ring(comm)[0], 5, place, ring(comm)[1], 5).Wait(
        status
    ),
    "Sendrecv_replace": replaced,
}


@pytest.mark.parametrize("name", EXCHANGES)
@pytest.mark.parametrize("spec", [None, "ring:3"])
def test_buffers_go_round(name, spec):
    def program(comm):
        found = []
        for count in SIZES:
            place, status = np.full(count, -1.0), tcp.Status()
            EXCHANGES[name](comm, np.full(count, comm.rank + 0.5), place, status)
            found.append((set(place.tolist()), status.Get_count(tcp.DOUBLE), status.source, status.tag))
        return found

    found = run_ranks(3, program, spec)
    for rank, each in enumerate(found):
        left = (rank - 1) % 3
        assert each == [({left + 0.5} if count else set(), count, left, 5) for count in SIZES]


def test_objects_of_any_size():
    def program(comm):
        right, left = ring(comm)
        request, status = comm.isend({"from": comm.rank}, right, tag=2), tcp.Status()
        first = comm.recv(source=left, tag=2, status=status)
        later = comm.irecv(source=left)
        comm.send("x" * 200_000 * comm.rank, right)
        again = comm.sendrecv(comm.rank, dest=right, source=left)
        return first, len(later.wait()), again, request.wait(), status.source, later.wait()

    assert run_ranks(3, program) == [
        ({"from": left}, 200_000 * left, left, None, left, None) for left in ((rank - 1) % 3 for rank in range(3))
    ]


def test_messages_are_matched_by_source_and_tag_in_their_order():
    def program(comm):
        if comm.rank:
            for k in range(3):
                comm.send((comm.rank, k), 0, tag=k)
            comm.barrier()
            return None
        comm.barrier()
        status = tcp.Status()
        found = [comm.recv(source=2, tag=1), comm.recv(source=2), comm.recv(source=2, tag=tcp.ANY_TAG)]
        found += [comm.recv(status=status) for _ in range(2)]
        return [*found, (status.source, status.tag), comm.Iprobe(), comm.recv(tag=2), comm.Iprobe()]

    assert run_ranks(3, program)[0] == [(2, 1), (2, 0), (2, 2), (1, 0), (1, 1), (1, 1), True, (1, 2), False]


def test_communicators_have_messages_of_their_own():
    def program(comm):
        other, half = comm.Dup(), comm.Split(comm.rank == 2)
        if comm.rank == 0:
            other.send("other", 1)
            half.send("half", 1)
            comm.send("first", 1)
        if comm.rank == 1:
            return comm.recv(), half.recv(), other.recv()
        return half.size

    assert run_ranks(3, program) == [2, ("first", "half", "other"), 1]


@pytest.mark.parametrize("count", [10, 100_000])
def test_a_longer_message_is_an_error_where_it_is_received_and_the_next_is_right(count):
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.ones(count), 1, 7)
            comm.Send(np.full(2, 5.0), 1, 7)
            return None
        place = np.zeros(2)
        with pytest.raises(tcp.Exception) as raised:
            comm.Recv(place, 0, 7)
        before = place.tolist()
        comm.Recv(place, 0, 7)
        return str(raised.value), raised.value.Get_error_class() == tcp.ERR_TRUNCATE, before, place.tolist()

    text = f"Recv: {8 * count:,} bytes come from rank 0, tag 7, where 16 are received"
    assert run_ranks(2, program)[1] == (text, True, [0, 0], [5, 5])


WRONG = {
    "a rank that is none": (lambda comm: comm.Send(np.ones(1), 3), tcp.Exception, "Send: there is no rank 3"),
    "a source that is none": (lambda comm: comm.recv(source=-5), tcp.Exception, "recv: there is no rank -5"),
    "a tag below 0": (lambda comm: comm.send(1, 0, -1), tcp.Exception, "send: -1 is no tag"),
    "a place that cannot be written": (lambda comm: comm.Recv(b"abc", 0), ValueError, "cannot be written"),
    "no buffer": (lambda comm: comm.Send(object(), 0), TypeError, "object"),
    "no number": (lambda comm: comm.send(1, "0"), TypeError, "str"),
    "a call without a rank": (lambda comm: comm.Send(np.ones(1)), TypeError, "dest"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_and_nothing_is_sent(name):
    call, kind, text = WRONG[name]

    def program(comm):
        with pytest.raises(kind, match=text):
            call(comm)
        return comm.sendrecv(comm.rank, 1 - comm.rank, source=1 - comm.rank), comm.Iprobe()

    assert run_ranks(2, program) == [(1, False), (0, False)]


def test_nobody_brings_nothing_at_once():
    def program(comm):
        place, status = np.full(2, 7.0), tcp.Status()
        comm.Send(place, tcp.PROC_NULL)
        comm.Recv(place, tcp.PROC_NULL, status=status)
        request = comm.Irecv([None, 0, tcp.INT], tcp.PROC_NULL)
        comm.Sendrecv(None, tcp.PROC_NULL, recvbuf=None, source=tcp.PROC_NULL)
        said = (
            comm.recv(source=tcp.PROC_NULL),
            comm.probe(tcp.PROC_NULL),
            comm.sendrecv(1, tcp.PROC_NULL, source=tcp.PROC_NULL),
        )
        return place.tolist(), status.source, status.tag, status.count, request.Test(), said

    assert run_ranks(1, program) == [([7, 7], tcp.PROC_NULL, tcp.ANY_TAG, 0, True, (None, True, None))]


def test_messages_to_oneself():
    def program(comm):
        with_it = comm.issend("waits", 0)
        before = with_it.Test()
        comm.Send(np.arange(100_000), 0)
        place = np.zeros(100_000, int)
        return before, comm.recv(), with_it.Test(), comm.Recv(place, 0), int(place[-1])

    assert run_ranks(1, program) == [(False, "waits", True, None, 99_999)]


# who has died, or ended


def outcome(call):
    try:
        return call()
    except DeliveryError as error:
        return str(error)


def test_the_error_names_the_dead_and_what_it_sent_before_is_received():
    def program(comm):
        if comm.rank == 2:
            comm.send("last words", 0)
            raise DeathError
        if comm.rank == 1:
            return outcome(lambda: comm.Recv(np.ones(1), 2)), outcome(lambda: comm.ssend(1, 2)), comm.recv(source=0)
        first = comm.recv(source=2)
        said = [outcome(lambda: comm.recv(source=2)), outcome(lambda: comm.Probe(2))]
        said += [
            outcome(lambda: comm.Send(np.ones(100_000), 2)),
            outcome(lambda: comm.Sendrecv(np.ones(1), 2, 0, np.ones(1), 2)),
        ]
        comm.send("still here", 1)
        return first, said

    (first, said), other, _ = run_ranks(3, program)
    why = "rank 2 has died, and the message is lost"
    assert first == "last words"
    assert said == [f"{name}: {why}" for name in ("recv", "Probe", "Send", "Sendrecv")]
    assert other == (f"Recv: {why}", f"ssend: {why}", "still here")


def test_a_wait_for_anybody_ends_when_nobody_is_left():
    def program(comm):
        if comm.rank == 1:
            raise DeathError
        if comm.rank == 2:
            comm.send(7, 0)
            return None
        waits = comm.irecv()
        return waits.wait(), outcome(comm.recv), outcome(lambda: comm.irecv(tag=4).wait())

    found, said, later = run_ranks(3, program)[0]
    assert found == 7
    assert said == "recv: rank 1 has died, rank 2 has ended, and the message is lost"
    assert later == said.replace("recv", "irecv")


def test_who_ends_while_its_message_is_under_way_still_delivers_it():
    def program(comm):
        if comm.rank == 1:
            comm.Isend(np.full(300_000, 3.0), 0)
            return None
        time.sleep(0.3)
        place = np.zeros(300_000)
        comm.Recv(place, 1)
        return set(place.tolist()), outcome(lambda: comm.recv(source=1))

    assert run_ranks(2, program)[0] == ({3.0}, "recv: rank 1 has ended, and the message is lost")


def test_a_wait_for_several_ends_with_the_first_that_fails():
    def program(comm):
        if comm.rank == 2:
            raise DeathError
        if comm.rank == 1:
            return comm.recv()
        places = [np.zeros(1), np.zeros(1)]
        requests = [comm.Irecv(places[0], 1), comm.Irecv(places[1], 2)]  # rank 1 sends only when it is told to
        said = outcome(lambda: tcp.Request.Waitall(requests))
        comm.send("go on", 1)
        return said, bool(requests[0])

    said = "Irecv: rank 2 has died, and the message is lost"
    assert run_ranks(3, program)[:2] == [(said, True), "go on"]


def test_a_stencil_goes_on_without_the_dead():
    """The error of an exchange is dropped: whatever the living have sent has come, and the next collective tells all."""

    def program(comm):
        seat, values = comm.rank, np.full(4, comm.rank + 1.0)
        for step in range(20):
            if seat == 2 and step == 10:
                raise DeathError
            right, left = ring(comm)
            for mine, to, place, source in ((1, left, 3, right), (2, right, 0, left)):
                ends = values[mine : mine + 1], to, step, values[place : place + 1], source, step
                outcome(partial(comm.Sendrecv, *ends))
            comm.barrier()
            if len(comm.members) < comm.size:
                comm = comm.Dup()
        return values.tolist()

    found = run_ranks(4, program)
    assert [found[rank] for rank in (0, 1, 3)] == [[4, 1, 1, 2], [1, 2, 2, 4], [2, 4, 4, 1]]


# requests


def test_requests_are_waited_for_in_every_form_and_are_null_then():
    def program(comm):
        if comm.rank:
            comm.recv()
            for tag in (2, 0, 1):
                comm.send(10 * tag, 0, tag)
            comm.Ibarrier().Wait()
            return None
        requests = [comm.irecv(tag=tag) for tag in range(3)]
        begun = [tcp.Request.testany(requests), tcp.Request.testsome(requests), tcp.Request.testall(requests)]
        comm.send("go", 1)
        place, first = tcp.Request.waitany(requests)
        rest = {}
        while (some := tcp.Request.waitsome(requests))[0] is not None:
            rest |= dict(zip(*some, strict=True))
        idle = (
            tcp.Request.Waitany(requests),
            tcp.Request.Testall(requests),
            tcp.Request.waitall(requests),
            tcp.Request.waitall([]),
        )
        barrier, status = comm.Ibarrier(), [tcp.Status()]
        tcp.Request.Waitall([barrier, comm.isend(1, 0)], status)
        return (
            begun,
            {place: first, **rest},
            idle,
            [r == tcp.REQUEST_NULL for r in (*requests, barrier)],
            len(status),
            comm.recv(),
        )

    begun, found, idle, null, statuses, last = run_ranks(2, program)[0]
    assert begun == [(tcp.UNDEFINED, False, None), ([], []), (False, None)]
    assert found == {0: 0, 1: 10, 2: 20}
    assert idle == (tcp.UNDEFINED, True, [None] * 3, [])
    assert (null, statuses, last) == ([True] * 4, 2, 1)


def test_persistent_requests_begin_again_and_again():
    def program(comm):
        right, left = ring(comm)
        mine, place, found = np.zeros(3), np.zeros(3), []
        both = [comm.Send_init(mine, right, 4), comm.Recv_init(place, left, 4)]
        for turn in range(3):
            mine[:] = 10 * turn + comm.rank
            tcp.Prequest.Startall(both)
            tcp.Request.Waitall(both)
            found.append(place[0])
        both[1].Start()
        with pytest.raises(PlanError, match="not under way"):
            both[1].Start()
        both[0].Start()
        tcp.Request.Waitall(both)
        alive = [bool(each) for each in both]
        for each in both:
            each.Free()
        return found, alive, [bool(each) for each in both]

    assert run_ranks(3, program) == [
        ([left, 10 + left, 20 + left], [True] * 2, [False] * 2) for left in ((rank - 1) % 3 for rank in range(3))
    ]


def test_a_receive_may_be_cancelled_and_takes_nothing_then():
    def program(comm):
        status = tcp.Status()
        request = comm.irecv(source=1 - comm.rank)
        request.Cancel()
        found = request.wait(status)
        return found, status.Is_cancelled(), comm.sendrecv(comm.rank, 1 - comm.rank, source=1 - comm.rank)

    assert run_ranks(2, program) == [(None, True, 1), (None, True, 0)]


def test_a_wait_in_one_thread_keeps_no_other_thread_back():
    def program(comm):
        got = []
        thread = threading.Thread(target=lambda: got.append(comm.recv(source=1 - comm.rank)))
        thread.start()
        total = comm.allreduce(comm.rank)
        comm.send(total, 1 - comm.rank)
        thread.join(30)
        return got

    assert run_ranks(2, program) == [[1], [1]]


def test_a_sender_waits_for_room_and_nothing_is_lost():
    """4,000 messages of 4 KiB are twice what is kept of a sender."""

    def program(comm):
        if comm.rank == 0:
            for k in range(4_000):
                comm.Send(np.full(512, k), 1)
            return None
        while not comm.iprobe():
            pass
        time.sleep(0.5)
        place, wrong = np.zeros(512, int), 0
        for k in range(4_000):
            comm.Recv(place, 0)
            wrong += place[0] != k or place[-1] != k
        return wrong, comm.iprobe()

    assert run_ranks(2, program)[1] == (0, False)


def test_too_many_messages_that_nobody_receives_are_refused():
    def program(comm):
        if comm.rank:
            comm.barrier()
            return comm.recv()
        comm.send("first", 1)
        requests = [comm.issend(0, 1, tag=9) for _ in range(8_192)]
        with pytest.raises(PlanError, match="8,192 messages to rank 1 wait to be received"):
            comm.issend(0, 1, tag=9)
        comm.barrier()
        return len(requests)

    assert run_ranks(2, program) == [8_192, "first"]


# operations on pairs


@pytest.mark.parametrize("datatype", ["FLOAT_INT", "DOUBLE_INT", "LONG_INT", "INT_INT", "SHORT_INT", "TWOINT"])
def test_the_place_of_the_greatest_and_the_least(datatype):
    pair, values = getattr(tcp, datatype), np.random.default_rng(5).integers(0, 4, (3, 50))

    def program(comm):
        mine, found = np.zeros(50, pair.dtype), []
        mine["value"], mine["place"] = values[comm.rank], comm.rank
        for op in (tcp.MAXLOC, tcp.MINLOC):
            out = np.zeros(50, pair.dtype)
            comm.Allreduce([mine, pair], [out, pair], op)
            found.append((out["value"].tolist(), out["place"].tolist()))
            found.append(comm.allreduce((int(values[comm.rank, 0]), comm.rank), op))
        return found

    most, least = (values.max(0), values.argmax(0)), (values.min(0), values.argmin(0))
    wanted = [
        each for value, place in (most, least) for each in ((value.tolist(), place.tolist()), (value[0], place[0]))
    ]
    assert run_ranks(3, program) == [wanted] * 3


def test_an_operation_works_on_two_arrays_here():
    one, other = np.array([1.0, 5.0]), np.array([3.0, 4.0])
    tcp.SUM.Reduce_local(one, other)
    assert other.tolist() == [4, 9]
    apart = np.zeros((2, 2))
    tcp.MAX.Reduce_local([one, 2, tcp.DOUBLE], apart[:, 0])
    assert apart.tolist() == [[1, 0], [5, 0]]
    tcp.REPLACE.Reduce_local(one, other)
    assert other.tolist() == [1, 5]
    for wrong in (np.zeros(3), np.zeros(2, int)):
        with pytest.raises(ValueError, match="mismatch"):
            tcp.SUM.Reduce_local(one, wrong)
    with pytest.raises(TypeError):
        tcp.BAND.Reduce_local(one, other)


def test_a_communicator_that_is_none_and_names():
    (error,) = run_ranks(1, lambda comm: comm.Create_intercomm)
    assert "Create_intercomm is not here (docs/reference/tcp.md" in str(error)
    with pytest.raises(AttributeError, match="COMM_NULL"):
        tcp.COMM_NULL.Send(np.ones(1), 0)
    assert repr(tcp.COMM_NULL) == "COMM_NULL"
    assert run_ranks(
        1, lambda comm: (comm.Get_name(), comm.Set_name("mine"), comm.name, comm.Is_inter(), comm.is_intra)
    ) == [("MPI_COMM_WORLD", None, "mine", False, True)]


# messages that are found, and received later


@pytest.mark.parametrize("count", SIZES)
def test_a_matched_probe_keeps_a_message_for_who_found_it(count):
    def program(comm):
        if comm.rank:
            works = [comm.Isend(np.full(count, turn + 0.5), 0, 3) for turn in range(3)]
            works.append(comm.isend({"of": comm.rank}, 0, 4))
            tcp.Request.Waitall(works)
            return None
        status, places = tcp.Status(), [np.zeros(count) for _ in range(3)]
        first = comm.Mprobe(1, 3, status)
        told = status.Get_source(), status.Get_tag(), status.Get_count(tcp.DOUBLE)
        comm.Recv(places[1], 1, 3)  # the second: nothing else receives the first
        while (third := comm.Improbe(tag=3)) is None:
            pass
        work = third.Irecv(places[2])
        alive = bool(first), bool(third), comm.Improbe(1, 3) is None
        first.Recv(places[0])
        work.Wait()
        with pytest.raises(PlanError, match="it was received"):
            first.Recv(places[0])
        return told, alive, [place.tolist() for place in places], comm.mprobe().recv()

    found = run_ranks(2, program)[0]
    places = [[turn + 0.5] * count for turn in range(3)]
    assert found == ((1, 3, count), (True, False, True), places, {"of": 1})


def test_matched_probes_find_nobody_at_once_and_nothing_of_the_dead():
    def program(comm):
        if comm.rank:
            raise DeathError
        nobody, status = comm.Mprobe(tcp.PROC_NULL), tcp.Status()
        given = bool(nobody), nobody.recv(status), status.Get_source()
        with pytest.raises(DeliveryError, match="Mprobe: rank 1 has died"):
            comm.Mprobe(1)
        return given, bool(tcp.MESSAGE_NULL)

    assert run_ranks(2, program)[0] == ((True, None, tcp.PROC_NULL), False)


def test_a_look_at_requests_forgets_none():
    def program(comm):
        if comm.rank:
            comm.recv()
            comm.send("one", 0, 1)
            return comm.recv()
        requests = [comm.irecv(tag=tag) for tag in (0, 1)]
        comm.send("go", 1)
        while not (some := tcp.Request.Get_status_some(requests)):
            pass
        looks = some, tcp.Request.Get_status_any(requests), tcp.Request.Get_status_all(requests)
        comm.send("end", 1)
        first = requests[1].wait()
        requests[0].Cancel()
        return looks, first, tcp.Request.get_status_all(requests), tcp.Request.Get_status_some([tcp.REQUEST_NULL])

    assert run_ranks(2, program)[0] == (([1], (1, True), False), "one", True, None)
