"""The rows by which relays add that do not: those that bring contributions to a sum where others came before."""

import numpy as np
from numpy.typing import NDArray

from treecast.networks import Network
from treecast.ragged import explode
from treecast.schedule.rows import Rows


def added_by_plain_relays(network: Network, rows: Rows, sums: int) -> NDArray[np.bool_]:
    """Return which rows bring contributions to a sum, of the first ``sums`` chunks, to a relay that does not add and has some.

    Of the rows of a chunk to a relay the first in the order of chunks is none of them: bool (rows,).
    """
    found = np.zeros(len(rows), np.bool_)
    plain = network.plain_relays
    if plain is None:
        return found
    into = np.flatnonzero(plain[rows.dst])
    of, entry = explode(rows.payloads.start, rows.payload[into])
    row, first = into[of], rows.payloads.first[entry]
    stop = np.minimum(rows.payloads.stop[entry], sums)
    # node and chunk in one number
    begin, end = (rows.dst[row].astype(np.int64) * (sums + 1) + side for side in (first, stop))
    order = np.lexsort((row, begin))
    order = order[first[order] < stop[order]]
    reached = np.maximum.accumulate(end[order])  # of the entries of a node so far: those of others lie before
    found[row[order][1:][begin[order][1:] < reached[:-1]]] = True
    return found
