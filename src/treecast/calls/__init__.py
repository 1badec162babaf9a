"""Calls of mpi4py's methods, whatever carries their messages: what they take, and which algorithm does it; one table for all."""
