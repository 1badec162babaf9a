"""Message arguments as mpi4py takes them, as contiguous bytes: mpi4py checks, MPI packs, and only the bytes are cut here."""
