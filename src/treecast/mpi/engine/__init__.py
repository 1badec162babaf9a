"""The engine that carries out one rank's part of a collective over MPI."""
