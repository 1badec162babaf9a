"""Straight collectives as steps over a group: each piece goes from rank to rank, and all that live come to one outcome.

All take a ``Group`` whose call has begun (``called``), and contiguous bytes. They fill the memory of the data to be received,
return the failed ranks whose data is missing, and raise DeliveryError when more is: the same at every rank that lives. Model:
complete network of ranks, any number of ports.
"""
