"""Ranks of one machine are taken for those of several hosts."""

from treecast.mpi.comm.state import state_of
from treecast.mpi.engine.communicator import communicator_of


def take_for_hosts(comm, hosts):
    """Take the ranks of a communicator for those of several hosts; ``hosts[r]``: the first rank on that of rank r."""
    state, between = state_of(comm), communicator_of(comm)
    assert state.call  # which finds out that they share one memory
    state.near, between.near, between.hosts = False, False, hosts
