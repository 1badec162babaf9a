"""What carries out one rank's part of a collective over MPI."""
