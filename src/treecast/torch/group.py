"""The process group: c10d's calls by a table, each of them one or several collectives of the communicator on sockets."""

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial, partialmethod
from threading import Thread
from types import SimpleNamespace
from typing import Any

from treecast.errors import DeliveryError, PlanError
from treecast.running.calls.collectives import has_holes
from treecast.running.calls.deaths import Deaths
from treecast.running.calls.table import Caller, job_of
from treecast.running.calls.worker import done
from treecast.running.groups.members import name_ranks
from treecast.tcp import library
from treecast.tcp.comm import Comm
from treecast.torch.forms import CALLS, CallOptions, One
from treecast.torch.messages import GroupMessages
from treecast.torch.tensors import Reader, TensorOp, once, torch
from treecast.torch.work import Work, dist, seconds_of, untraced

_HALF = 1 << 15  # of the numbers of groups: for names that count, and for others
_NAMES = Counter[tuple[int, str]]()


@untraced
class ProcessGroup(dist.ProcessGroup):
    """A group of ranks as torch knows it, over a communicator on sockets; ``init_process_group("treecast")`` makes it.

    Calls of a group are carried out in the order in which they are made; those that are not asynchronous in the caller's thread.
    The ``Work`` of a call raises its errors: DistBackendError, a RuntimeError.

    Examples
    --------
    >>> dist.init_process_group("treecast")                         # doctest: +SKIP
    >>> dist.all_reduce(torch.ones(3))                              # doctest: +SKIP
    """

    supports_splitting = supports_coalescing = supports_time_estimate = supports_shrinking = False
    bound_device_id, supports_reconfigure = None, True

    def __init__(self, comm: Comm, options: Any, ranks: Sequence[int]) -> None:
        dist.ProcessGroup.__init__(self, comm.rank, comm.size)
        self._store, self._name, self._number = options.store, options.group_id, 0
        self.divides = False
        """Whether a mean of the living is registered for DistributedDataParallel."""
        self.options = SimpleNamespace(global_ranks_in_group=list(ranks), group_name=options.group_id)
        """The options that torch asks of a backend."""
        self._is_whole, self._used = comm.group.ident == 0, set[Any]()  # the group of all ranks ends the job
        self._bind(comm)
        self._set_default_timeout(options.timeout)
        self._late = comm.terms.late

    def _bind(self, comm: Comm) -> None:
        self.comm, self._messages = comm, GroupMessages(comm)
        self._ours = Caller(library, Reader(), comm.rank, comm.size, comm.terms.sums)
        advice = "treecast.torch.shrink() makes a group of those who live"
        comm.deaths = Deaths("its group", advice, self._name_ranks, self._hint)

    def call(self, name: str, *arguments: Any, **named: Any) -> Work:
        """Carry out c10d's call of this name; the tensors and options are as there."""
        form, arguments = CALLS[name], (*arguments, *named.values())
        things, asked = arguments[: form.tensors], CallOptions.read(arguments[form.tensors :])
        ones = form.collectives(self, asked, *things)
        return self.submit(partial(self._carry_out, name, ones, asked), things and things[0], asked.is_async)

    def submit(self, work: Callable[[], Any], tensors: Any, is_async: bool) -> Work:
        """Have work done after all calls before it: beside the program, or in this thread."""
        self._number += 1
        worker = self.comm.worker
        if is_async:
            return Work(worker.begin(work), tensors, worker)
        # Those that were begun beside the program come before this one, at all ranks.
        worker.wait()
        return Work(done(work), tensors)

    def _carry_out(self, name: str, ones: Sequence[One], asked: CallOptions) -> None:
        with torch.autograd.profiler.record_function(f"treecast:{name}"):
            for one in ones:
                is_sparse = isinstance(one.out, torch.Tensor) and one.out.is_sparse
                failed = self._sum_sparse(one.out) if is_sparse else self.collective(one, asked.seconds, name)
                for rank in failed if has_holes(one.row.name) and one.out else ():
                    one.out[rank].zero_()  # what frameworks count and add by allgathers is then that of the living
                kind = one.row.kind
                if kind is not None and kind.ends == "root" and asked.root in failed:
                    lost = f"the result is lost with its root, rank {asked.root}"
                    raise dist.DistBackendError(f"treecast: {name}: {lost}")
                if asked.op == "AVG" and one.out is not None:
                    divide(one.out, self.size() - len(failed), one.out)

    def collective(self, one: One, seconds: float | None = None, title: str = "") -> tuple[int, ...]:
        """Carry out a collective; return the failed ranks whose data is missing. Raises DistBackendError.

        ``seconds``: after which a rank that does not come is late, by default as the group says. ``title``: of the call in torch.
        """
        arguments = [TensorOp(each) if isinstance(each, str) else each for each in one.arguments]
        group, job = self.comm.group, job_of(one.row.make, self._ours, tuple(arguments), {})
        # The timeout of this call alone.
        # of this call alone, so it is set each time
        group.terms, group.overdue = self.comm.terms._replace(late=seconds or self._late), set[int]()
        try:
            return self.comm.do(one.row.name, job, row=one.row, title=title)[1]
        except (DeliveryError, PlanError) as error:
            why, late = "", name_ranks(group.overdue)
            if group.overdue:
                # torch looks for "Timed out"
                why = f" ( Timed out : {late} did not come within {group.terms.late:g} s)"
            raise dist.DistBackendError(f"treecast: {error}{why}") from error

    @property
    def failed(self) -> tuple[int, ...]:
        """The ranks that are out by now."""
        return tuple(sorted({*range(self.size())} - {*self.comm.members}))

    def _hint(self) -> str:
        ddp = "" if self.divides else "; DistributedDataParallel divides by all ranks unless treecast.torch.mean(ddp)"
        return f"; {len(self.comm.members)} go on{ddp}"

    def _name_ranks(self, ranks: Sequence[int]) -> str:
        """Return ranks in words, with their numbers in the world where they have others there."""
        world = [self.options.global_ranks_in_group[rank] for rank in ranks]
        named = name_ranks(ranks)
        return named if world == list(ranks) else f"{named} (world {name_ranks(world)}) of group {self._name}"

    def _sum_sparse(self, tensor: Any) -> tuple[int, ...]:
        if self.comm.terms.sums == "exact":
            raise dist.DistBackendError("treecast: sums='exact' has sums of dense tensors: say sums='by-rank'")
        mine = tensor.coalesce()
        # by objects: each rank has entries of its own
        found = self.comm.ask("all_reduce", (mine.indices(), mine.values()))
        # a failed rank is None there
        parts = [torch.sparse_coo_tensor(*each, tensor.shape, check_invariants=False) for each in found if each]
        total: Any = sum(parts[1:], parts[0])
        tensor.sparse_resize_and_clear_(tensor.shape, tensor.sparse_dim(), tensor.dense_dim())
        tensor.copy_(total.coalesce())
        return tuple(rank for rank, each in enumerate(found) if each is None)

    def send(self, tensors: Any, dst: int, tag: int = 0) -> Work:
        """Send a tensor to a rank."""
        return self._messages.send(_only(tensors), dst, tag, self._timeout)

    def recv(self, tensors: Any, src: int, tag: int = 0) -> Work:
        """Receive a tensor from a rank."""
        return self._messages.receive(_only(tensors), src, tag, self._timeout)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """Receive a tensor from whichever rank sends one first."""
        return self._messages.receive(_only(tensors), None, tag, self._timeout)

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """Return when rank 0 has heard all ranks; raise RuntimeError that names those it has not heard in time."""
        self._messages.check_in(seconds_of(timeout) if timeout is not None else self._timeout, wait_all_ranks)

    def rank(self) -> int:
        """Return this rank's number."""
        return self.comm.rank

    def size(self) -> int:
        """Return how many ranks there are, also those that have failed: numbers stay."""
        return self.comm.size

    def name(self) -> str:
        """Return the backend's name."""
        return "treecast"

    getRank, getSize, getBackendName = rank, size, name  # noqa: N815
    _device_types = property(lambda self: [torch.device("cpu")])

    def getGroupName(self) -> str:  # noqa: N802
        """Return the name that torch has given."""
        return self._name

    def setGroupName(self, name: str) -> None:  # noqa: N802
        """Take the name that torch gives."""
        self._name = name

    def _get_backend(self, device: Any) -> "ProcessGroup":
        return self

    def get_group_store(self) -> Any:
        """Return the store with which the group began; nothing here asks it later."""
        return self._store

    def _set_sequence_number_for_group(self) -> None:
        pass

    def _get_sequence_number_for_group(self) -> int:
        return self._number

    def _set_default_timeout(self, timeout: Any) -> None:
        self._timeout = self._late = seconds_of(timeout)
        self.options._timeout = timeout

    set_timeout = _set_default_timeout

    def _has_hooks(self) -> bool:
        return False

    def get_reconfigure_handle(self) -> str:
        """Return how ``reconfigure`` names this rank."""
        return f"treecast:{self.comm.process.transport.rank}"

    def reconfigure(self, options: Any) -> Work:
        """Have other members from now on: a list of handles in the order of ranks, or a set; all that are named call this.

        ``options``: as newer versions of torch have them, with ``uuid`` and ``handles``.
        """
        if options.uuid in self._used:  # a uuid names one set of members for good
            raise RuntimeError(f"reconfigure: uuid {options.uuid} was already used")
        self._used.add(options.uuid)
        named: list[str] | set[str] = options.handles
        handles = named if isinstance(named, list) else sorted(named)
        seats, process = [int(handle.rpartition(":")[2]) for handle in handles], self.comm.process
        ident = number_of(f"reconfigure {options.uuid}", process)
        self._bind(Comm(process, process.add_group(seats, ident, self.comm.terms)))
        return Work(done(lambda: None), None)

    def _wait_for_pending_works(self) -> None:
        self.comm.worker.wait()

    def shutdown(self) -> None:
        """End the group after all that has begun. The group of all ranks goes on answering others until they end theirs."""
        self._wait_for_pending_works()
        if self._is_whole:
            Thread(target=self.comm.process.finish).start()  # in a thread: it waits for the others, and torch does not

    def abort(self) -> None:
        """Take no further part in the group: calls under way raise here. Its others learn so when this rank ends, or is late."""
        with self.comm.process.transport.lock:
            self.comm.group.agreement.is_out = True


def number_of(name: str, process: Any) -> int:
    """Return the number of a new group with this name: the same at all its ranks, whatever other groups they are in.

    A frame has 16 bits for it. So two groups whose names do not count may get one number. That is an error at ranks in both
    alone: of k such groups at a rank with a chance of about k² in 65,536.
    """
    # A name may come again. So the number depends on how often it has.
    _NAMES[id(process), name] += 1
    if name.isdecimal() and _NAMES[id(process), name] == 1:
        return int(name) % _HALF  # torch counts its groups alike at all ranks
    # other names: 15 bits of their digest, above those
    return _HALF + zlib.crc32(f"{name} {_NAMES[id(process), name]}".encode()) % _HALF


def divide(total: Any, count: int, out: Any) -> None:
    """Leave a sum divided by a number in a tensor; whole numbers are cut off."""
    total, out = total[once(out)], out.detach()[once(out)]
    if total.is_floating_point() or total.is_complex():
        torch.div(total, count, out=out)
    else:
        out.copy_(torch.div(total, count, rounding_mode="trunc"))


def _only(tensors: Any) -> Any:
    if isinstance(tensors, torch.Tensor):
        return tensors
    (tensor,) = tensors
    return tensor


for _each in CALLS:
    setattr(ProcessGroup, _each, partialmethod(ProcessGroup.call, _each))
