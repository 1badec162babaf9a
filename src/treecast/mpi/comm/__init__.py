"""A communicator of mpi4py whose collectives treecast carries out where that gains something, and MPI elsewhere."""
