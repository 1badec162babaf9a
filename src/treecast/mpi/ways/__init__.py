"""Straight ways: each collective as a few messages from rank to rank, and one outcome at every living rank when some fail.

All take a ``Call`` (ways/call.py) first, which has begun, and contiguous bytes, each rank's own piece included. They fill what is
to be received, return the ranks whose data is missing because they failed, and raise DeliveryError when more is missing: with
``call.survive`` the same at every living rank. A rank with ``call.refused`` passes None for all pieces; it sends voids, gets ()
back, and raises its own error then.

::

    spread.broadcast(call, data, root)               data: filled, but at the root
    spread.allgather(call, mine, blocks)             blocks[r] of rank r, lengths known to all; mine None: it is in blocks already
    personal.alltoall(call, outgoing, incoming)      outgoing[t] to rank t, incoming[s] from rank s; lengths known to each pair
    personal.scatter(call, outgoing, mine, root)     outgoing None but at the root; mine None at the root: it stays in outgoing
    personal.gather(call, mine, incoming, root)      incoming None but at the root; mine None at the root: it is there already
    sums.reduce(call, mine, out, root, how)          how: sums.Sums(datatype, op, entries)
    sums.allreduce(call, mine, out, how)             mine None: it is in out
    sums.reduce_scatter(call, mine, out, counts, how)    counts: entries of each rank's block, known to all
    sums.scan(call, mine, out, how), sums.exscan(call, mine, out, how)
    outcome.barrier(call)
    outcome.settle(call, lacking)                    after a transfer by others: the one outcome of what each rank lacks
    thresholds.least_bytes(near)[name]               from which on a call goes so that is to survive nothing, and is not MPI's
"""
