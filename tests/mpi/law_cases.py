"""Run by two ranks: the transport over MPI keeps the laws of a transport, each over a communicator of its own."""

import sys

from mpi4py import MPI

from treecast.mpi.transport import MpiTransport
from treecast.running.laws import transports

WITHOUT = {
    "what_is_small_is_buffered",  # MPI buffers less
    "ends_are_proved",  # by the launcher, which says who has died: tests/mpi/kill_cases.py
    "a_longer_message_is_told_and_dropped",  # Open MPI writes behind a place that is too short
    "messages_go_by_all_of_their_keys",  # tags do not tell all
    "close_ends_waits",  # it is closed by who holds the lock
}

for name in sys.argv[1:] or [name for name in transports.LAWS if name not in WITHOUT]:
    transport = MpiTransport(MPI, MPI.COMM_WORLD.Dup())
    transport.deadline = (
        transports.LAWS[name].deadline or 30
    )  # with none, MPI writes to memory of messages that were cancelled
    transports.check_rank(name, transport)
    MPI.COMM_WORLD.Barrier()
    transport.close()
if MPI.COMM_WORLD.Get_rank() == 0:
    print("the laws are kept", flush=True)
