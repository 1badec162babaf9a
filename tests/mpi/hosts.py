"""Ranks of one machine are taken for those of several hosts."""

from treecast.mpi.comm.state import state_of


def take_for_hosts(comm, hosts):
    """Take the ranks of a communicator for those of several hosts; ``hosts[r]``: the first rank on that of rank r."""
    state = state_of(comm)
    state.base.near, state.base.hosts = False, hosts
    vars(state).pop("plans", None)  # all are made anew
