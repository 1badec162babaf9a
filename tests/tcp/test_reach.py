"""Many ranks with connections to few: calls that need no others, straight ones at first use, deaths, goodbyes and aborts."""

import os
import threading
from functools import partial
from time import monotonic, sleep

import numpy as np
import pytest

from tests.tcp.threads import DeathError, at_once
from treecast.errors import DeliveryError, Evicted, UnlikeCallsError
from treecast.running.groups import group, ways
from treecast.running.groups.terms import Terms
from treecast.running.transport.base import FrameError, FrameKind, Key
from treecast.tcp import start
from treecast.tcp.comm import Comm
from treecast.tcp.meeting import OPENS, MeetingPlace, connect
from treecast.tcp.proof import Trust, Who
from treecast.tcp.records import send_record
from treecast.tcp.start import Options, Start, start_job

SECRET = Trust(bytes(range(32)))


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Have more than eight ranks be many, with four neighbours each."""
    for module, name, number in ((group, "WIDE", 8), (start, "WIDE", 8), (ways, "WIDE", 8), (ways, "_SIDE", 2)):
        monkeypatch.setattr(module, name, number)
    monkeypatch.setattr(ways, "_LEAST", 1)
    ways.ways_of.cache_clear()
    yield
    ways.ways_of.cache_clear()


def run_job(size, program, seconds=100.0, **terms):
    """Run a program of a communicator in as many ranks, which meet; return what each returned or raised."""
    place = MeetingPlace(size, SECRET, ("127.0.0.1", 0), start=60)
    terms = Terms.of({"on_failed": "ignore", **terms}).check()

    def be_rank(rank):
        where = Start(rank, size, (("127.0.0.1", place.port),), False)
        job = start_job(where, Options(terms, SECRET, 60))
        comm = Comm(job, job.add_group(range(size), 0))
        try:
            found = program(comm)
        except DeathError as error:
            job.abandon()
            return error
        except Exception as error:
            found = error
        job.finish()
        return found

    try:
        return at_once([partial(be_rank, rank) for rank in range(size)], seconds)
    finally:
        place.close()


def connections(comm):
    """Return the ranks to which there are connections."""
    return {peer for peer, wire in comm.process.transport._wires.items() if wire.sock is not None and not wire.is_gone}


def small_calls(comm, step):
    """Make each small call once; return what it gave."""
    me, size = comm.rank, comm.size
    total, rows, one = np.zeros(1), np.zeros(size), np.zeros(1)
    comm.Allreduce(np.full(1, me + 1.0), total)
    comm.Allgather(np.full(1, me + 1.0), rows)
    comm.Bcast(one if me != step % size else np.full(1, 3.0), step % size)
    comm.Barrier()
    comm.Scan(np.full(1, 1.0), one)
    said = comm.allgather(me)
    return total[0], rows.sum(), one[0] - me, len([each for each in said if each is not None]), comm.bcast(step, 1)


def test_small_calls_need_no_connection_beside_those_of_the_start():
    size = 20

    def program(comm):
        before = connections(comm)
        found = [small_calls(comm, step) for step in range(4)]
        return found, before, connections(comm)

    near = ways.ways_of(tuple(range(size)), size, 1)
    for rank, (found, before, after) in enumerate(run_job(size, program)):
        assert found == [(210, 210, 1, 20, step) for step in range(4)]
        assert before == after == set(near.neighbours(rank))
        assert len(before) == 4


def test_a_straight_connection_is_opened_at_first_use_by_both_at_once():
    size, count = 12, 40_000

    def program(comm):
        out, place = np.full((size, count), comm.rank), np.zeros((size, count), int)
        comm.Alltoall(out, place)
        again = np.zeros((size, count), int)
        comm.Alltoall(out, again)
        return (place == again).all() and (place == np.arange(size)[:, None]).all(), len(connections(comm))

    assert run_job(size, program) == [(True, size - 1)] * size


def test_all_hear_of_deaths_and_go_on_alike():
    size, dead = 20, {5: 2, 6: 4, 0: 6}

    def program(comm):
        found = []
        for step in range(8):
            if dead.get(comm.rank) == step:
                raise DeathError
            total = np.zeros(1)
            comm.Allreduce(np.full(1, 1.0), total)
            rows = np.zeros(size)
            comm.Allgather(np.full(1, 1.0), rows)
            found.append((total[0], sum(rows), comm.last.failed))
        return found, comm.members, len(connections(comm))

    found = [each for each in run_job(size, program, survive=3) if not isinstance(each, DeathError)]
    assert len(found) == size - len(dead)
    assert all(each[:2] == found[0][:2] for each in found)
    assert [step[0] for step in found[0][0]] == [20, 20, 19, 19, 18, 18, 17, 17]
    assert found[0][0][-1][2] == (0, 5, 6)
    assert found[0][1] == tuple(sorted(set(range(size)) - set(dead)))


def test_who_dies_unseen_is_missed_by_ranks_without_a_connection_to_it():
    """Rank 10 dies between calls; a part of the ranks, none of them next to it, has straight messages with it only."""
    size, met = 20, threading.Barrier(20)

    def program(comm):
        part = comm.Split(comm.rank in (0, 10), comm.rank)
        met.wait(60)
        if comm.rank == 10:
            raise DeathError
        return part.allgather(comm.rank) if comm.rank == 0 else None

    assert run_job(size, program)[0] == [0, None]


def test_a_rank_that_leaves_early_is_missed_by_all():
    def program(comm):
        for _ in range(2 if comm.rank == 7 else 3):
            comm.Barrier()
        if comm.rank == 7:
            return None
        total = np.zeros(1)
        comm.Allreduce(np.full(1, 1.0), total)
        return total[0]

    assert [each for each in run_job(12, program) if each is not None] == [11] * 11


def test_an_abort_ends_all(monkeypatch):
    ended, begun = [], threading.Barrier(12)

    def end(self, source, key, body):
        ended.append((self.transport.rank, key.call))

    monkeypatch.setattr("treecast.tcp.job.JoinedJob._end_with", end)

    def program(comm):
        comm.Barrier()
        begun.wait(60)
        if comm.rank == 3:
            with comm.process.transport.lock:
                comm.process.news.abort(5)
        until = monotonic() + 60
        while len(ended) < 11 and monotonic() < until:
            sleep(0.01)
        begun.wait(60)

    run_job(12, program)
    assert sorted(ended) == [(rank, 5) for rank in range(12) if rank != 3]


def test_who_opens_a_connection_is_who_it_was_at_the_start():
    """A process that knows the secret, but is none of the job's, gets no connection in the name of a rank."""

    def program(comm):
        refused = None
        comm.Barrier()
        if comm.rank == 0:
            reach = comm.process.transport.opens.__self__
            stranger = Who(11, os.urandom(16))
            with connect(reach._table[5], stranger, SECRET, monotonic()) as sock:
                send_record(sock, OPENS)
                sock.settimeout(30)
                refused = sock.recv(1)
        comm.Barrier()
        return refused, comm.allreduce(1)

    assert run_job(12, program)[0] == (b"", 12)


@pytest.mark.parametrize("body", [b"", b"[]", b"[null, -1, []]", b'[null, 0, [[0, 1, "x"]]]', b"[null, 1048576, []]"])
def test_news_that_make_no_sense_are_refused(body):
    def program(comm):
        comm.Barrier()
        if comm.rank == 0:
            with pytest.raises(FrameError):
                comm.process.news._hear(1, Key(FrameKind.NEWS), body)
        comm.Barrier()
        return True

    assert run_job(9, program) == [True] * 9


def test_who_is_late_is_put_out_by_its_neighbours_and_nobody_else_is():
    done = threading.Event()

    def program(comm):
        comm.Barrier()
        if comm.rank == 5:
            done.wait(60)
        total = np.zeros(1)
        comm.Allreduce(np.full(1, 1.0), total)
        done.set()
        return total[0], comm.members

    found = run_job(14, program, late=0.5)
    others = tuple(rank for rank in range(14) if rank != 5)
    assert isinstance(found[5], Evicted)
    assert [found[rank] for rank in others] == [(13, others)] * 13


def test_a_newcomer_takes_a_seat_among_many():
    size, gone, back = 12, threading.Event(), []
    place = MeetingPlace(size, SECRET, ("127.0.0.1", 0), start=60)
    terms = Terms.of({"on_failed": "ignore"}).check()

    def calls(comm):
        while len(comm.members) < size:
            comm.admit()
        data = np.full(3, 7.0 if not comm.is_new else 0.0)
        comm.share([data])
        total = np.zeros(1)
        for _ in range(20):
            comm.Allreduce(np.full(1, comm.rank + 1.0), total)
        return float(total[0]), float(data.sum()), comm.allgather(comm.rank)

    def be_rank(rank):
        job = start_job(Start(rank, size, (("127.0.0.1", place.port),), False), Options(terms, SECRET, 60))
        comm = Comm(job, job.add_group(range(size), 0))
        comm.Barrier()
        if rank == 7:
            job.abandon()
            gone.set()
            return None
        while len(comm.members) == size:
            comm.Barrier()
        found = calls(comm)
        job.finish()
        return found

    def be_newcomer():
        assert gone.wait(60)
        where = Start(7, size, (("127.0.0.1", place.port),), False)
        job = start_job(where, Options(terms, SECRET, 60))
        back.append(calls(Comm(job, job.whole(), is_new=job.is_new)))
        job.finish()

    found = at_once([*(partial(be_rank, rank) for rank in range(size)), be_newcomer], 100)
    place.close()
    assert {str(each) for each in [*found, *back] if each is not None} == {str((78.0, 21.0, list(range(12))))}


@pytest.mark.parametrize("odd", [0, 5, 13])
def test_unlike_calls_of_many_raise_one_error_at_all_and_the_next_call_is_right(odd):
    def program(comm):
        total = np.zeros(1)
        comm.Barrier()
        try:
            comm.Bcast(total, 1) if comm.rank == odd else comm.Allreduce(np.full(1, 1.0), total)
        except UnlikeCallsError as error:
            said = str(error)
        else:
            said = ""
        try:
            comm.Allreduce(np.full(1, 2.0), total)
        except UnlikeCallsError as error:  # who had returned learns of it now
            said += str(error)
            comm.Allreduce(np.full(1, 2.0), total)
        return float(total[0]), said

    found = run_job(14, program)
    assert {total for total, _ in found} == {28.0}
    assert len({said for _, said in found}) == 1
    assert f"rank {odd} makes Bcast" in found[0][1]


@pytest.mark.parametrize("count", [10, 30_000])
def test_messages_go_straight_and_come_before_the_word_that_their_sender_has_ended(count):
    """Rank r sends to one that is no neighbour and ends at once: others may hear of the end before the message is there."""
    size, far = 20, 10

    def outcome(comm, place, source):
        try:
            return comm.Recv(place, source)
        except DeliveryError as error:
            return str(error)

    def program(comm):
        if comm.rank >= far:
            comm.Isend(np.full(count, comm.rank), comm.rank - far)
            if comm.rank == far:
                sleep(0.3)
                raise DeathError
            return None
        place, source = np.zeros(count, int), comm.rank + far
        said = [outcome(comm, place, source) for _ in range(2)]
        return set(place.tolist()), said, len(connections(comm)) < size - 1

    ends = ["has died"] + ["has ended"] * (far - 1)
    assert run_job(size, program, survive=2)[:far] == [
        ({rank + far}, [None, f"Recv: rank {rank + far} {end}, and the message is lost"], True)
        for rank, end in enumerate(ends)
    ]
