"""The names of the collectives that the tests call: all, those with a root, and those of which the root alone has data."""

SOURCES = ("broadcast", "scatter")
ROOTED = (*SOURCES, "gather", "reduce")
ALL = (
    *ROOTED, "allgather", "allgatherv", "alltoall", "alltoallv", "allreduce", "allreduce in place", "exact sum", "scan", "exscan",
    "reduce_scatter",
)  # fmt: skip
