"""Runs of a plan over MPI, from the start of the ranks to the report."""
