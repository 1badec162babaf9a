"""Calls of mpi4py's methods, whatever carries their messages: their arguments and algorithms; one table for all."""
