"""What the slow tests over MPI share with the quick ones."""

from tests.mpi.conftest import treecast as treecast
