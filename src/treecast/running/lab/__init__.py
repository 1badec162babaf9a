"""A network out of network namespaces on one Linux machine: hosts, links of a given rate, and MPI across them."""
