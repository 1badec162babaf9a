"""The public functions of treecast.mpi, and the buffers they take."""
