"""Messages of tensors between two ranks: each is over when it is received, and queues behind no call."""

from concurrent.futures import Future
from threading import Thread
from time import monotonic
from typing import Any

from treecast.errors import DeliveryError, TreecastError
from treecast.running.calls.messages import ANY, PeerMessage
from treecast.running.calls.worker import done
from treecast.tcp.comm import Comm
from treecast.torch.tensors import Reader, torch
from treecast.torch.work import Work, dist, seconds_of

_TAGS, _CHECK_IN = 1 << 32, (1 << 32) - 1  # tags are 32 bits; the last one is for check-ins


class MessageWork(Work):
    """A message under way. Whoever waits for it moves the bytes."""

    def __init__(self, transfer: PeerMessage, tensor: Any, limit: float | None) -> None:
        Work.__init__(self, Future(), [tensor])
        self._transfer, self._limit = transfer, limit

    def _is_over(self) -> bool:
        transfer = self._transfer
        if transfer.done() and not self._future.done():  # once: the future takes one result
            self._source = transfer.source
            try:
                self._future.set_result(transfer.result())
            except TreecastError as error:
                # gloo's word, which frameworks look for
                closed = " (closed)" if isinstance(error, DeliveryError) else ""
                self._future.set_exception(dist.DistBackendError(f"treecast: {error}{closed}"))
        return self._future.done()

    def wait(self, timeout: Any = None) -> bool:
        """Wait until it is over. Raises DistBackendError when the other rank has ended, or the time is up."""
        self._transfer.wait(self._is_over, seconds_of(timeout) or self._limit)
        if not self._future.done():
            raise dist.DistBackendError("treecast: Timed out : the message is still under way")
        return super().wait()

    def is_completed(self) -> bool:
        """Return whether it is over."""
        self._transfer.wait(self._is_over, 0)  # one look, no wait
        return self._future.done()

    def get_future(self) -> Any:
        """Return torch's future of the tensor, which a thread of its own waits for."""
        told = super().get_future()
        # Nobody moves bytes unless somebody waits, and who has a future may never do.
        if not self._future.done():
            Thread(target=done, args=(self.wait,), daemon=True).start()
        return told


class GroupMessages:
    """The messages of a group to and from this rank."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm

    def _begin(self, tensor: Any, peer: int, tag: int, limit: float | None, *, receives: bool) -> MessageWork:
        process, place = self._comm.process, Reader().receive(tensor) if receives else None
        piece = Reader().send(tensor) if place is None else place.pieces[0]
        name = "recv" if receives else "send"
        transfer = PeerMessage(self._comm.group, name, peer, tag % _TAGS, piece, receives=receives)
        # As torch has it: a tensor of another length is an error, and a send is over when it is received.
        transfer.is_exact = transfer.waits = True
        transfer.finish = place and place.finish
        with process.transport.lock:
            process.messages.receive(transfer) if receives else process.messages.send(transfer)
        return MessageWork(transfer, tensor, limit)

    def send(self, tensor: Any, to: int, tag: int, limit: float | None) -> MessageWork:
        """Send a tensor to a rank."""
        return self._begin(tensor, to, tag, limit, receives=False)

    def receive(self, tensor: Any, source: int | None, tag: int, limit: float | None) -> MessageWork:
        """Receive a tensor from a rank, or from the first that has sent one."""
        return self._begin(tensor, ANY if source is None else source, tag, limit, receives=True)

    def check_in(self, seconds: float | None, all_ranks: bool) -> None:
        """Have rank 0 hear all others, and answer them. Raises RuntimeError with gloo's words."""
        group, word = self._comm.group, torch.zeros(1, dtype=torch.uint8)
        ms, until = int(1000 * (seconds or 0)), monotonic() + (seconds or 0)
        if group.rank:
            try:
                self.send(word, 0, _CHECK_IN, seconds).wait()
                self.receive(word, 0, _CHECK_IN, seconds).wait()
            except dist.DistBackendError:
                raise RuntimeError(
                    f"Rank {group.rank} successfully reached monitoredBarrier, but received errors while waiting for "
                    "send/recv from rank 0. Please check rank 0 logs for faulty rank."
                ) from None
            return
        if seconds is None:
            # without a limit it could never tell who is missing
            raise RuntimeError("Rank 0 timed out in monitoredBarrier after 0 ms.")
        # Rank 0 hears all, one after the other, with the time that is left for all together.
        missing: list[int] = []
        for rank in range(1, group.size):
            try:
                # a little at least, for those whose word is there already
                self.receive(word, rank, _CHECK_IN, None).wait(max(1e-3, until - monotonic()))
            except dist.DistBackendError:
                missing.append(rank)
                if not all_ranks:
                    break
        if missing:
            named = f"Rank{'s' if all_ranks else ''} {', '.join(map(str, missing))}"
            raise RuntimeError(f"[Rank 0]: {named} failed to pass monitoredBarrier in {ms} ms")
        for rank in range(1, group.size):  # only when all were heard
            self.send(word, rank, _CHECK_IN, seconds).wait()
