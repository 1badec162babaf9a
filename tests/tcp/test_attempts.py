"""Who is new is asked of the job: of the place where ranks meet, or of their store. Each rank is a thread."""

import threading
from functools import partial

import pytest

from tests.tcp.test_meeting import SECRET, Store, end_all, start_all
from tests.tcp.threads import at_once
from treecast.running.groups.terms import Terms
from treecast.tcp import job as job_room
from treecast.tcp import stores
from treecast.tcp.comm import Comm
from treecast.tcp.meeting import MeetingPlace, TooLateError
from treecast.tcp.proof import Trust
from treecast.tcp.start import Options, Start, start_job

SIZE = 3


class Checked(Store):
    """A store that can be asked whether values are there."""

    def check(self, keys):
        with self.changed:
            return all(key in self.values for key in keys)


class Meeting:
    """Where the ranks of a job meet."""

    def __init__(self, by):
        self.by, self.store, self.place = by, None, None
        if by == "store":
            self.store = Checked()
        else:
            self.place = MeetingPlace(SIZE, Trust(SECRET), ("127.0.0.1", 0), start=20)
        self.where = (("127.0.0.1", self.place.port),) if self.place else ()
        self.options = Options(Terms(survive=2, deadline=20), Trust(SECRET), 20, store=self.store)

    def start(self, rank):
        return start_job(Start(rank, SIZE, self.where, False), self.options)

    def start_all(self, size=SIZE):
        return start_all(size, lambda rank: Start(rank, SIZE, self.where, False), self.options)

    def close(self):
        if self.place:
            self.place.close()


@pytest.fixture
def fresh(monkeypatch):
    """Let what comes later be as a process of its own."""

    def forget():
        monkeypatch.setattr(job_room, "_JOINED", [])

    forget()
    return forget


@pytest.fixture(params=["place", "store"])
def at(request):
    found = Meeting(request.param)
    yield found
    found.close()


def are_whole(jobs):
    assert not [job for job in jobs if isinstance(job, Exception)]
    return [(job.is_new, sorted(job.transport.peers)) for job in jobs] == [
        (False, [rank for rank in range(SIZE) if rank != me]) for me in range(SIZE)
    ]


def test_a_job_whose_ranks_have_all_died_begins_again(at, fresh):
    first = at.start_all()
    end_all(first)
    fresh()
    second = at.start_all()
    assert are_whole(second)
    assert {job.attempt for job in first}.isdisjoint(job.attempt for job in second)
    end_all(second)


def test_who_was_in_it_begins_it_again_in_the_same_process(at, fresh):
    for _ in range(3):
        jobs = at.start_all()
        assert are_whole(jobs)
        at_once([job.whole for job in jobs])
        at_once([job.finish for job in jobs])


def test_who_comes_to_a_job_that_lives_is_new(at, fresh):
    jobs = at.start_all()
    comms = [Comm(job, job.whole()) for job in jobs]
    jobs[2].abandon()
    fresh()

    def heal(comm):
        while not comm.admit():
            pass
        comm.share([bytearray(b"a")])
        return comm.allgather(comm.rank)

    def come():
        process = at.start(2)
        jobs.append(process)
        comm = Comm(process, process.whole(), is_new=process.is_new)
        assert comm.is_new
        comm.share([bytearray(b"b")])
        return comm.allgather(comm.rank)

    assert at_once([*(partial(heal, comm) for comm in comms[:2]), come]) == [[0, 1, 2]] * 3
    end_all(jobs)  # else each waits at the end of this process for the others


def test_a_newcomer_begins_the_job_again_when_the_others_die_meanwhile(at, fresh):
    first = at.start_all()
    first[2].abandon()
    fresh()
    found = []
    newcomer = threading.Thread(target=lambda: found.append(at.start(2)))
    newcomer.start()
    while not first[0].applicants() or not first[1].applicants():  # it waits for these
        threading.Event().wait(0.01)
    end_all(first)
    found += at.start_all(2)
    newcomer.join(20)
    assert are_whole(sorted(found, key=lambda job: job.transport.rank))
    end_all(found)


def test_a_death_before_the_beginning_leaves_no_seat_taken(fresh):
    at = Meeting("store")
    at.store.set("treecast/3/1/1", '["00", [[["127.0.0.1", 9]], []]]')  # of a process that has ended
    jobs = at.start_all()
    assert are_whole(jobs)
    end_all(jobs)


def test_who_comes_too_late_is_told_in_one_line(at, fresh, monkeypatch):
    monkeypatch.setattr(stores, "_LATE", 0.3)
    jobs = at.start_all()
    at_once([job.whole for job in jobs])
    at_once([job.finish for job in jobs])
    fresh()
    if at.place:
        at.place.end()
    with pytest.raises(TooLateError, match=r"^rank 1 came back too late: the job is done$"):
        at.start(1)
