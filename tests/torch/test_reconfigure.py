"""Members that change in place, as newer versions of torch ask for: the contract of c10d's ``reconfigure``."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.distributed as dist  # noqa: E402

from tests.torch.ranks import run  # noqa: E402

SIZE = 3


class Member:
    """A rank, what it calls, and how it meets the others: by the store."""

    def __init__(self, rank):
        self.rank, self.group = rank, dist.group.WORLD
        self.store = self.group.get_group_store()

    def meet(self, key):
        self.store.set(f"{key}-{self.rank}", self.group.get_reconfigure_handle())
        return [self.store.get(f"{key}-{rank}").decode() for rank in range(SIZE)]

    def change(self, uuid, handles):
        self.group.reconfigure(SimpleNamespace(uuid=uuid, handles=handles)).wait()

    def alone(self, uuid):
        self.change(uuid + self.rank, [self.group.get_reconfigure_handle()])

    def adds(self, members):
        found = torch.full((4,), dist.get_rank() + 1.0)
        dist.all_reduce(found)
        return dist.get_world_size() == members and found[0] == members * (members + 1) / 2


def all_of_a_list(me):
    me.change(100, me.meet("a"))
    return (dist.get_world_size(), dist.get_rank()) == (SIZE, me.rank)


def all_of_a_set(me):
    me.change(110, set(me.meet("b")))
    return (dist.get_world_size(), dist.get_rank()) == (SIZE, me.rank)


def sums(me):
    me.change(200, me.meet("c"))
    return me.adds(SIZE)


def messages(me):
    me.change(300, me.meet("d"))
    out, got = torch.full((4,), me.rank + 1.0), torch.zeros(4)
    for work in (me.group.send([out], (me.rank + 1) % SIZE, 0), me.group.recv([got], (me.rank - 1) % SIZE, 0)):
        work.wait()
    return got[0] == (me.rank - 1) % SIZE + 1


def without_the_last(me):
    handles = me.meet("e")
    if me.rank == SIZE - 1:
        return True
    me.change(400, handles[:-1])
    found = torch.full((4,), 42.0 * (dist.get_rank() == 0))
    dist.broadcast(found, group_src=0)
    return me.adds(SIZE - 1) and found[0] == 42


def without_the_middle(me):
    handles = me.meet("f")
    if me.rank == 1:
        return True
    me.change(500, [handles[0], handles[2]])
    return dist.get_rank() == me.rank // 2 and me.adds(2)


def down_to_one_and_up(me):
    me.alone(600)
    down = (dist.get_world_size(), dist.get_rank()) == (1, 0) and me.adds(1)
    me.change(610, me.meet("g"))
    return down and me.adds(SIZE)


def the_same_again(me):
    me.change(700, me.meet("h"))
    me.change(701, me.meet("h2"))
    return me.adds(SIZE)


def one_that_comes_late(me):
    handles = me.meet("i")
    if me.rank < 2:
        me.change(800, handles[:2])
    me.change(801, me.meet("i2"))
    return me.adds(SIZE)


def parts_that_meet(me):
    handles = me.meet("j")
    me.change(900 + (me.rank == 0), handles[:1] if me.rank == 0 else handles[1:])
    me.change(902, me.meet("j2"))
    return me.adds(SIZE)


def after_abort(me):
    me.change(1000, me.meet("k"))
    me.group.abort()
    me.change(1001, me.meet("k2"))
    return me.adds(SIZE)


def twice_the_same_number(me):
    me.alone(1100)
    try:
        me.alone(1100)
    except RuntimeError as error:
        return "already used" in str(error)
    return False


CASES = (
    all_of_a_list,
    all_of_a_set,
    sums,
    messages,
    without_the_last,
    without_the_middle,
    down_to_one_and_up,
    the_same_again,
    one_that_comes_late,
    parts_that_meet,
    after_abort,
    twice_the_same_number,
)


def program(rank):
    me, wrong = Member(rank), []
    for case in CASES:
        if not case(me):
            wrong.append(case.__name__)
        me.meet(f"end of {case.__name__}")
    return wrong


def test_members_change_in_place():
    assert run(SIZE, program) == [[]] * SIZE
